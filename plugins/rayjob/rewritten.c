// SPDX-License-Identifier: Apache-2.0
// KubeRay writes a whole object to add a finalizer, to a RayCluster only with GCS fault tolerance. Go then omits zero
// values, and adds structs without members. The meaning stays the same, so the host does not write the workload's form
// again.
#include "ray.h"

void ray_leave_omitted(const wharf_call *call, const wharf_value *mirror, wharf_value *desired, const char *pointer) {
    int zero = host->is(desired, pointer, "false") || host->is(desired, pointer, "0");
    if (zero && !host->find(mirror, pointer))
        host->remove(call, desired, pointer);
}

void ray_leave_empty(const wharf_call *call, const wharf_value *mirror, wharf_value *desired) {
    const char *groups = "/spec/workerGroupSpecs";
    for (size_t i = host->count(host->find(desired, groups)); i > 0; i--) {
        const char *pointer = host->format(call, "%s/%zu/scaleStrategy", groups, i - 1);
        const wharf_value *found = host->find(mirror, pointer);
        if (host->type(found) == WHARF_OBJECT && host->count(found) == 0 && !host->find(desired, pointer))
            host->set(call, desired, pointer, found);
    }
}
