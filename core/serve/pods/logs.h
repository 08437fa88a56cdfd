// SPDX-License-Identifier: Apache-2.0
// Logs of containers. The log of one container on the way to a reader: lines get a prefix, and lose the timestamp that
// was asked for only to resume after a broken connection.
#pragma once

#include "core/base/buffer.h"

#define LOGS_SOURCES 128       // containers that one reader reads at once
#define LOGS_SOURCES_ALL 1024U // by all readers, within the limit of file descriptors

#define LOG_LINE_MAX ((size_t)32 * 1024) // a longer line arrives in parts
#define LOG_STAMP_MAX 64

struct log_lines {
    const char *prefix; // NULL: none
    bool stamped;       // each line begins with a timestamp and a space
    bool keep_stamps;   // which the reader wants
    // Private.
    struct buffer part;
    bool inside;                // the next bytes continue a line
    bool known;                 // which was passed on before
    char last[LOG_STAMP_MAX];   // the timestamp of the last line, "" if there was none
    char before[LOG_STAMP_MAX]; // lines up to this one were passed on before the connection broke
};

typedef bool (*log_write)(void *ctx, const void *bytes, size_t len);

void log_lines_init(struct log_lines *lines, const char *prefix, bool stamped, bool keep_stamps);
void log_lines_free(struct log_lines *lines);

// Passes on the complete lines. False as soon as `write` returns false, or when out of memory.
bool log_lines_put(struct log_lines *lines, const char *bytes, size_t len, log_write write, void *ctx);
// Passes on the rest, with a line feed if there are others (a prefix).
bool log_lines_end(struct log_lines *lines, log_write write, void *ctx);
// The log begins again at lines->last: skips lines that the reader already has.
void log_lines_resume(struct log_lines *lines);
