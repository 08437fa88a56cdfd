// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/places.h"

#include "core/base/selector.h"
#include "core/engine/engine.h"
#include "core/engine/placement/placing.h"
#include "tests/simulation/members.h"
#include "tests/simulation/rules.h"

#include <stdlib.h>
#include <string.h>

#define SELECTED "tier!=none" // by the configuration: one worker of three or more is not

static uint64_t draw(const struct trial *trial, uint64_t what, uint64_t bound) {
    struct random random = {.state = trial->seed * 41 + 13 + what * 977};
    (void)random_next(&random);
    return random_below(&random, bound);
}

bool places_wanted(const struct trial *trial) {
    return getenv("SIM_PLACES") || draw(trial, 0, 3) == 0;
}

static enum placement_policy policy_of(const struct trial *trial) {
    return (enum placement_policy)draw(trial, 1, 4);
}

// The last one of many is in a tier that the configuration does not select.
static bool is_selected(const struct trial *trial, size_t cluster) {
    return trial->plan.n_clusters <= 4 || cluster + 1 < trial->plan.n_clusters;
}

static const char *labels_of(const struct trial *trial, size_t cluster) {
    if (!is_selected(trial, cluster))
        return "tier=none,zone=b";
    return cluster % 2 ? "gpu=h100,zone=a" : "gpu=a100,zone=b";
}

static size_t drawn_limit(const struct trial *trial, size_t cluster) {
    uint64_t limit = draw(trial, 100 + cluster, 6);
    return limit > 3 ? 0 : limit + 1;
}

static size_t limit_of(const struct trial *trial, size_t cluster) {
    return trial->now_ns >= trial->plan.trouble_end_ns ? 0 : drawn_limit(trial, cluster);
}

// Half of the trials with onWorkerLost: wait have a rule by which one namespace is not waited for.
static bool has_rule(const struct trial *trial) {
    return trial->plan.wait && draw(trial, 400, 2) == 0;
}

bool places_wait(const struct trial *trial, const char *namespace_) {
    return trial->plan.wait && !(has_rule(trial) && strcmp(namespace_, "team") == 0);
}

// The choice of a worker is checked in other trials: a worker that failed the workload comes last.
int64_t places_retries(const struct trial *trial) {
    bool retries = !trial->plan.places && (getenv("SIM_RETRY") || draw(trial, 406, 5) == 0);
    return retries ? 1 + (int64_t)draw(trial, 407, 2) : 0;
}

bool places_was_retried(struct trial *trial, size_t cluster, const struct json *body) {
    const char *names = rules_text(body, "metadata", "annotations", MARK_RETRIED);
    const char *to = rules_text(body, "metadata", "annotations", MARK_CLUSTER);
    AUTO_TEXT copy = strdup(names);
    int64_t count = 0;
    bool found = false;
    for (char *rest = copy, *name; (name = strsep(&rest, ",")); count++) {
        found |= strcmp(name, world_name(trial->worlds[cluster])) == 0;
        if (*name && strcmp(name, to) == 0)
            trial_fail(trial, "rule E4: a workload moves to %s, which failed it (%s)", name, names);
    }
    if (*names && count > places_retries(trial))
        trial_fail(trial, "rule E4: a workload has moved %d times (%s)", (int)count, names);
    return found;
}

struct placement_options places_options(const struct trial *trial) {
    static struct placement_rule rule; // read at once
    bool places = trial->plan.places;
    struct placement_options options = {
        .otherwise = {.policy = places ? policy_of(trial) : PLACEMENT_LEAST_ACTIVE,
                      .worker_selector = places ? SELECTED : NULL,
                      .require_fields = trial->plan.fields && draw(trial, 405, 3) ? REQUIRE_ALL : REQUIRE_SCHEDULING,
                      .wait_when_lost = trial->plan.wait,
                      .pending_timeout_ns = trial->plan.pending_timeout_ns,
                      .give_up_after_ns = trial->plan.give_up_after_ns,
                      .retry = {.max = places_retries(trial), .reasons = "*"}}};
    if (has_rule(trial)) {
        rule = options.otherwise;
        rule.namespaces = "team";
        rule.wait_when_lost = false;
        options.rules = &rule;
        options.n_rules = 1;
    }
    return options;
}

void places_worker(const struct trial *trial, size_t cluster, struct engine_event *event) {
    if (!trial->plan.places)
        return;
    event->worker.labels = labels_of(trial, cluster);
    event->worker.max_active = limit_of(trial, cluster);
    event->worker.weight = 1 + (uint32_t)draw(trial, 200 + cluster, 4);
    event->worker.order = (uint32_t)draw(trial, 300 + cluster, 4);
}

// Each permits one of the first two workers at least: others may come and go, and lack what the Job needs.
static const char *names_for(const struct trial *trial, const char *job) {
    return trial->plan.places && draw(trial, text_hash(TEXT_HASH, job), 4) == 1 ? "w2,w1" : NULL;
}

static const char *selector_for(const struct trial *trial, const char *job) {
    static const char *const selectors[] = {"gpu in (h100,a100),!spot", "zone=a", "gpu!=h100",
                                            "gpu=a100,tier notin (none)"};
    bool has = trial->plan.places && draw(trial, text_hash(TEXT_HASH, job), 4) == 2;
    return has ? selectors[draw(trial, text_hash(TEXT_HASH + 1, job), 4)] : NULL;
}

void places_annotate(struct trial *trial, struct json *job) {
    struct json *notes = json_get(json_get(job, "metadata"), "annotations");
    const char *names = names_for(trial, object_name(job)), *selector = selector_for(trial, object_name(job));
    if (notes && names)
        json_set(notes, MARK_CLUSTER_NAMES, json_new_string(names));
    if (notes && selector)
        json_set(notes, MARK_CLUSTER_SELECTOR, json_new_string(selector));
}

static bool is_named(const char *names, const char *name) {
    size_t len = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += len)
        if ((at == names || at[-1] == ',') && (at[len] == ',' || !at[len]))
            return true;
    return false;
}

static bool is_met(const char *text, const char *labels) {
    struct selector selector;
    struct error *error = selector_parse(text, &selector);
    bool met = !error && selector_is_met(&selector, labels);
    error_free(error);
    selector_clear(&selector);
    return met;
}

bool places_permit(const struct trial *trial, size_t cluster, const char *job) {
    const char *worker = world_name(trial->worlds[cluster]);
    const char *names = job ? names_for(trial, job) : NULL, *selector = job ? selector_for(trial, job) : NULL;
    return !trial->plan.places || (is_selected(trial, cluster) && (!names || is_named(names, worker)) &&
                                   (!selector || is_met(selector, labels_of(trial, cluster))));
}

bool places_are_limited(const struct trial *trial) {
    bool limited = false;
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        limited |= trial->plan.places && drawn_limit(trial, c) > 0;
    return limited;
}

// By the engine's own count: what others did since is not its choice.
static void check_limit(struct trial *trial, size_t cluster, const char *name) {
    const struct stats *stats = engine_stats(trial->host->turn.engine);
    size_t limit = limit_of(trial, cluster);
    if (limit > 0 && cluster < stats->n_clusters && stats->clusters[cluster].active > limit)
        trial_fail(trial, "%s is placed in %s, which has %zu workloads then, and maxActive %zu", name,
                   world_name(trial->worlds[cluster]), (size_t)stats->clusters[cluster].active, limit);
}

void places_check(struct trial *trial, size_t cluster, const struct json *workload, const struct json *body) {
    if (!trial->plan.places || !workload)
        return;
    const char *worker = world_name(trial->worlds[cluster]), *name = object_name(workload);
    check_limit(trial, cluster, name);
    if (!is_selected(trial, cluster))
        trial_fail(trial, "%s is placed in %s, which the configuration does not select", name, worker);
    // Of another version than the host knows, the patch is rejected.
    if (!text_equal(object_version(workload), object_version(body)))
        return;
    const char *names = object_annotation(workload, MARK_CLUSTER_NAMES);
    const char *selector = object_annotation(workload, MARK_CLUSTER_SELECTOR);
    if (names && !is_named(names, worker))
        trial_fail(trial, "%s is placed in %s, but may only go to %s", name, worker, names);
    if (selector && !is_met(selector, labels_of(trial, cluster)))
        trial_fail(trial, "%s is placed in %s, which its selector %s does not match", name, worker, selector);
}
