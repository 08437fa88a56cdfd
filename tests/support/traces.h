// SPDX-License-Identifier: Apache-2.0
// Searches the memory of a process for what a Secret contained: a random text, in plain and in base64.
#pragma once

#include "core/base/buffer.h"

#include <sys/types.h>

#define TRACE_PLAIN 24                      // bytes
#define TRACE_ENCODED (TRACE_PLAIN / 3 * 4) // in base64

struct trace { // masked, so that a search does not find the trace itself
    unsigned char plain[TRACE_PLAIN], encoded[TRACE_ENCODED];
};
void trace_make(struct trace *trace);
void trace_put_plain(struct buffer *out, const struct trace *trace);
void trace_put_encoded(struct buffer *out, const struct trace *trace);

size_t trace_count(const struct trace *trace, const char *bytes, size_t len); // in both forms
// In all writable memory of the process. -1: the memory cannot be read. `verbose`: prints where.
long trace_count_in_process(const struct trace *trace, pid_t process, bool verbose);
