// SPDX-License-Identifier: Apache-2.0
#pragma once

struct mirror;

// The attempt starts from nothing, for this reason: the mirror gets the mark "refused" when the host resumes it, and
// then an Event tells the reason.
void progress_refuse(struct mirror *mirror, const char *format, ...) __attribute__((format(printf, 2, 3)));
