// SPDX-License-Identifier: Apache-2.0
// Carries changes to a mirror, and checks whether a workload can have one at all.
#pragma once

#include "core/adapter/services.h"
#include "core/engine/engine_internal.h"

bool act_update(struct engine *engine, struct entry *entry, struct mirror *mirror);
// Checks a workload with its adapter and for its size before anything is written. False: rejected, and reported.
bool act_accepts(struct engine *engine, struct entry *entry);
wharf_result act_check_body(struct adapter_call *call, const struct json *body);
