// SPDX-License-Identifier: Apache-2.0
// The log of a container as a worker sends it: however its bytes are cut, the same lines are passed on, with their
// prefix, and no more than came.
#include "tests/fuzz/fuzz.h"

#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/serve/pods/logs.h"

#include <string.h>

#define OUT_MAX ((size_t)64 << 20)
#define PREFIX "[p/c] "

static bool keep(void *ctx, const void *bytes, size_t len) {
    return buffer_append(ctx, bytes, len);
}

// The connection breaks between the two.
static void pass_on(const struct fuzz_part *parts, size_t step, const char *prefix, bool stamped, bool stamps,
                    struct buffer *out) {
    struct log_lines lines;
    log_lines_init(&lines, prefix, stamped, stamps);
    for (size_t i = 0; i < 2; i++) {
        if (i > 0)
            log_lines_resume(&lines);
        for (size_t at = 0; at < parts[i].len; at += step)
            if (!log_lines_put(&lines, parts[i].text + at, size_least(step, parts[i].len - at), keep, out))
                fuzz_fail("a line was not taken");
    }
    if (!log_lines_end(&lines, keep, out))
        fuzz_fail("the end was not taken");
    log_lines_free(&lines);
}

static size_t count_lines(const struct fuzz_part *part) {
    size_t count = part->len / LOG_LINE_MAX + 2;
    for (size_t i = 0; i < part->len; i++)
        count += part->text[i] == '\n';
    return count;
}

static void check(const struct fuzz_part *parts, size_t step, const char *prefix, bool stamped, bool stamps) {
    AUTO_BUFFER(whole, OUT_MAX);
    AUTO_BUFFER(pieces, OUT_MAX);
    pass_on(parts, OUT_MAX, prefix, stamped, stamps, &whole);
    pass_on(parts, step, prefix, stamped, stamps, &pieces);
    size_t most = parts[0].len + parts[1].len +
                  (prefix ? strlen(prefix) + 1 : 0) * (count_lines(&parts[0]) + count_lines(&parts[1]));
    if (whole.len > most)
        fuzz_fail("%zu bytes became %zu", parts[0].len + parts[1].len, whole.len);
    // A line that is too long is split where it is cut.
    bool split = parts[0].len > LOG_LINE_MAX || parts[1].len > LOG_LINE_MAX;
    if (!split && (whole.len != pieces.len || (whole.len > 0 && memcmp(whole.data, pieces.data, whole.len) != 0)))
        fuzz_fail("%zu at a time gives other lines than all at once", step);
}

void fuzz_one(const uint8_t *data, size_t size) {
    size_t step = size > 0 ? data[0] % 7 + 1 : 1;
    struct fuzz_part first = fuzz_next_part(&data, &size);
    const struct fuzz_part parts[] = {first, {(const char *)data, size}};
    check(parts, step, NULL, false, false);
    check(parts, step, PREFIX, true, false);
    check(parts, step, PREFIX, true, true);
}
