// SPDX-License-Identifier: Apache-2.0
// Containers that were killed because they exceeded their memory limit. No Event tells of that: it is read from the
// status of the pod.
#ifndef WHARF_HOST_PODS_POD_OOM_H
#define WHARF_HOST_PODS_POD_OOM_H

#include "core/json/json.h"

#include <stdint.h>

// Calls `found` for each such container of a pod that ended since then, with a sentence and an id that differs from
// kill to kill.
void pod_oom_each(const struct json *pod, int64_t since_wall_ns,
                  void (*found)(void *ctx, const char *text, uint64_t id), void *ctx);

#endif
