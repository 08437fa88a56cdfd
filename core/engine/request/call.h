// SPDX-License-Identifier: Apache-2.0
// Calls of the adapter of an entry's kind.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror.h"

// A call that ends with its block.
#define AUTO_CALL __attribute__((cleanup(adapter_call_end))) struct adapter_call

void call_begin(const struct engine *engine, const struct entry *entry, wharf_mirror_state state,
                struct adapter_call *call);
// The same, and the input for the functions of mirror.h; `mirror` may be NULL.
struct mirror_context call_begin_for_mirror(struct engine *engine, struct entry *entry, struct mirror *mirror,
                                            wharf_mirror_state state, struct adapter_call *call);
// True for WHARF_OK. Else reports the failure, and sets the time to retry; `refusals` counts consecutive rejections.
bool call_succeeded(struct engine *engine, struct entry *entry, wharf_result result, struct adapter_call *call,
                    const char *action, uint16_t *refusals, int64_t *retry_at_ns);
// Reports the message of a successful call, if any.
void call_report_message(struct engine *engine, struct entry *entry, struct adapter_call *call, const char *action);
