// SPDX-License-Identifier: Apache-2.0
// How workloads are placed: `placement` of the configuration, with rules by kind and namespace.
#pragma once

#include "core/base/error.h"
#include "core/engine/placement/placement_types.h"

#define MARK_CLUSTER_SELECTOR "wharf.dev/cluster-selector" // annotation of a workload: a selector of workers
#define MARK_CLUSTER_NAMES "wharf.dev/cluster-names" // annotation of a workload: only these workers, in this order

// The options, owned.
struct placement_settings;
// ERROR_INVALID: a selector.
struct error *placement_settings_new(const struct placement_options *options, struct placement_settings **out);
void placement_settings_free(struct placement_settings *settings); // NULL is allowed
const struct placement_options *placement_settings_options(const struct placement_settings *settings);

struct engine;
struct entry;

// The rule for a workload; never NULL. *known (may be NULL): false if the rule depends on unknown labels of the
// namespace. *workers: the parsed selector.
const struct placement_rule *placement_rule_of(const struct engine *engine, const struct entry *entry, bool *known,
                                               const struct selector **workers);

// onWorkerLost: whether the workload waits for a lost worker without a time limit; also true if the rule is unknown.
bool placement_waits_when_lost(const struct engine *engine, const struct entry *entry);

void placement_replace_rules(struct engine *engine, struct placement_settings *rules); // takes them
