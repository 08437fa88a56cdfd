// SPDX-License-Identifier: Apache-2.0
// Lists of indexes in the notation of the Job controller, "0-2,4,5", where an interval of two is two indexes. Lists may
// have tens of thousands of characters.
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Whether the list has the index `at`; lowers *last to the last index with the same answer. The list advances to the
// deciding interval. Skips malformed intervals.
static bool contains(const char **list, int64_t at, int64_t *last) {
    while (**list) {
        char *end = NULL;
        int64_t from = strtol(*list, &end, 10), to = *end == '-' ? strtol(end + 1, NULL, 10) : from;
        if (end > *list && to >= at) {
            int64_t same = from <= at ? to : from - 1;
            *last = same < *last ? same : *last;
            return from <= at;
        }
        *list += strcspn(*list, ",");
        *list += **list == ',';
    }
    return false;
}

const char *job_indexes(const wharf_call *call, const char *a, enum index_operation operation, const char *b,
                        int64_t limit, int64_t *total) {
    a = a ? a : "";
    b = b ? b : "";
    // A number of d digits begins and ends at most one interval each, which takes 2 * (d + 2) bytes.
    size_t size = 4 * (strlen(a) + strlen(b)) + 64, len = 0;
    char *out = host->memory(call, size);
    long long open = -1; // where the interval that is not yet written begins
    *total = 0;
    for (int64_t at = 0, last = limit - 1; out && at < limit; at = last + 1, last = limit - 1) {
        bool in_a = contains(&a, at, &last), in_b = contains(&b, at, &last);
        bool in = operation == INDEXES_WITHOUT ? in_a && !in_b : in_a || in_b;
        *total += in ? last + 1 - at : 0;
        if (in && open < 0)
            open = at;
        if (open >= 0 && (!in || last == limit - 1)) {
            long long end = in ? last : at - 1;
            len += (size_t)snprintf(out + len, size - len, "%s%lld", len ? "," : "", open);
            if (end > open)
                len += (size_t)snprintf(out + len, size - len, "%c%lld", end == open + 1 ? ',' : '-', end);
            open = -1;
        }
    }
    return out;
}
