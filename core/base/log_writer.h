// SPDX-License-Identifier: Apache-2.0
// The thread that writes log lines, so that a stalled reader of stderr delays nothing. Lines are queued in a bounded
// buffer; those that do not fit are counted, and their number is logged once the reader continues. Internal to log.c.
#ifndef WHARF_BASE_LOG_WRITER_H
#define WHARF_BASE_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LOST_LINE_MAX ((size_t)160)

struct log_output {
    void (*write)(const char *text, size_t len); // writes everything; may block
    size_t (*lost_line)(uint64_t lost,
                        char out[LOG_LOST_LINE_MAX]); // formats the line that reports lost ones; returns its length
};

// False if the thread cannot be started.
bool log_writer_start(const struct log_output *output);

// True if the line was queued or counted as lost; false if there is no writer thread: the caller writes it.
bool log_writer_put(const char *line, size_t len);

// Waits until everything is written, at most for `within_ns`. False on timeout.
bool log_writer_flush(int64_t within_ns);

// The same, and ends the thread. If it is stuck in a write, it is abandoned, and later lines are lost.
bool log_writer_stop(int64_t within_ns);

// Since the start.
uint64_t log_writer_lost(void);

#endif
