// SPDX-License-Identifier: Apache-2.0
#include "ray.h"

#include <string.h>

const wharf_host *host;

const char *const ray_managers[] = {"kueue.x-k8s.io/multikueue", NULL};

bool ray_is(const wharf_value *object, const char *pointer, const char *text) {
    const char *found = host->string(host->find(object, pointer));
    return found && strcmp(found, text) == 0;
}

bool ray_is_suspended(const wharf_value *object) {
    return host->boolean(host->find(object, "/spec/suspend"), 0);
}

wharf_result ray_phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    if (out->phase == WHARF_SUSPENDED && !ray_is_suspended(object))
        out->phase = WHARF_PENDING;
    return WHARF_OK;
}

void ray_remove(wharf_value *status, const char *const *pointers) {
    for (; *pointers; pointers++)
        host->remove(status, *pointers);
}

WHARF_MODULE(host, "rayjob", "0.1.0", &rayjob, &raycluster, &rayservice)
