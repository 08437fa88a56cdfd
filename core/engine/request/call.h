// SPDX-License-Identifier: Apache-2.0
// Calls of the adapter of an entry's kind.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror.h"

void call_begin(const struct engine *engine, const struct entry *entry, wharf_mirror_state state,
                struct adapter_call *call);
// For the functions of mirror.h; `mirror` may be NULL.
struct mirror_context call_context(struct engine *engine, struct entry *entry, struct mirror *mirror,
                                   struct adapter_call *call);
// Reports a call that did not return WHARF_OK. Returns the time to retry; `refusals` counts consecutive rejections.
int64_t call_failed(struct engine *engine, struct entry *entry, wharf_result result, struct adapter_call *call,
                    const char *action, uint16_t *refusals);
// Reports the message of a successful call, if any.
void call_report_message(struct engine *engine, struct entry *entry, struct adapter_call *call, const char *action);
