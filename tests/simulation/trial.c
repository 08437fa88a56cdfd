// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/trial.h"
#include "core/base/error.h"
#include "core/json/pointer.h"
#include "tests/simulation/breaks.h"
#include "tests/simulation/crds.h"
#include "tests/simulation/crew.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/fields.h"
#include "tests/simulation/forgery.h"
#include "tests/simulation/guards.h"
#include "tests/simulation/intake.h"
#include "tests/simulation/leases.h"
#include "tests/simulation/members.h"
#include "tests/simulation/need_rules.h"
#include "tests/simulation/needs.h"
#include "tests/simulation/pace_rules.h"
#include "tests/simulation/pests.h"
#include "tests/simulation/places.h"
#include "tests/simulation/progress.h"
#include "tests/simulation/promise_rules.h"
#include "tests/simulation/queues.h"
#include "tests/simulation/rivals.h"
#include "tests/simulation/rooms.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/spaces.h"
#include "tests/simulation/status_rules.h"
#include "tests/simulation/steady.h"
#include "tests/simulation/tenants.h"
#include "tests/simulation/users.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER_NS (1000 * 60 * CLOCK_MINUTE) // longer than a trial
#define SETTLE_NS (45 * CLOCK_MINUTE)       // an exclusion lasts up to 15, and there may be two in a row
#define QUIET_NS (2 * CLOCK_MINUTE)
#define IDLE_REQUESTS 12 // of each cluster: watches that are reopened, and whether there is a Kueue by now

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
    if (trial->plan.elects && trial->host && strncmp(format, "host", 4) == 0)
        at += snprintf(line + at, sizeof *trial->lines - (size_t)at, "[%zu] ", trial->host->index);
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

void trial_tell(const struct trial *trial, FILE *out) {
    flockfile(out);
    fprintf(out, "seed %" PRIu64 " failed after %.3f s: %s\n", trial->seed,
            (double)(trial->failed_ns - TRIAL_START_NS) / 1e9, trial->failure);
    size_t first = trial->n_lines > TRIAL_LINES ? trial->n_lines - TRIAL_LINES : 0;
    for (size_t i = first; i < trial->n_lines && !trial->telling; i++)
        fprintf(out, "    %s\n", trial->lines[i % TRIAL_LINES]);
    funlockfile(out);
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
    for (size_t k = 0; k < trial->n_kinds; k++) {
        trial->engine_kinds[k] = trial->kinds[k]->kind;
        trial->engine_kinds[k]->hybrid = trial->seed % 15 == 7 ? HYBRID_SUSPEND : HYBRID_REFUSE; // with rivals
    }
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

// In most trials a few; in one of six 5 to 9, and in one of eight up to 20. SIM_WORKERS=N: so many.
static size_t choose_workers(struct trial *trial) {
    const char *wanted = getenv("SIM_WORKERS");
    int64_t number = 0;
    if (wanted && text_to_int64(wanted, &number) && number >= 2 && number <= TRIAL_WORKERS)
        return (size_t)number;
    uint64_t size = trial_below(trial, 24);
    if (size < 3)
        return 10 + trial_below(trial, TRIAL_WORKERS - 9);
    return size < 7 ? 5 + trial_below(trial, 5) : 2 + trial_below(trial, 3);
}

static void cut_plan(struct trial *trial) {
    struct trial_plan *plan = &trial->plan;
    struct {
        bool *trait;
        const char *text;
    } traits[] = {{&plan->create_namespaces, "namespaces are created"},
                  {&plan->upgrade, "the first process has no key"},
                  {&plan->mirror_finalizer, "mirrors have a finalizer"},
                  {&plan->last_words, "last words are asked for and never answered"},
                  {&plan->late_threads, "threads are late"},
                  {&plan->short_queue, "the queue of events is short"},
                  {&plan->burst, "users create everything at once"},
                  {&plan->slow, "one cluster takes 5 s for each request"},
                  {&plan->queues, "workers have queues"},
                  {&plan->stripping, "a webhook removes a label"},
                  {&plan->members, "workers join and leave"},
                  {&plan->steady, "one trouble stays"},
                  {&plan->places, "placement is configured"},
                  {&plan->guards, "workers have guards"},
                  {&plan->breaks, "adapters fail"},
                  {&plan->progress, "Jobs have many pods"},
                  {&plan->spaces, "not all namespaces are permitted"},
                  {&plan->fields, "some workers drop a field"},
                  {&plan->intake, "maxWorkloads is set"},
                  {&plan->wait, "onWorkerLost: wait"},
                  {&plan->needs, "workloads refer to objects"},
                  {&plan->tenants, "the host acts as tenants"},
                  {&plan->raters, "adapters rate the workers"},
                  {&plan->rough, "what is left of workers is not always known"},
                  {&plan->costs, "requests take servers time"}};
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++)
        if (*traits[i].trait)
            *traits[i].trait = cuts_has(trial, "%s", traits[i].text);
    if (plan->shards && !cuts_has(trial, "%u shards", plan->shards))
        plan->shards = 0;
    if (plan->qps > 0 && !cuts_has(trial, "rateLimit %.0f", plan->qps))
        plan->qps = 0;
    if (plan->window_max && !cuts_has(trial, "at most %u requests in flight", plan->window_max))
        plan->window_max = 0;
}

// In a quarter of the trials with faults mirrors that do not start are withdrawn, and there are workers in which none
// does; in half of these, what no worker starts is given up. SIM_PENDING: in all of them.
static void choose_patience(struct trial *trial) {
    struct random random = {.state = trial->seed * 31 + 11};
    struct trial_plan *plan = &trial->plan;
    if (!plan->faults || (trial->seed % 4 != 2 && !getenv("SIM_PENDING")))
        return;
    int64_t least_ns = random_below(&random, 3) == 0 ? 2 * CLOCK_SECOND : 15 * CLOCK_SECOND;
    plan->pending_timeout_ns = least_ns + (int64_t)random_below(&random, (uint64_t)(20 * CLOCK_SECOND));
    if (random_below(&random, 2) == 0)
        plan->give_up_after_ns = 30 * CLOCK_SECOND + (int64_t)random_below(&random, (uint64_t)CLOCK_MINUTE);
    for (size_t c = 2; c < plan->n_clusters; c++) // the first one starts what it is given
        plan->starved[c] = random_below(&random, 2) == 0;
}

// Each in some trials with faults. Set in the environment: in all that can have it.
static bool is_drawn(const struct trial *trial, uint64_t what, uint64_t one_in, const char *variable) {
    struct random random = {.state = trial->seed * 67 + what};
    (void)random_next(&random);
    return trial->plan.faults && !trial->plan.steady && (random_below(&random, one_in) == 0 || getenv(variable));
}

static void choose_restrictions(struct trial *trial) {
    struct trial_plan *plan = &trial->plan;
    plan->spaces = is_drawn(trial, 1, 8, "SIM_NAMESPACES");
    plan->fields = !plan->slow && !plan->costs && is_drawn(trial, 2, 10, "SIM_FIELDS");
    plan->intake = is_drawn(trial, 3, 10, "SIM_INTAKE");
    plan->wait = is_drawn(trial, 4, 8, "SIM_WAIT");
    plan->breaks = is_drawn(trial, 5, 5, "SIM_BROKEN");
    plan->progress = progress_is_drawn(trial);
    plan->raters = is_drawn(trial, 6, 6, "SIM_RATERS");
    plan->gentle_users |= plan->wait; // else they name workers that do not exist, which are waited for too
    plan->places &= !plan->spaces && !plan->fields; // some permit only workers that these do not
}

// 1 to 8, with a leader or shards. Their election and the slowest API servers do not go together.
static void choose_hosts(struct trial *trial) {
    struct trial_plan *plan = &trial->plan;
    plan->hosts = 1;
    if (!plan->elects)
        return;
    plan->hosts = 1 + trial->seed % TRIAL_HOSTS;
    plan->shards = trial->seed / 8 % 2 ? 1 : 2 + (uint32_t)(trial->seed / 16 % (TRIAL_SHARDS - 1));
    plan->upgrade = plan->slow = plan->costs = plan->steady = plan->guards = plan->intake = false;
    size_t most = trial->seed % 40 == 0 ? TRIAL_CLUSTERS : 2 + 30 / plan->hosts;
    plan->n_clusters = plan->n_clusters < most ? plan->n_clusters : most;
}

static void make_plan(struct trial *trial) {
    struct trial_plan *plan = &trial->plan;
    plan->n_clusters = 1 + choose_workers(trial);
    plan->faults = trial->seed % 5 != 0;
    plan->plain = trial->seed % 20 == 0;
    plan->gentle_users = trial->seed % 10 == 5;
    plan->upgrade = trial->seed % 8 == 3;
    plan->mirror_finalizer = trial->seed % 8 == 0 || trial->seed % 8 == 6;
    plan->last_words = trial->seed % 4 == 1;
    plan->create_namespaces = trial_chance(trial, 50);
    plan->back = plan->faults ? choose_back(trial) : TRIAL_BACK_NONE;
    plan->stripping = plan->faults && trial_chance(trial, 10);
    plan->queues = plan->faults && trial->seed % 6 == 3;
    plan->takeover = plan->faults && trial->seed % 11 == 9;
    plan->members = plan->faults && (trial->seed % 3 == 1 || getenv("SIM_MEMBERS")); // set: in all of them
    plan->shards =
        plan->faults && (trial->seed % 7 == 4 || getenv("SIM_LEASES")) ? 1 + (uint32_t)(trial->seed / 7 % 4) : 0;
    plan->steady = trial->seed % 10 == 7 || getenv("SIM_STEADY"); // set: in all trials; a number: of that trouble
    plan->qps = trial->seed % 3 ? 0 : 20;
    plan->window_max = trial->seed % 11 == 4 ? 1 : trial->seed % 11 == 7 ? 2 : 0;
    plan->burst = trial->seed % 13 < 5;
    plan->slow = trial->seed % 17 == 6 || trial->seed % 17 == 13;
    plan->slow_cluster = trial->seed % 17 == 6 ? 0 : plan->n_clusters - 1;
    plan->costs = trial->seed % 6 == 4 || getenv("SIM_COSTS"); // set: in all trials
    plan->places = !plan->steady && plan->back == TRIAL_BACK_NONE && places_wanted(trial);
    plan->late_threads = trial->seed % 9 > 5;
    plan->short_queue = trial->seed % 7 == 2;
    plan->lost_timeout_ns = trial_between(trial, 15 * CLOCK_SECOND, 90 * CLOCK_SECOND);
    // SIM_GUARDS set: in all trials that can have them. fenceAfter is a few times what a request takes.
    bool restored = trial->seed % 24 == 1 || trial->seed % 24 == 3, costs = trial->seed % 24 == 4;
    bool both = plan->back != TRIAL_BACK_NONE && plan->shards;
    plan->guards = plan->faults && !plan->slow && !plan->steady && !both &&
                   (trial->seed % 6 == 2 || restored || costs || getenv("SIM_GUARDS"));
    static const int64_t retentions[] = {0, 5 * CLOCK_SECOND, 60 * CLOCK_SECOND};
    plan->retention_ns = retentions[trial_below(trial, 3)];
    plan->orphan_grace_ns = trial->seed % 3 == 0 ? 0 : trial_between(trial, 20 * CLOCK_SECOND, 10 * CLOCK_MINUTE);
    plan->mass_max = (int64_t)trial_below(trial, 5);
    plan->trouble_end_ns = trial->now_ns + trial_between(trial, 100 * CLOCK_SECOND, 400 * CLOCK_SECOND);
    choose_patience(trial);
    choose_restrictions(trial);
    choose_hosts(trial);
    rooms_choose(trial);
    needs_choose(trial);
    tenants_choose(trial);
    if (plan->guards)
        plan->lost_timeout_ns += 25 * CLOCK_SECOND;
    cut_plan(trial);
}

static void net_trace(void *ctx, int64_t now_ns, const char *line) {
    const struct trial *trial = ctx;
    (void)now_ns;
    if (!trial->cuts || !strstr(line, " GET ")) // a short story has no reads in it
        trial_trace(ctx, "net: %s", line);
}

static void make_worlds(struct trial *trial) {
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        if (c == ENGINE_MANAGEMENT)
            text_copy(trial->names_of[c], sizeof trial->names_of[c], "management");
        else
            snprintf(trial->names_of[c], sizeof trial->names_of[c], "w%zu", c);
        struct world_options options = {.name = trial->names_of[c],
                                        .seed = trial->seed * 11 + c,
                                        .history = trial_chance(trial, 20) ? 20 : 1000,
                                        .pod_start_ns = trial->plan.starved[c] ? NEVER_NS : 0,
                                        .pods = trial->plan.capacity,
                                        .no_watch_list = trial_chance(trial, 30),
                                        .expired = (enum world_expired)trial_below(trial, 3),
                                        .managed_fields = trial_chance(trial, 20) || c == ENGINE_MANAGEMENT};
        trial->worlds[c] = world_new(&options, trial->now_ns);
        trial->sides[c] = (struct side){trial, c};
        trial->user_acts = true;
        if (c <= 1 || trial_chance(trial, 50))
            spaces_add(trial, c);
        trial->user_acts = false;
        world_set_hook(trial->worlds[c], rules_hook, &trial->sides[c]);
        world_set_pod_hook(trial->worlds[c], c == ENGINE_MANAGEMENT ? NULL : progress_pod, &trial->sides[c]);
    }
}

// What each replica of the host has of its own. All have the same configuration.
static void make_hosts(struct trial *trial) {
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        struct instance *host = &trial->hosts[i];
        *host = (struct instance){.trial = trial, .index = i, .pace = pace_rules_new()};
        host->members = i == 0 ? members_new(trial) : members_like(trial->hosts[0].members);
        if (!host->pace || !host->members)
            abort();
    }
    instance_enter(&trial->hosts[0]);
}

struct trial *trial_new(uint64_t seed, bool replicas, bool tracing, bool telling, struct cuts *cuts) {
    struct trial *trial = calloc(1, sizeof *trial);
    if (!trial)
        return NULL;
    trial->seed = seed;
    trial->plan.elects = replicas;
    trial->cuts = cuts;
    trial->random.state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    trial->now_ns = TRIAL_START_NS;
    trial->tracing = tracing;
    trial->telling = telling;
    trial->lines = tracing ? calloc(TRIAL_LINES, sizeof *trial->lines) : NULL;
    trial->rules = rules_new(trial);
    trial->status = status_rules_new();
    trial->promises = promises_new();
    trial->seals = forgery_keys(seed);
    choose_kinds(trial);
    make_plan(trial);
    choose_added_kind(trial);
    trial->net = sim_net_new(seed * 13 + 5, trial->now_ns);
    if (tracing)
        sim_net_set_trace(trial->net, net_trace, trial);
    trial->progress = progress_new(trial);
    make_worlds(trial);
    if (trial->plan.costs)
        faults_set_costs(trial);
    trial->crds = crds_new(trial);
    trial->users = users_new(trial);
    trial->queues = queues_new(trial);
    trial->rooms = rooms_new(trial);
    trial->spaces = spaces_new(trial);
    trial->tenants = tenants_new(trial);
    trial->intake = intake_new(trial);
    trial->fields = fields_new(trial);
    trial->needs = needs_new(trial);
    trial->faults = faults_new(trial);
    trial->breaks = breaks_new(trial);
    trial->pests = pests_new(trial);
    trial->steady = steady_new(trial);
    trial->guards = guards_new(trial);
    trial->leases = leases_new(trial);
    make_hosts(trial);
    trial->crew = crew_new(trial);
    if (!trial->rules || !trial->status || !trial->promises || !trial->progress || !trial->crds || !trial->users ||
        !trial->pests || !trial->steady || !trial->leases || !trial->guards || !trial->faults || !trial->breaks ||
        !trial->queues || !trial->rooms || !trial->spaces || !trial->tenants || !trial->intake || !trial->fields ||
        !trial->crew || !trial->needs || (tracing && !trial->lines) || (!trial->plan.elects && !instance_start(trial)))
        abort();
    return trial;
}

void trial_free(struct trial *trial) {
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        instance_enter(&trial->hosts[i]);
        instance_stop(trial);
        free(trial->members);
        free(trial->pace);
    }
    crew_free(trial);
    guards_free(trial->guards);
    sim_net_free(trial->net);
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        world_free(trial->worlds[c]);
    seal_keys_free(trial->seals);
    free(trial->crds);
    free(trial->users);
    free(trial->queues);
    rooms_free(trial->rooms);
    free(trial->spaces);
    free(trial->tenants);
    free(trial->intake);
    free(trial->fields);
    needs_drop(trial);
    faults_free(trial->faults);
    breaks_free(trial->breaks);
    free(trial->pests);
    free(trial->steady);
    leases_free(trial->leases);
    free(trial->rules);
    free(trial->status);
    free(trial->promises);
    free(trial->progress);
    free(trial->failure);
    free(trial->lines);
    free(trial);
}

static int64_t next_time(struct trial *trial) {
    int64_t times[] = {sim_net_due(trial->net), users_due(trial),  faults_due(trial), crds_due(trial),
                       pests_due(trial),        queues_due(trial), steady_due(trial), leases_due(trial),
                       guards_due(trial),       rooms_due(trial),  spaces_due(trial), intake_due(trial),
                       crew_due(trial),         rivals_due(trial), breaks_due(trial), needs_due(trial),
                       progress_due(trial)};
    int64_t next = CLOCK_NEVER;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        next = times[i] < next ? times[i] : next;
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        int64_t at = world_due(trial->worlds[c]);
        next = at < next ? at : next;
    }
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        instance_enter(&trial->hosts[i]);
        next = clock_earlier(next, clock_earlier(instance_due(trial), members_due(trial)));
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
    breaks_act(trial);
    guards_act(trial);
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        instance_enter(&trial->hosts[i]);
        members_act(trial);
        instance_add_kind(trial);
    }
    needs_act(trial);
    users_act(trial);
    pests_act(trial);
    rivals_act(trial);
    queues_act(trial);
    rooms_act(trial);
    spaces_act(trial);
    intake_act(trial);
    steady_act(trial);
    progress_act(trial);
    leases_act(trial);
    crew_act(trial);
    sim_net_advance(trial->net, trial->now_ns);
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        instance_enter(&trial->hosts[i]);
        instance_run(trial);
        silence_check(trial);
    }
    fields_check(trial);
    intake_check(trial);
    need_rules_check(trial);
    crew_check(trial);
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
        rooms_check_waiting(trial);
        missing = crew_missing(trial);
        if (!missing)
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
    // What is tried in turn, or disputed, need not have begun to converge, but may since: it has finished, and its
    // mirror is retained.
    if (missing && (trial->plan.pending_timeout_ns || trial->plan.needs || rivals_are_there(trial->seed)))
        settle(trial);
    else if (missing)
        trial_fail(trial, "after it had converged: %s", missing);
    free(missing);
    uint64_t clusters = trial->plan.n_clusters,
             most = IDLE_REQUESTS * (clusters > 5 ? clusters : 5) * trial->plan.hosts;
    if (trial->plan.pending_timeout_ns) // workers may be tried in turn for a few workloads
        most += IDLE_REQUESTS * 10;
    if (trial->plan.needs) // a watch of each resource, or of single objects
        most += IDLE_REQUESTS * 10 * clusters * trial->plan.hosts;
    if (trial->plan.capacity) // two more watches of each
        most += IDLE_REQUESTS * clusters * trial->plan.hosts;
    if (requests > most)
        trial_fail(trial, "rule 8: %llu requests with nothing to do", (unsigned long long)requests);
    for (size_t c = 0; c < trial->plan.n_clusters && !trial->failure; c++)
        if (world_counts(trial->worlds[c])->internal_refused)
            trial_fail(trial, "the model: a write of a controller of %s was rejected", world_name(trial->worlds[c]));
}

bool trial_run(struct trial *trial) {
    trial_trace(trial, "%zu workers, workerLostTimeout %.1f s, mirrorRetention %.0f s", trial->plan.n_clusters - 1,
                (double)trial->plan.lost_timeout_ns / 1e9, (double)trial->plan.retention_ns / 1e9);
    run_until(trial, trial->plan.trouble_end_ns);
    if (trial->failure)
        return false;
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        instance_enter(&trial->hosts[i]);
        members_end(trial);
    }
    faults_end(trial);
    breaks_end(trial);
    guards_end(trial);
    pests_end(trial);
    crds_end(trial);
    queues_end(trial);
    rooms_end(trial);
    spaces_end(trial);
    tenants_end(trial);
    intake_end(trial);
    needs_end(trial);
    leases_end(trial);
    crew_end(trial);
    if (trial->plan.steady && !trial->failure) {
        run_until(trial, trial->now_ns + 5 * CLOCK_MINUTE);
        run_until(trial, steady_begin(trial));
        steady_end(trial);
    }
    if (trial->n_kinds > 1) // changes must have arrived: a silent watch is noticed after three minutes
        run_until(trial, trial->now_ns + 5 * CLOCK_MINUTE);
    if (!trial->failure && settle(trial))
        stay_idle(trial);
    if (!trial->failure && !trial->plan.faults)
        outcome_count(trial);
    return !trial->failure;
}
