// SPDX-License-Identifier: Apache-2.0
// The pods that a workload requests, by the kind's data and the adapter's pod_sets.
#pragma once

#include "core/adapter/services.h"

// An array of {"template": <PodTemplateSpec>, "count": <integer>}, owned by the caller. `call` was begun. Invalid
// items of an adapter are skipped. Returns the adapter's result; WHARF_RETRY also when out of memory.
wharf_result pods_of(struct adapter_call *call, const struct json *workload, struct json **sets);

// Calls `visit`, as pointer_each, for each template of these pods, and for each fallback without a template of its own.
// False: stopped, or out of memory.
typedef bool (*pods_visit)(void *ctx, const char *pointer, struct json *value);
bool pods_each(const wharf_pods *pods, const struct json *workload, pods_visit visit, void *ctx);
