// SPDX-License-Identifier: Apache-2.0
// What the host knows of the children of one mirror, see children.h.
#pragma once

#include "core/json/json.h"

struct children {
    struct json *patches; // to give: an array of {"name", "row", "patch"}; NULL: none
    char *kept;           // to keep: the annotation to write, or NULL
    uint64_t listed;      // hash of the mirror's version at the last list, 0: none
    int64_t missing_ns;   // end of the wait for children that do not exist yet; 0: not begun
    uint32_t row;         // of the kind's list of children: the next one to list
    uint8_t resets;
    bool missing; // the last list lacked children with progress
    bool saved;   // the workload has what is to be kept, as of the last list
};

void children_free(struct children *children);
