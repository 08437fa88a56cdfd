// SPDX-License-Identifier: Apache-2.0
// What the host knows of the children of one mirror, see children.h.
#pragma once

#include "core/json/json.h"

struct children {
    struct json *patches; // to give: an array of {"name", "row", "patch"}; NULL: none
    char *kept;           // to keep: the annotation to write, or NULL
    uint64_t version;     // to keep: hash of the mirror's version before the last lists
    int64_t kept_ns;      // to keep: time of the last lists, 0: none
    int64_t missing_ns;   // to give: end of the wait for children that do not exist yet; 0: not begun
    uint32_t row;         // of the kind's list of children: the next one to list
    uint8_t resets;       // to give: statuses that did not stay
    uint8_t lists;        // to keep: before the present move
    bool missing;         // to give: the last lists lacked children with progress
    bool listing;         // to keep: some rows are not listed yet
    bool saved;           // to keep: the workload has it
};

void children_free(struct children *children);
