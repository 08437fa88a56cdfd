// SPDX-License-Identifier: Apache-2.0
// placement: how a worker is chosen, overall and by rules.
#include "core/base/selector.h"
#include "core/base/text.h"
#include "core/config/config_reader.h"

#define POLICIES                                                                                                       \
    CONFIG_WORDS({"leastActive", PLACEMENT_LEAST_ACTIVE}, {"ordered", PLACEMENT_ORDERED},                              \
                 {"weighted", PLACEMENT_WEIGHTED}, {"binPack", PLACEMENT_BIN_PACK})
#define REQUIRED CONFIG_WORDS({"scheduling", REQUIRE_SCHEDULING}, {"true", REQUIRE_ALL}, {"false", REQUIRE_NONE})
#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789-*"
#define RULE(member) offsetof(struct placement_rule, member)

#define RETRY(member) offsetof(struct retry_elsewhere, member)

// An empty list matches nothing; without the key, the default list applies.
static bool check_reasons(const struct config_value *value) {
    return json_size(value->json) > 0 || config_take(value, strdup(""));
}

static const struct config_field retry_fields[] = {
    {"max", config_read_whole, RETRY(max),
     .help = "Default 1. How often one workload moves in its whole life; 0: never.", .max = 10},
    {"reasons", config_read_words, RETRY(reasons),
     .help = "Default: those of image pulls, mounts, nodes, devices and quotas (docs/placement.md). Reasons of pods, "
             "containers, conditions and Events; patterns with '*'.",
     .check = check_reasons, .item = "a list of reasons, such as [ImagePullBackOff, OutOf*]", .may_be_empty = true,
     .characters = LOWER "_.ABCDEFGHIJKLMNOPQRSTUVWXYZ", .expected = "a reason such as ImagePullBackOff, or a pattern"},
    {"exitCodes", config_read_words, RETRY(exit_codes), .help = "Default: none. Exit codes of containers.",
     .item = "a list of exit codes, such as [137, 139]", .may_be_empty = true, .min = 1, .max = 255,
     .characters = "0123456789", .expected = "an exit code from 1 to 255"},
    {"stuckFor", config_read_duration, RETRY(stuck_for_ns),
     .help = "Default 5m. How long a mirror that does not start for such a reason stays in its worker; 0: always."},
    {.key = NULL},
};

// All keys are those of one place: a rule takes none from above.
static bool read_retry(const struct config_value *value) {
    struct retry_elsewhere *retry = value->target;
    config_clear(retry_fields, retry);
    *retry = (struct retry_elsewhere){.max = 1, .stuck_for_ns = 5 * CLOCK_MINUTE};
    return config_mapping(value, retry_fields, retry);
}

static const struct config_field rule_fields[] = {
    {"kinds", config_read_words, RULE(kinds), .help = "Default: all. Kind or plural.group; patterns with '*'.",
     .item = "a list of kinds, such as [jobs.batch]", .characters = LOWER ".ABCDEFGHIJKLMNOPQRSTUVWXYZ",
     .expected = "a kind such as Job or jobs.batch, or a pattern"},
    {"namespaces", config_read_words, RULE(namespaces), .help = "Default: all. Patterns may have '*'.",
     .item = "a list of namespaces and patterns, such as [team-*]", .characters = LOWER,
     .expected = "a namespace, or a pattern such as team-*"},
    {"namespaceSelector", config_read_selector, RULE(namespace_selector),
     .help = "Default: all. Of the labels of namespaces of the management cluster."},
    {"policy", config_read_word, RULE(policy), .help = "Instead of placement.policy.", POLICIES},
    {"workerSelector", config_read_selector, RULE(worker_selector), .help = "Instead of placement.workerSelector."},
    {"requireFields", config_read_word, RULE(require_fields), .help = "Instead of placement.requireFields.", REQUIRED},
    {"pendingTimeout", config_read_duration, RULE(pending_timeout_ns), .help = "Instead of placement.pendingTimeout."},
    {"giveUpAfter", config_read_duration, RULE(give_up_after_ns), .help = "Instead of placement.giveUpAfter."},
    {"retryElsewhere", read_retry, RULE(retry), .help = "Instead of placement.retryElsewhere, as a whole.",
     .fields = retry_fields},
    {"onWorkerLost", config_read_switch, RULE(wait_when_lost), .help = "Instead of onWorkerLost.",
     CONFIG_WORDS({"redispatch", false}, {"wait", true})},
    {.key = NULL},
};

static bool read_rule(const struct config_value *value) {
    const struct placement_rule *otherwise = &value->reader->config->engine.placement.otherwise;
    struct placement_rule *rule = value->target;
    *rule = *otherwise;
    rule->worker_selector = rule->retry.reasons = rule->retry.exit_codes = NULL;
    value->reader->no_memory |= !text_set((char **)&rule->worker_selector, otherwise->worker_selector) ||
                                !text_set((char **)&rule->retry.reasons, otherwise->retry.reasons) ||
                                !text_set((char **)&rule->retry.exit_codes, otherwise->retry.exit_codes);
    config_mapping(value, rule_fields, rule);
    return true;
}

static bool describe_rules(const struct config_value *value) {
    return !value->reader->describe || config_read_list(value);
}

#define OVERALL(member) offsetof(struct placement_options, otherwise.member)

const struct config_field config_placement[] = {
    {"policy", config_read_word, OVERALL(policy),
     .help = "Default leastActive. Which of the workers that may have a workload gets it (docs/placement.md).",
     POLICIES},
    {"workerSelector", config_read_selector, OVERALL(worker_selector), .help = "Default: all. Of the workers' labels."},
    {"requireFields", config_read_word, OVERALL(require_fields),
     .help = "Default scheduling. Which fields a worker must keep to get a mirror: those that change the scheduling, "
             "all (true), or none (docs/guards.md).",
     REQUIRED},
    {"pendingTimeout", config_read_duration, OVERALL(pending_timeout_ns),
     .help = "Default 0: never. When a mirror that has not started is withdrawn and placed elsewhere."},
    {"giveUpAfter", config_read_duration, OVERALL(give_up_after_ns),
     .help = "Default 0: never. When a workload that no worker accepts or starts is given up."},
    {"retryElsewhere", read_retry, OVERALL(retry),
     .help = "Default: off. Runs a workload in another worker after a failure that is the worker's.",
     .fields = retry_fields},
    {"capacity", config_read_bool, offsetof(struct placement_options, capacity),
     .help = "Default false. Whether to place a workload only in workers with enough capacity (docs/capacity.md)."},
    {"rules", describe_rules, offsetof(struct placement_options, rules),
     .help = "By kind and namespace: the keys of the first matching rule replace the keys above.", .item = "rule",
     .read_item = read_rule, .item_size = sizeof(struct placement_rule), .fields = rule_fields},
    {.key = NULL},
};

void config_read_rules(const struct config_value *root) {
    struct config_value placement = config_child(root, json_get(root->json, "placement"), 0);
    struct config_value list = config_child(&placement, json_get(placement.json, "rules"), 0);
    list.target = &root->reader->config->engine.placement.rules;
    for (list.field = config_placement; list.field->read != describe_rules;)
        list.field++;
    if (config_has(&placement, "rules"))
        config_read_list(&list);
}

// See core/engine/decide/decide.h.
static bool selects_by_labels(const char *rule) {
    return rule && (*rule == '=' || strstr(rule, "\n="));
}

bool config_needs_namespaces(const struct config *config) {
    bool needed = selects_by_labels(config->engine.namespaces);
    for (size_t i = 0; i < config->n_workers; i++)
        needed |= selects_by_labels(config->workers[i].settings.namespaces);
    for (size_t i = 0; i < config->engine.placement.n_rules; i++)
        needed |= !!config->engine.placement.rules[i].namespace_selector;
    return needed;
}

bool config_wants_capacity(const struct config *config, enum choice worker) {
    return worker == CHOICE_NOT_MADE ? config->engine.placement.capacity : worker == CHOICE_YES;
}

bool config_wants_any_capacity(const struct config *config) {
    bool any = config->engine.placement.capacity;
    for (size_t w = 0; w < config->n_workers; w++)
        any |= config_wants_capacity(config, config->workers[w].capacity);
    return any;
}

bool config_retries_elsewhere(const struct config *config) {
    bool any = config->engine.placement.otherwise.retry.max > 0;
    for (size_t i = 0; i < config->engine.placement.n_rules; i++)
        any |= config->engine.placement.rules[i].retry.max > 0;
    return any;
}

// Further reasons that Kubernetes and the shipped kinds use, besides RETRY_REASONS.
#define OTHER_REASONS                                                                                                  \
    "BackoffLimitExceeded,Completed,ConfigPodSandboxError,ContainerCannotRun,ContainerStatusUnknown,CrashLoopBackOff," \
    "DeadlineExceeded,Error,FailedCreate,FailedIndexes,FailedJobs,FailedPreStopHook,FailedPostStartHook,"              \
    "FailedScheduling,Failed,FailedToStartContainer,FreeDiskSpaceFailed,ImageInspectError,InvalidImageName,"           \
    "KillContainerError,KillPodSandboxError,MaxFailedIndexesExceeded,NetworkNotReady,NodeNotReady,NodeNotSchedulable," \
    "OOMKilled,OOMKilling,OutOfcpu,OutOfephemeral-storage,OutOfmemory,OutOfpods,PodFailurePolicy,PostStartHookError,"  \
    "PreStopHookError,RunContainerError,SchedulingGated,SignatureValidationFailed,StartError,SystemOOM,"               \
    "TaintManagerEviction,TopologyAffinityError,Unhealthy,Unschedulable,VolumeMountFailure"

static void warn_of_reasons(const char *reasons, const char *key, struct problems *warnings) {
    AUTO_WORDS known = text_words(RETRY_REASONS "," OTHER_REASONS, ',');
    AUTO_WORDS words = text_words(reasons, ',');
    size_t count = 0;
    while (known && known[count])
        count++;
    for (char **word = words; known && word && *word; word++) {
        bool found = false;
        for (size_t i = 0; i < count && !found; i++)
            found = pattern_list_matches(*word, known[i]) || strcmp(*word, known[i]) == 0;
        const char *meant = found ? NULL : suggest(*word, (const char *const *)known, count);
        if (!found)
            problems_add(warnings, "%s.reasons: found \"%s\", which is not among the reasons that wharf knows%s%s%s",
                         key, *word, meant ? "; did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
    }
}

static void warn_of_retry(const struct retry_elsewhere *retry, const char *key, struct problems *warnings) {
    if (retry->max == 0)
        return;
    if (retry->reasons && !*retry->reasons && !retry->exit_codes)
        problems_add(
            warnings,
            "%s: reasons is empty and there are no exitCodes, so no failure matches and no workload is retried", key);
    if (retry->reasons)
        warn_of_reasons(retry->reasons, key, warnings);
}

void config_warn(const struct config *config, struct problems *warnings) {
    const struct placement_options *placement = &config->engine.placement;
    warn_of_retry(&placement->otherwise.retry, "placement.retryElsewhere", warnings);
    for (size_t i = 0; i < placement->n_rules; i++) {
        const struct retry_elsewhere *retry = &placement->rules[i].retry;
        AUTO_TEXT key = text_format("placement.rules[%zu].retryElsewhere", i);
        bool taken_over = placement->otherwise.retry.max > 0 &&
                          text_equal(retry->reasons, placement->otherwise.retry.reasons) &&
                          text_equal(retry->exit_codes, placement->otherwise.retry.exit_codes);
        if (key && !taken_over)
            warn_of_retry(retry, key, warnings);
    }
}
