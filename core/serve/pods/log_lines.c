// SPDX-License-Identifier: Apache-2.0
#include "core/serve/pods/logs.h"

#include "core/base/text.h"

void log_lines_init(struct log_lines *lines, const char *prefix, bool stamped, bool keep_stamps) {
    *lines = (struct log_lines){.prefix = prefix, .stamped = stamped, .keep_stamps = keep_stamps};
    buffer_init(&lines->part, LOG_LINE_MAX);
}

void log_lines_free(struct log_lines *lines) {
    buffer_free(&lines->part);
}

void log_lines_resume(struct log_lines *lines) {
    buffer_reset(&lines->part);
    lines->inside = lines->known = false;
    text_copy(lines->before, sizeof lines->before, lines->last);
}

// Length of the timestamp and the space at the start of a line; 0: there is none.
static size_t stamp_of(const char *line, size_t len, char stamp[LOG_STAMP_MAX]) {
    const char *space = memchr(line, ' ', len < LOG_STAMP_MAX ? len : LOG_STAMP_MAX);
    if (!space || space == line || line[0] < '0' || line[0] > '9')
        return 0;
    size_t width = (size_t)(space - line);
    if (width >= LOG_STAMP_MAX)
        return 0;
    memcpy(stamp, line, width);
    stamp[width] = '\0';
    return width + 1;
}

// Whether the reader got a line before the connection broke; reads the line's timestamp. The kubelet's timestamps have
// a fixed width, so that their order is that of their texts.
static bool is_known(struct log_lines *lines, const char *line, size_t len, size_t *width) {
    char stamp[LOG_STAMP_MAX];
    *width = stamp_of(line, len, stamp);
    if (*width == 0)
        return false;
    if (strcmp(stamp, lines->before) <= 0)
        return true;
    text_copy(lines->last, sizeof lines->last, stamp);
    return false;
}

// A line, or a part of one; `whole`: with the end of the line.
static bool pass_on(struct log_lines *lines, const char *line, size_t len, bool whole, log_write write, void *ctx) {
    bool begins = !lines->inside;
    size_t width = 0;
    if (begins)
        lines->known = lines->stamped && is_known(lines, line, len, &width);
    lines->inside = !whole;
    if (lines->known)
        return true;
    if (lines->keep_stamps)
        width = 0;
    if (lines->prefix && !write(ctx, lines->prefix, strlen(lines->prefix)))
        return false;
    if (!write(ctx, line + width, len - width))
        return false;
    return whole || !lines->prefix || write(ctx, "\n", 1); // lines of others may follow
}

static bool pass_on_part(struct log_lines *lines, bool whole, log_write write, void *ctx) {
    bool ok = lines->part.len == 0 || pass_on(lines, lines->part.data, lines->part.len, whole, write, ctx);
    buffer_reset(&lines->part);
    return ok;
}

bool log_lines_put(struct log_lines *lines, const char *bytes, size_t len, log_write write, void *ctx) {
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t line = end ? (size_t)(end - bytes) + 1 : len;
        if (lines->part.len == 0 && end) {
            if (!pass_on(lines, bytes, line, true, write, ctx))
                return false;
        } else {
            size_t room = LOG_LINE_MAX - lines->part.len;
            line = line < room ? line : room;
            if (!buffer_append(&lines->part, bytes, line))
                return false;
            bool whole = lines->part.data[lines->part.len - 1] == '\n';
            if ((whole || lines->part.len == LOG_LINE_MAX) && !pass_on_part(lines, whole, write, ctx))
                return false;
        }
        bytes += line;
        len -= line;
    }
    return true;
}

bool log_lines_end(struct log_lines *lines, log_write write, void *ctx) {
    return pass_on_part(lines, false, write, ctx);
}
