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

static void leave_empty(const wharf_call *call, const wharf_value *mirror, wharf_value *desired, const char *pointer) {
    const wharf_value *found = host->find(mirror, pointer);
    if (host->type(found) == WHARF_OBJECT && host->count(found) == 0 && !host->find(desired, pointer))
        host->set(call, desired, pointer, found);
}

// `list` is the pointer of the containers.
static void leave_resources(const wharf_call *call, const wharf_value *mirror, wharf_value *desired, const char *list) {
    for (size_t i = host->count(host->find(desired, list)); i > 0; i--)
        leave_empty(call, mirror, desired, host->format(call, "%s/%zu/resources", list, i - 1));
}

// `group` is the pointer of a group, whose template exists (the CRD requires it).
static void leave_group(const wharf_call *call, const wharf_value *mirror, wharf_value *desired, const char *group) {
    leave_empty(call, mirror, desired, host->format(call, "%s/template/metadata", group));
    leave_resources(call, mirror, desired, host->format(call, "%s/template/spec/containers", group));
    leave_resources(call, mirror, desired, host->format(call, "%s/template/spec/initContainers", group));
}

void ray_leave_empty(const wharf_call *call, const wharf_value *mirror, wharf_value *desired, const char *spec) {
    const char *groups = host->format(call, "%s/workerGroupSpecs", spec);
    leave_group(call, mirror, desired, host->format(call, "%s/headGroupSpec", spec));
    for (size_t i = host->count(host->find(desired, groups)); i > 0; i--) {
        const char *group = host->format(call, "%s/%zu", groups, i - 1);
        leave_empty(call, mirror, desired, host->format(call, "%s/scaleStrategy", group));
        leave_group(call, mirror, desired, group);
    }
}
