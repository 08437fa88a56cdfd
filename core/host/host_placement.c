// SPDX-License-Identifier: Apache-2.0
#include "core/host/host_placement.h"

#include <stdlib.h>

static enum placement_policy policy_of(int policy) {
    static const enum placement_policy policies[] = {[POLICY_LEAST_ACTIVE] = PLACEMENT_LEAST_ACTIVE,
                                                     [POLICY_ORDERED] = PLACEMENT_ORDERED,
                                                     [POLICY_WEIGHTED] = PLACEMENT_WEIGHTED,
                                                     [POLICY_BIN_PACK] = PLACEMENT_BIN_PACK};
    return policies[policy];
}

static struct placement_rule rule_of(const struct config_placement_rule *rule) {
    return (struct placement_rule){.kinds = rule->kinds,
                                   .namespaces = rule->namespaces,
                                   .namespace_selector = rule->namespace_selector,
                                   .policy = policy_of(rule->policy),
                                   .worker_selector = rule->worker_selector,
                                   .require_fields = rule->require_fields,
                                   .wait_when_lost = rule->wait_when_lost,
                                   .pending_timeout_ns = rule->pending_timeout_ns,
                                   .give_up_after_ns = rule->give_up_after_ns};
}

struct placement_settings *host_placement_of(const struct config *config) {
    const struct config_placement *placement = &config->placement;
    struct placement_rule *rules = calloc(placement->n_rules + 1, sizeof *rules);
    if (!rules)
        return NULL;
    for (size_t i = 0; i < placement->n_rules; i++)
        rules[i] = rule_of(&placement->rules[i]);
    struct placement_options options = {.rules = rules,
                                        .n_rules = placement->n_rules,
                                        .otherwise = rule_of(&placement->otherwise),
                                        .capacity = placement->capacity,
                                        .drain_timeout_ns = placement->drain_timeout_ns};
    struct placement_settings *settings = NULL;
    error_free(placement_settings_new(&options, &settings)); // selectors were checked
    free(rules);
    return settings;
}
