// SPDX-License-Identifier: Apache-2.0
// Whether mirrors of a workload get progress, and why one does not.
#pragma once

#include "core/kube/client/types.h"

struct engine;
struct entry;
struct mirror;

// A kind with progress of its own or of its children, and nobody has turned it off.
bool continuity_is_on(const struct engine *engine, const struct entry *entry, const struct json *workload);

// The attempt starts from nothing, for this reason: the mirror gets the mark "refused" when the host resumes it, and
// then an Event tells the reason.
void progress_refuse(struct mirror *mirror, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The worker rejected the progress, or did not answer. True: the attempt starts from nothing.
bool continuity_rejected(struct mirror *mirror, const struct response *response);
