// SPDX-License-Identifier: Apache-2.0
// Structured log lines to stderr, as text or JSON. The only global state of the host. Any thread may log; a line is
// written with one write(2), by the caller or by the thread of log_start.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

enum log_type { LOG_STRING, LOG_INTEGER, LOG_REAL };

struct log_field {
    const char *name;  // "cluster", "kind", "object" (namespace/name), "uid", "error", ...
    const char *value; // of LOG_STRING; NULL: the field is omitted
    enum log_type type;
    int64_t integer;
    double real; // finite
};

void log_setup(enum log_format format, enum log_level level);

// Sets the file descriptor; default 2. For tests.
void log_to(int fd);

// Starts a thread that writes the lines, so that a slow reader blocks no caller: lines that do not fit into a buffer of
// 128 KiB are dropped and counted, and a line reports their number. False: lines are written by the caller, as before.
bool log_start(void);

// Waits until all lines are written, at most for `within_ns`; false on timeout. Allowed in a signal handler.
bool log_flush(int64_t within_ns);

// The same, and ends the thread. If it is stuck in a write, later lines are lost.
bool log_stop(int64_t within_ns);

uint64_t log_lost(void); // lines, since the start

bool log_enabled(enum log_level level);

// `fields` ends with a NULL name; may be NULL.
void log_line(enum log_level level, const char *message, const struct log_field *fields);

// log_fields(LOG_INFO, "placed", {"cluster", name}, LOG_INT("attempt", attempt)). String fields omit the number
// members.
#define log_fields(level, message, ...)                                                                                \
    do {                                                                                                               \
        _Pragma("GCC diagnostic push");                                                                                \
        _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"");                                            \
        log_line(level, message, (const struct log_field[]){__VA_ARGS__, {.name = NULL}});                             \
        _Pragma("GCC diagnostic pop");                                                                                 \
    } while (0)

// Numeric fields, also in JSON: an integer, one that is omitted unless `given`, and one with a decimal.
#define LOG_INT(field, n) LOG_INT_IF(true, field, n)
#define LOG_INT_IF(given, field, n)                                                                                    \
    { .name = (field), .type = (given) ? LOG_INTEGER : LOG_STRING, .integer = (int64_t)(n) }
#define LOG_DECIMAL(field, x)                                                                                          \
    { .name = (field), .type = LOG_REAL, .real = (x) }

// Writes a line at once, after the ones before (waiting at most a second), without memory or locks: for signal handlers
// before the process ends. At most 2 KiB; values are ASCII text.
void log_urgent(const char *message, const struct log_field *fields);

#define log_plain(level, message) log_line(level, message, (const struct log_field *)0)
