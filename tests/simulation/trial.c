// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/trial.h"
#include "core/base/error.h"
#include "core/json/pointer.h"
#include "tests/simulation/crds.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/forgery.h"
#include "tests/simulation/members.h"
#include "tests/simulation/pace_rules.h"
#include "tests/simulation/pests.h"
#include "tests/simulation/promise_rules.h"
#include "tests/simulation/queues.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/status_rules.h"
#include "tests/simulation/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_NS (45 * CLOCK_MINUTE) // an exclusion lasts up to 15, and there may be two in a row
#define QUIET_NS (2 * CLOCK_MINUTE)
#define IDLE_REQUESTS 40 // watches that are reopened

uint64_t trial_below(struct trial *trial, uint64_t bound) {
    return random_below(&trial->random, bound);
}

bool trial_chance(struct trial *trial, unsigned percent) {
    return trial_below(trial, 100) < percent;
}

int64_t trial_between(struct trial *trial, int64_t low_ns, int64_t high_ns) {
    return high_ns > low_ns ? low_ns + (int64_t)trial_below(trial, (uint64_t)(high_ns - low_ns)) : low_ns;
}

void trial_hash(struct trial *trial, const char *text, size_t len) {
    uint64_t hash = trial->hash ^ (uint64_t)trial->now_ns;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    trial->hash = hash;
}

void trial_trace(struct trial *trial, const char *format, ...) {
    if (!trial->tracing)
        return;
    char *line = trial->lines[trial->n_lines++ % TRIAL_LINES];
    int at = snprintf(line, sizeof *trial->lines, "%9.3f ", (double)(trial->now_ns - TRIAL_START_NS) / 1e9);
    va_list args;
    va_start(args, format);
    vsnprintf(line + at, sizeof *trial->lines - (size_t)at, format, args);
    va_end(args);
    if (trial->telling)
        fprintf(stderr, "%s\n", line);
}

void trial_fail(struct trial *trial, const char *format, ...) {
    if (trial->failure)
        return;
    va_list args;
    va_start(args, format);
    if (vasprintf(&trial->failure, format, args) < 0)
        abort();
    va_end(args);
    trial->failed_ns = trial->now_ns;
    trial_trace(trial, "FAILED: %s", trial->failure);
}

const struct json *trial_object(struct trial *trial, size_t cluster, size_t kind, const char *namespace_,
                                const char *name) {
    const wharf_kind *abi = &trial->kinds[kind]->kind->abi;
    return world_object(trial->worlds[cluster], abi->group, abi->plural, namespace_, name);
}

size_t trial_kind(const struct trial *trial, const char *group, const char *plural) {
    size_t k = 0;
    while (k < trial->n_kinds && (strcmp(trial->kinds[k]->kind->abi.plural, plural) != 0 ||
                                  strcmp(trial->kinds[k]->kind->abi.group, group) != 0))
        k++;
    return k;
}

bool trial_is_ours(const struct trial *trial, size_t kind, const struct json *object) {
    const struct kind *k = trial->engine_kinds[kind];
    return text_equal(json_string(pointer_find(object, k->abi.managed_by)), k->managed_by);
}

// Job, and in most trials a few others.
static void choose_kinds(struct trial *trial) {
    size_t all, wanted = trial_below(trial, TRIAL_KINDS);
    const struct sim_kind *kinds = sim_kinds(&all);
    trial->kinds[trial->n_kinds++] = &kinds[0];
    while (wanted-- > 0 && all > 1) {
        const struct sim_kind *kind = &kinds[1 + trial_below(trial, all - 1)];
        if (trial_kind(trial, kind->kind->abi.group, kind->kind->abi.plural) == trial->n_kinds)
            trial->kinds[trial->n_kinds++] = kind;
    }
    for (size_t k = 0; k < trial->n_kinds; k++)
        trial->engine_kinds[k] = trial->kinds[k]->kind;
}

// In a quarter of the trials with several kinds the last one is added at any time. SIM_KINDS: in all of them.
static void choose_added_kind(struct trial *trial) {
    struct random random = {.state = trial->seed * 29 + 7};
    bool added = trial->n_kinds > 1 && (trial->seed % 4 == 2 || getenv("SIM_KINDS"));
    uint64_t length_ns = (uint64_t)(trial->plan.trouble_end_ns - trial->now_ns);
    trial->plan.kind_added_ns = added ? trial->now_ns + (int64_t)random_below(&random, length_ns) : CLOCK_NEVER;
    trial->n_configured = trial->n_kinds - added;
}

// For half of the trials with faults. SIM_BACK=none, workers or all: for all of them.
static enum trial_back choose_back(const struct trial *trial) {
    const char *wanted = getenv("SIM_BACK");
    if (!wanted)
        return trial->seed % 4 == 1 ? TRIAL_BACK_WORKERS : trial->seed % 4 == 3 ? TRIAL_BACK_ALL : TRIAL_BACK_NONE;
    if (strcmp(wanted, "all") == 0)
        return TRIAL_BACK_ALL;
    return strcmp(wanted, "workers") == 0 ? TRIAL_BACK_WORKERS : TRIAL_BACK_NONE;
}

static void make_plan(struct trial *trial) {
    struct trial_plan *plan = &trial->plan;
    plan->n_clusters = 3 + trial_below(trial, TRIAL_WORKERS - 1);
    plan->faults = trial->seed % 5 != 0;
    plan->plain = trial->seed % 20 == 0;
    plan->gentle_users = trial->seed % 10 == 5;
    plan->upgrade = trial->seed % 8 == 3;
    plan->mirror_finalizer = trial->seed % 8 == 0 || trial->seed % 8 == 6;
    plan->create_namespaces = trial_chance(trial, 50);
    plan->back = plan->faults ? choose_back(trial) : TRIAL_BACK_NONE;
    plan->stripping = plan->faults && trial_chance(trial, 10);
    plan->queues = plan->faults && trial->seed % 6 == 3;
    plan->takeover = plan->faults && trial->seed % 11 == 9;
    plan->members = plan->faults && (trial->seed % 3 == 1 || getenv("SIM_MEMBERS")); // set: in all of them
    plan->qps = trial->seed % 3 ? 0 : 20;
    plan->window_max = trial->seed % 11 == 4 ? 1 : trial->seed % 11 == 7 ? 2 : 0;
    plan->burst = trial->seed % 13 < 5;
    plan->slow = trial->seed % 17 == 6 || trial->seed % 17 == 13;
    plan->slow_cluster = trial->seed % 17 == 6 ? 0 : plan->n_clusters - 1;
    plan->costs = trial->seed % 6 == 4 || getenv("SIM_COSTS"); // set: in all trials
    plan->late_threads = trial->seed % 9 > 5;
    plan->short_queue = trial->seed % 7 == 2;
    plan->lost_timeout_ns = trial_between(trial, 15 * CLOCK_SECOND, 90 * CLOCK_SECOND);
    static const int64_t retentions[] = {0, 5 * CLOCK_SECOND, 60 * CLOCK_SECOND};
    plan->retention_ns = retentions[trial_below(trial, 3)];
    plan->orphan_grace_ns = trial->seed % 3 == 0 ? 0 : trial_between(trial, 20 * CLOCK_SECOND, 10 * CLOCK_MINUTE);
    plan->mass_max = (int64_t)trial_below(trial, 5);
    plan->trouble_end_ns = trial->now_ns + trial_between(trial, 100 * CLOCK_SECOND, 400 * CLOCK_SECOND);
}

void trial_add_namespace(struct trial *trial, size_t cluster) {
    AUTO_JSON team = NULL;
    static const char text[] = "{\"metadata\":{\"name\":\"team\"}}";
    error_free(json_parse(text, sizeof text - 1, &team));
    world_apply(trial->worlds[cluster], "", "namespaces", team, trial->now_ns);
}

static void net_trace(void *ctx, int64_t now_ns, const char *line) {
    (void)now_ns;
    trial_trace(ctx, "net: %s", line);
}

static void make_worlds(struct trial *trial) {
    static const char *const names[] = {"management", "w1", "w2", "w3", "w4"};
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        struct world_options options = {.name = names[c],
                                        .seed = trial->seed * 11 + c,
                                        .history = trial_chance(trial, 20) ? 20 : 1000,
                                        .no_watch_list = trial_chance(trial, 30),
                                        .expired = (enum world_expired)trial_below(trial, 3),
                                        .managed_fields = trial_chance(trial, 20)};
        trial->worlds[c] = world_new(&options, trial->now_ns);
        trial->sides[c] = (struct side){trial, c};
        trial->user_acts = true;
        if (c <= 1 || trial_chance(trial, 50))
            trial_add_namespace(trial, c);
        trial->user_acts = false;
        world_set_hook(trial->worlds[c], rules_hook, &trial->sides[c]);
    }
}

// From a server with room for eight requests at a time to one that takes 5 s for each, one after the other.
static void set_costs(struct trial *trial) {
    static const int64_t slowest_ns[] = {10 * CLOCK_MS, 100 * CLOCK_MS, CLOCK_SECOND};
    struct random random = {.state = trial->seed * 17 + 3};
    size_t slow = random_below(&random, 3 * trial->plan.n_clusters); // in most trials none
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        int64_t most_ns = slowest_ns[random_below(&random, 3)];
        int64_t write_ns = CLOCK_MS + (int64_t)random_below(&random, (uint64_t)most_ns);
        struct service_cost cost = {.read_ns = write_ns / 2,
                                    .write_ns = write_ns,
                                    .concurrency = 1 + (unsigned)random_below(&random, 8),
                                    .queue = random_below(&random, 4) ? 0 : 20 + (unsigned)random_below(&random, 100)};
        if (c == slow && !faults_is_slow(trial, c)) // both together exceed the deadline of a probe
            cost.read_ns = cost.write_ns = 5 * CLOCK_SECOND;
        sim_cluster_set_cost(trial->net, trial->worlds[c], &cost);
        trial_trace(trial, "%s takes %.3f s for a write, %u at a time", world_name(trial->worlds[c]),
                    (double)cost.write_ns / 1e9, cost.concurrency);
    }
}

struct trial *trial_new(uint64_t seed, bool tracing, bool telling) {
    struct trial *trial = calloc(1, sizeof *trial);
    if (!trial)
        return NULL;
    trial->seed = seed;
    trial->random.state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    trial->now_ns = TRIAL_START_NS;
    trial->tracing = tracing;
    trial->telling = telling;
    trial->lines = tracing ? calloc(TRIAL_LINES, sizeof *trial->lines) : NULL;
    trial->rules = rules_new(trial);
    trial->pace = pace_rules_new();
    trial->status = status_rules_new();
    trial->promises = promises_new();
    trial->seals = forgery_keys(seed);
    choose_kinds(trial);
    make_plan(trial);
    choose_added_kind(trial);
    trial->net = sim_net_new(seed * 13 + 5, trial->now_ns);
    if (tracing)
        sim_net_set_trace(trial->net, net_trace, trial);
    make_worlds(trial);
    if (trial->plan.costs)
        set_costs(trial);
    trial->crds = crds_new(trial);
    trial->users = users_new(trial);
    trial->queues = queues_new(trial);
    trial->faults = faults_new(trial);
    trial->pests = pests_new(trial);
    trial->members = members_new(trial);
    if (!trial->rules || !trial->pace || !trial->status || !trial->promises || !trial->crds || !trial->users ||
        !trial->pests || !trial->faults || !trial->queues || !trial->members || (tracing && !trial->lines) ||
        !instance_start(trial))
        abort();
    return trial;
}

void trial_free(struct trial *trial) {
    instance_stop(trial);
    sim_net_free(trial->net);
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        world_free(trial->worlds[c]);
    seal_keys_free(trial->seals);
    free(trial->crds);
    free(trial->users);
    free(trial->queues);
    faults_free(trial->faults);
    free(trial->pests);
    free(trial->members);
    free(trial->rules);
    free(trial->pace);
    free(trial->status);
    free(trial->promises);
    free(trial->failure);
    free(trial->lines);
    free(trial);
}

static int64_t next_time(const struct trial *trial) {
    int64_t times[] = {sim_net_due(trial->net), instance_due(trial), users_due(trial),  faults_due(trial),
                       crds_due(trial),         pests_due(trial),    queues_due(trial), members_due(trial)};
    int64_t next = CLOCK_NEVER;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        next = times[i] < next ? times[i] : next;
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        int64_t at = world_due(trial->worlds[c]);
        next = at < next ? at : next;
    }
    return next;
}

// The next event, at the latest at `until_ns`. False once that time has come and nothing is left to do.
static bool step(struct trial *trial, int64_t until_ns) {
    int64_t next = next_time(trial);
    if (next > until_ns) {
        trial->now_ns = until_ns;
        return false;
    }
    trial->steps_now = next > trial->now_ns ? 0 : trial->steps_now + 1;
    if (trial->steps_now > 10000)
        trial_fail(trial, "rule 8: time does not advance");
    if (next > trial->now_ns)
        trial->now_ns = next;
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        if (world_due(trial->worlds[c]) <= trial->now_ns)
            world_step(trial->worlds[c], trial->now_ns);
    crds_act(trial);
    faults_act(trial);
    members_act(trial);
    instance_add_kind(trial);
    users_act(trial);
    pests_act(trial);
    queues_act(trial);
    sim_net_advance(trial->net, trial->now_ns);
    instance_run(trial);
    silence_check(trial);
    return true;
}

static void run_until(struct trial *trial, int64_t until_ns) {
    while (!trial->failure && step(trial, until_ns))
        continue;
}

static bool settle(struct trial *trial) {
    int64_t end_ns = trial->now_ns + SETTLE_NS;
    char *missing = NULL;
    do {
        free(missing);
        run_until(trial, trial->now_ns + 5 * CLOCK_SECOND);
        missing = outcome_missing(trial);
    } while (missing && !trial->failure && trial->now_ns < end_ns);
    if (missing)
        trial_fail(trial, "after all faults were over: %s", missing);
    free(missing);
    return !trial->failure;
}

static void stay_idle(struct trial *trial) {
    uint64_t before = trial->rules->requests;
    run_until(trial, trial->now_ns + QUIET_NS);
    uint64_t requests = trial->rules->requests - before;
    char *missing = outcome_missing(trial);
    if (missing)
        trial_fail(trial, "after it had converged: %s", missing);
    free(missing);
    if (requests > IDLE_REQUESTS)
        trial_fail(trial, "rule 8: %llu requests with nothing to do", (unsigned long long)requests);
    for (size_t c = 0; c < trial->plan.n_clusters && !trial->failure; c++)
        if (world_counts(trial->worlds[c])->internal_refused)
            trial_fail(trial, "the model: a write of a controller of %s was rejected", world_name(trial->worlds[c]));
}

bool trial_run(struct trial *trial) {
    trial_trace(trial, "%zu workers, workerLostTimeout %.1f s, mirrorRetention %.0f s", trial->plan.n_clusters - 1,
                (double)trial->plan.lost_timeout_ns / 1e9, (double)trial->plan.retention_ns / 1e9);
    run_until(trial, trial->plan.trouble_end_ns);
    members_end(trial);
    faults_end(trial);
    pests_end(trial);
    crds_end(trial);
    queues_end(trial);
    if (trial->n_kinds > 1) // changes must have arrived: a silent watch is noticed after three minutes
        run_until(trial, trial->now_ns + 5 * CLOCK_MINUTE);
    if (!trial->failure && settle(trial))
        stay_idle(trial);
    if (!trial->failure && !trial->plan.faults)
        outcome_count(trial);
    return !trial->failure;
}
