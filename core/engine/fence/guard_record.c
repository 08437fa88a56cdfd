// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/guard_record.h"

#include "core/base/clock.h"
#include "core/base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void guard_record_print(const struct guard_record *record, char out[GUARD_RECORD_MAX]) {
    snprintf(out, GUARD_RECORD_MAX, "%llu %lld %lld", (unsigned long long)record->beat,
             (long long)(clock_later(record->wall_ns, 0) / CLOCK_MS), (long long)(record->after_ns / CLOCK_SECOND));
}

bool guard_record_add(char out[GUARD_RECORD_MAX], const struct guard_watched *watched) {
    size_t len = strlen(out);
    char part[FENCE_PART_MAX], text[64];
    fence_part_print(watched->part, part);
    int size = snprintf(text, sizeof text, " %s:%08x:%lld%s", part, (unsigned)watched->version,
                        (long long)(watched->age_ns / CLOCK_MS), watched->stops ? "!" : "");
    if (len + (size_t)size >= GUARD_RECORD_MAX)
        return false;
    text_copy(out + len, GUARD_RECORD_MAX - len, text);
    return true;
}

// A number of at most `most` from `*at` on, and after it the character `end`, or the end of the text.
static bool read_number(const char **at, int64_t most, char end, int64_t *out) {
    char *rest = NULL;
    unsigned long long number = **at >= '0' && **at <= '9' ? strtoull(*at, &rest, 10) : ULLONG_MAX;
    if (number > (unsigned long long)most || (*rest && *rest != end))
        return false;
    *out = (int64_t)number;
    *at = rest + (*rest == end && *rest);
    return true;
}

bool guard_record_read(const char *text, struct guard_record *record, const char **rest) {
    int64_t beat, wall_ms, after_s;
    *rest = text;
    if (!read_number(rest, INT64_MAX - 1, ' ', &beat) || !read_number(rest, INT64_MAX / CLOCK_MS, ' ', &wall_ms) ||
        !read_number(rest, INT32_MAX, ' ', &after_s))
        return false;
    *record = (struct guard_record){(uint64_t)beat, wall_ms * CLOCK_MS, after_s * CLOCK_SECOND};
    return true;
}

static bool read_watched(const char *at, struct guard_watched *watched) {
    char *end = NULL;
    int64_t age_ms;
    if (!fence_part_read(at, &watched->part, &at) || *at != ':')
        return false;
    watched->version = (uint32_t)strtoul(at + 1, &end, 16);
    at = end + 1;
    if (*end != ':' || !read_number(&at, INT32_MAX * INT64_C(1000), '!', &age_ms))
        return false;
    watched->stops = at[-1] == '!';
    watched->age_ns = age_ms * CLOCK_MS;
    return true;
}

bool guard_record_next(const char **rest, struct guard_watched *watched) {
    while (**rest) {
        char text[64];
        size_t len = strcspn(*rest, " ");
        text_copy(text, len < sizeof text ? len + 1 : sizeof text, *rest);
        *rest += len + strspn(*rest + len, " ");
        if (read_watched(text, watched))
            return true;
    }
    return false;
}

uint32_t guard_record_version(const char *resource_version) {
    uint64_t hash = text_hash(TEXT_HASH, resource_version);
    return (uint32_t)(hash ^ hash >> 32);
}

const char *guard_record_identity(const char *annotation) {
    const char *identity = annotation + sizeof GUARD_RECORD - 1;
    bool is = text_has_prefix(annotation, GUARD_RECORD) && *identity && strlen(identity) < GUARD_IDENTITY_MAX &&
              !strpbrk(identity, " /\"\\");
    return is ? identity : NULL;
}
