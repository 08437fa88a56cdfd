// SPDX-License-Identifier: Apache-2.0
#include "core/kube/exec_policy.h"

#include <stdlib.h>
#include <string.h>

void exec_policy_clear(struct exec_policy *policy) {
    for (size_t i = 0; i < policy->n_allow; i++)
        free(policy->allow[i]);
    free(policy->allow);
    free(policy->setting);
    *policy = (struct exec_policy){.allow = NULL};
}

void exec_policy_free(struct exec_policy *policy) {
    if (policy)
        exec_policy_clear(policy);
    free(policy);
}

static bool fill(struct exec_policy *copy, const struct exec_policy *policy) {
    copy->any = policy->any;
    copy->setting = policy->setting ? strdup(policy->setting) : NULL;
    copy->allow = calloc(policy->n_allow + 1, sizeof *copy->allow);
    if (!copy->allow || (policy->setting && !copy->setting))
        return false;
    for (; copy->n_allow < policy->n_allow; copy->n_allow++)
        if (!(copy->allow[copy->n_allow] = strdup(policy->allow[copy->n_allow])))
            return false;
    return true;
}

bool exec_policy_copy(const struct exec_policy *policy, struct exec_policy **out) {
    *out = policy ? calloc(1, sizeof **out) : NULL;
    if (!policy || (*out && fill(*out, policy)))
        return true;
    exec_policy_free(*out);
    *out = NULL;
    return false;
}
