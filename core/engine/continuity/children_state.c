// SPDX-License-Identifier: Apache-2.0
#include "core/engine/continuity/children_state.h"

#include <stdlib.h>

void children_free(struct children *children) {
    if (!children)
        return;
    json_free(children->patches);
    free(children->kept);
    free(children);
}
