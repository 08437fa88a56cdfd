// SPDX-License-Identifier: Apache-2.0
// What a worker tells of a mirror's pods becomes an Event on the workload, in as far as the mirror is this host's. All
// remarks together are limited, since they come after everything else: 100, then one a second.
#ifndef WHARF_ENGINE_REMARK_H
#define WHARF_ENGINE_REMARK_H

#include "core/engine/engine_internal.h"

// EVENT_REMARK.
void remark_take(struct engine *engine, const struct engine_event *event);

#endif
