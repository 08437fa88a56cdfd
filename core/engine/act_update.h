// SPDX-License-Identifier: Apache-2.0
// Changes that are carried to a mirror, and whether a workload can have one at all.
#ifndef WHARF_ENGINE_ACT_UPDATE_H
#define WHARF_ENGINE_ACT_UPDATE_H

#include "core/adapter/services.h"
#include "core/engine/engine_internal.h"

bool act_update(struct engine *engine, struct entry *entry, struct mirror *mirror);
// A workload that is refused as such, by its adapter or for its size, is told so before anything is written. False: it
// is refused.
bool act_accepts(struct engine *engine, struct entry *entry);
wharf_result act_check_body(struct adapter_call *call, const struct json *body);

#endif
