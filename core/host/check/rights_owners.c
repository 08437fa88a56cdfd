// SPDX-License-Identifier: Apache-2.0
// Objects that controllers create between an object and its pods: owner references lead to the pods (pods.h,
// owner_chain.h). All pods of other kinds belong to the object itself, or the host cannot read an object in between.
#include "core/host/check/rights_internal.h"

#include <string.h>

static const struct {
    const char *kind; // plural.group
    const char *group, *resource;
} between[] = {
    {"jobsets.jobset.x-k8s.io", "batch", "jobs"},
    {"trainjobs.trainer.kubeflow.org", "batch", "jobs"},
    {"trainjobs.trainer.kubeflow.org", "jobset.x-k8s.io", "jobsets"},
    {"mpijobs.kubeflow.org", "batch", "jobs"},
    {"rayjobs.ray.io", "batch", "jobs"},
    {"rayjobs.ray.io", "ray.io", "rayclusters"},
    {"rayservices.ray.io", "ray.io", "rayclusters"},
    {"appwrappers.workload.codeflare.dev", "batch", "jobs"},
    {"pipelineruns.tekton.dev", "tekton.dev", "taskruns"},
};

#define N_BETWEEN (sizeof(between) / sizeof(between[0]))

static bool is_enabled(const struct rights_wanted *wanted, const char *kind) {
    for (size_t i = 0; i < wanted->n_kinds; i++)
        if (strcmp(wanted->kinds[i]->plural_group, kind) == 0)
            return true;
    return false;
}

// A kind that is itself enabled is readable anyway.
static bool is_readable(const struct rights_wanted *wanted, size_t index) {
    for (size_t i = 0; i < wanted->n_kinds; i++)
        if (strcmp(wanted->kinds[i]->abi.group, between[index].group) == 0 &&
            strcmp(wanted->kinds[i]->abi.plural, between[index].resource) == 0)
            return true;
    return false;
}

static bool is_first(const struct rights_wanted *wanted, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (is_enabled(wanted, between[i].kind) && strcmp(between[i].group, between[index].group) == 0 &&
            strcmp(between[i].resource, between[index].resource) == 0)
            return false;
    return true;
}

void rights_add_owners(struct rights_table *table, const char *verbs) {
    const char *comment = "Objects between mirrors and their pods, which are found by owner references.";
    for (size_t i = 0; i < N_BETWEEN; i++) {
        if (!is_enabled(table->wanted, between[i].kind) || is_readable(table->wanted, i) || !is_first(table->wanted, i))
            continue;
        rights_add(
            table,
            &(struct right){.scope = RIGHT_CLUSTER, .comment = comment, .group = between[i].group, .verbs = verbs},
            between[i].resource);
        comment = NULL;
    }
}
