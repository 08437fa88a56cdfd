// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Reads along a list. At its end, first is INT64_MAX.
struct cursor {
    const char *text;
    int64_t first, last;
};

// Goes on to the next interval. One that does not begin with a number is empty.
static void next_interval(struct cursor *cursor) {
    const char *text = cursor->text;
    char *end = NULL;
    cursor->first = cursor->last = *text ? strtol(text, &end, 10) : INT64_MAX;
    if (end == text)
        cursor->last = -1;
    else if (end && *end == '-')
        cursor->last = strtol(end + 1, &end, 10);
    cursor->last = cursor->last > INT32_MAX && end ? INT32_MAX : cursor->last;
    cursor->text += strcspn(text, ",");
    cursor->text += *cursor->text == ',';
}

// Whether `at` is in the list; *until is lowered to where that changes.
static bool contains(struct cursor *cursor, int64_t at, int64_t *until) {
    while (cursor->last < at)
        next_interval(cursor);
    bool in = cursor->first <= at;
    int64_t change = in ? cursor->last + 1 : cursor->first;
    *until = change < *until ? change : *until;
    return in;
}

// The notation of the Job controller: an interval of two is written as two indexes.
static size_t write_interval(char *out, size_t len, size_t size, int64_t first, int64_t last) {
    len += (size_t)snprintf(out + len, size - len, "%s%" PRId64, len ? "," : "", first);
    if (last > first)
        len += (size_t)snprintf(out + len, size - len, "%c%" PRId64, last == first + 1 ? ',' : '-', last);
    return len;
}

static size_t intervals(const char *text) {
    size_t count = 1;
    while ((text = strchr(text, ',')))
        text++, count++;
    return count;
}

const char *job_indexes(const wharf_call *call, enum index_operation operation, const char *a, const char *b,
                        int64_t limit, int64_t *total) {
    struct cursor of_a = {a ? a : "", 0, -1}, of_b = {b ? b : "", 0, -1};
    size_t size = (intervals(of_a.text) + intervals(of_b.text)) * sizeof "2147483647-2147483647,", len = 0;
    char *out = host->memory(call, size);
    int64_t open = -1; // where the interval that is not yet written begins
    *total = 0;
    for (int64_t at = 0, until = limit; out && at < limit; at = until, until = limit) {
        bool in_a = contains(&of_a, at, &until), in_b = contains(&of_b, at, &until);
        bool in = operation == INDEXES_OF_BOTH ? in_a || in_b : in_a && !in_b;
        *total += in ? until - at : 0;
        if (in && open < 0)
            open = at;
        if (open >= 0 && (!in || until == limit)) {
            len = write_interval(out, len, size, open, in ? limit - 1 : at - 1);
            open = -1;
        }
    }
    return out;
}
