// SPDX-License-Identifier: Apache-2.0
// The pods that a workload asks for: what the data of its kind says, and what its adapter adds.
#ifndef WHARF_ADAPTER_PODS_H
#define WHARF_ADAPTER_PODS_H

#include "core/adapter/services.h"

// An array of {"template": <PodTemplateSpec>, "count": <integer>}, owned by the caller. `call` was begun. An item of an
// adapter that is none of these is left out. The adapter's answer; WHARF_RETRY also when out of memory.
wharf_result pods_of(struct adapter_call *call, const struct json *workload, struct json **sets);

#endif
