// SPDX-License-Identifier: Apache-2.0
// The end of a session of `wharf exec`.
#pragma once

#include "core/base/error.h"

// Reads the server's last word, a metav1.Status. NULL: *code is the exit code of the command; else why there is none.
struct error *session_result(const char *status, size_t len, int *code);
