// SPDX-License-Identifier: Apache-2.0
// A cluster's versions went back: it was restored from a copy, or wiped.
#ifndef WHARF_ENGINE_REWOUND_H
#define WHARF_ENGINE_REWOUND_H

#include "core/engine/engine_internal.h"

struct pending;

// The versions of what is known went back: nothing is done on old memory until the list that follows is complete.
void rewound_take(struct engine *engine, size_t cluster, size_t kind);
// Before the answer is looked at: what it says of a time before the versions went back is not known any more.
void rewound_answer(const struct engine *engine, const struct pending *pending, struct response *response);
// A workload had finished, and its cluster does not know that any more: `text`, what it was, is taken.
void rewound_finished(struct engine *engine, struct entry *entry, char *text);

#endif
