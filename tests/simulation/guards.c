// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/guards.h"
#include "core/adapter/phase.h"
#include "core/base/error.h"
#include "core/engine/fence/fence.h"
#include "core/engine/fence/guard_report.h"
#include "core/host/lease/guard_run.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/forgery.h"
#include "tests/simulation/pests.h"
#include "tests/simulation/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRANSPORT_NS (40 * CLOCK_SECOND) // a request that got no answer is given up
#define STOP_NS (10 * CLOCK_SECOND)      // for what reaches a worker late to be stopped
#define LOOK_NS (CLOCK_SECOND / 2)

#define GUARDS 2   // in a worker, at most
#define TROUBLES 4 // of each
#define GAPS 16    // that are remembered

enum trouble_type { ENDED, STOPPED, CUT_OFF }; // a process that is not there; SIGSTOP; without its API server

struct trouble {
    enum trouble_type type;
    int64_t begin_ns, end_ns;
    bool begun, over;
};

struct one {
    struct trial *trial;
    struct sim_net *net; // NULL: there is no such guard
    struct guard_run *run;
    struct transport *transport;
    size_t cluster, number;
    unsigned processes;
    int64_t clock_ns; // when its clock was zero
    int64_t wall_ns;  // how much the wall clock of its node is ahead
    int64_t due_ns;   // virtual time
    int per_mille;    // how much faster its clock is
    int64_t start_ns; // of the first process
    struct trouble troubles[TROUBLES];
    unsigned has[CUT_OFF + 1]; // troubles of the type
    int64_t blind_ns;          // until then it may not have noticed that its API server can be reached again
    char identity[32];
};

struct gap { // no guard of the worker can act
    int64_t begin_ns, end_ns;
};

struct guards {
    bool used;
    struct one list[TRIAL_CLUSTERS * GUARDS];
    struct gap gaps[TRIAL_CLUSTERS][GAPS];
    size_t n_gaps[TRIAL_CLUSTERS];
    bool in_gap[TRIAL_CLUSTERS]; // the last one has not ended
    int64_t looked_ns;
    // Of the present process of each replica of the host.
    struct {
        const struct cluster_io *told[TRIAL_CLUSTERS];
        uint64_t renews[TRIAL_CLUSTERS]; // shards
    } hosts[TRIAL_HOSTS];
};

int64_t guards_after_ns(const struct trial *trial) {
    int64_t longest_ns = (trial->plan.lost_timeout_ns - 5 * CLOCK_SECOND) * 4 / 9;
    return trial->plan.guards ? longest_ns / CLOCK_SECOND * CLOCK_SECOND : 0;
}

static void add_namespace(struct trial *trial, size_t cluster) {
    static const char text[] = "{\"metadata\":{\"name\":\"wharf-system\"}}";
    AUTO_JSON space = NULL;
    error_free(json_parse(text, sizeof text - 1, &space));
    trial->user_acts = true;
    world_apply(trial->worlds[cluster], "", "namespaces", space, trial->now_ns);
    trial->user_acts = false;
}

void guards_wiped(struct trial *trial, size_t cluster) {
    if (trial->plan.guards && (cluster != ENGINE_MANAGEMENT || guards_report(trial)))
        add_namespace(trial, cluster);
}

// Most are short; others last until the host has given the worker up, or for ever.
static int64_t draw_length(const struct trial *trial, struct random *random) {
    uint64_t after_ns = (uint64_t)guards_after_ns(trial);
    uint64_t die = random_below(random, 8);
    if (die == 0)
        return CLOCK_MINUTE * 60;
    return (int64_t)random_below(random, die < 5 ? (uint64_t)CLOCK_SECOND * 2 : die < 7 ? after_ns : 4 * after_ns);
}

static void plan_one(struct trial *trial, struct random *random, struct one *one) {
    static const char *const texts[] = {"ends", "is stopped", "is cut off"};
    int64_t length_ns = 2 * (trial->plan.trouble_end_ns - trial->now_ns), after_ns = guards_after_ns(trial);
    bool crowded = random_below(random, 2); // all within the time in which the host waits for the guard
    int64_t first_ns = trial->now_ns + (int64_t)random_below(random, (uint64_t)length_ns / 2);
    one->per_mille = (int)random_below(random, 41) - 20;
    one->start_ns = trial->now_ns + (int64_t)random_below(random, (uint64_t)CLOCK_SECOND * 20);
    for (size_t i = 0; i < TROUBLES; i++) {
        struct trouble *trouble = &one->troubles[i];
        trouble->type = (enum trouble_type)random_below(random, CUT_OFF + 1);
        trouble->begin_ns = crowded ? first_ns + (int64_t)random_below(random, (uint64_t)after_ns * 3)
                                    : trial->now_ns + (int64_t)random_below(random, (uint64_t)length_ns);
        trouble->end_ns = trouble->begin_ns + draw_length(trial, random);
        trouble->over = !cuts_has(trial, "guard %zu of w%zu %s", one->number, one->cluster, texts[trouble->type]);
    }
}

static void add_one(struct trial *trial, struct random *random, size_t cluster, size_t number) {
    static const struct sim_faults quick = {.latency_min_ns = CLOCK_MS, .latency_max_ns = 50 * CLOCK_MS};
    struct one *one = &trial->guards->list[cluster * GUARDS + number];
    *one = (struct one){.cluster = cluster, .number = number};
    one->net = sim_net_new(trial->seed * 41 + 3 + cluster * GUARDS + number, trial->now_ns);
    if (!one->net)
        abort();
    sim_net_set_faults(one->net, &quick);
    plan_one(trial, random, one);
}

struct guards *guards_new(struct trial *trial) {
    struct guards *guards = trial->guards = calloc(1, sizeof *guards);
    struct random random = {.state = trial->seed * 37 + 19};
    if (!guards || !trial->plan.guards)
        return guards;
    guards->used = true;
    if (guards_report(trial))
        add_namespace(trial, ENGINE_MANAGEMENT);
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        add_namespace(trial, c);
        for (size_t i = 0, count = 1 + random_below(&random, GUARDS); i < count; i++)
            add_one(trial, &random, c, i);
    }
    return guards;
}

static void stop(struct one *one) {
    guard_run_free(one->run);
    if (one->transport)
        one->transport->ops->free(one->transport);
    one->run = NULL;
    one->transport = NULL;
}

void guards_free(struct guards *guards) {
    if (!guards)
        return;
    for (size_t i = 0; i < TRIAL_CLUSTERS * GUARDS; i++) {
        stop(&guards->list[i]);
        if (guards->list[i].net)
            sim_net_free(guards->list[i].net);
    }
    free(guards);
}

static struct moment moment_of(const struct trial *trial, const struct one *one) {
    int64_t since_ns = trial->now_ns - one->clock_ns;
    return (struct moment){since_ns + since_ns / 1000 * one->per_mille, trial->now_ns + one->wall_ns};
}

// Not before that time of its clock.
static int64_t virtual_time(const struct one *one, int64_t mono_ns) {
    return mono_ns == CLOCK_NEVER ? CLOCK_NEVER : one->clock_ns + mono_ns / (1000 + one->per_mille) * 1000 + CLOCK_MS;
}

bool guards_report(const struct trial *trial) {
    return trial->plan.guards && trial->seed / 2 % 2;
}

// What the thread of `wharf guard` does, over a network without faults.
static void take_report(void *ctx, const char *body, size_t len) {
    const struct one *one = ctx;
    struct trial *trial = one->trial;
    struct world_cluster *management = trial->worlds[ENGINE_MANAGEMENT];
    char name[GUARD_REPORT_NAME_MAX], text[512];
    guard_report_name(TRIAL_ORIGIN, world_name(trial->worlds[one->cluster]), name);
    snprintf(text, sizeof text,
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"wharf-system\",\"labels\":{\"" GUARD_REPORT_LABEL "\":\"%s\"}}}",
             name, TRIAL_ORIGIN);
    AUTO_JSON map = NULL;
    error_free(json_parse(text, strlen(text), &map));
    trial->user_acts = true;
    if (!world_object(management, "", "configmaps", "wharf-system", name))
        world_apply(management, "", "configmaps", map, trial->now_ns);
    int status = world_patch(management, "", "configmaps", "wharf-system", name, NULL, body, trial->now_ns);
    trial->user_acts = false;
    trial_trace(trial, "guard %zu of w%zu reports %zu bytes: %d", one->number, one->cluster, len, status);
}

static void start(struct trial *trial, struct one *one) {
    static const int64_t ahead_ns[] = {0, 0, 20 * CLOCK_SECOND, -20 * CLOCK_SECOND, CLOCK_MINUTE * 60};
    one->transport = sim_transport_new(one->net, trial->worlds[one->cluster]);
    one->clock_ns = trial->now_ns - 1000 * CLOCK_SECOND * (int64_t)++one->processes;
    one->wall_ns = ahead_ns[(trial->seed + one->processes) % 5];
    one->due_ns = trial->now_ns;
    one->trial = trial;
    snprintf(one->identity, sizeof one->identity, "guard-%zu-%zu_%u", one->cluster, one->number, one->processes);
    struct guard_run_options options = {.guard = {.origin = TRIAL_ORIGIN,
                                                  .namespace_ = "wharf-system",
                                                  .identity = one->identity,
                                                  .action = trial->seed % 4 == 0 ? GUARD_DELETES : GUARD_SUSPENDS},
                                        .transport = one->transport,
                                        .kinds = trial->engine_kinds,
                                        .n_kinds = trial->n_kinds,
                                        .report = guards_report(trial) ? take_report : NULL,
                                        .report_ctx = one,
                                        .watch_list = trial->seed % 3 == 0,
                                        .seed = trial->seed + one->cluster + one->number * TRIAL_CLUSTERS};
    if (!one->transport || guard_run_new(&options, moment_of(trial, one), &one->run))
        abort();
    trial_trace(trial, "guard %zu of w%zu starts", one->number, one->cluster);
}

static void tick(struct trial *trial, struct one *one) {
    bool before = guard_run_is_fencing(one->run);
    one->due_ns = virtual_time(one, guard_run_tick(one->run, moment_of(trial, one)));
    if (one->due_ns <= trial->now_ns)
        one->due_ns = trial->now_ns + CLOCK_MS;
    if (before != guard_run_is_fencing(one->run))
        trial_trace(trial, "guard %zu of w%zu %s", one->number, one->cluster,
                    before ? "has heard of the host" : "stops mirrors");
}

static void begin_trouble(struct trial *trial, struct one *one, struct trouble *trouble) {
    static const char *const texts[] = {"ends", "is stopped", "is cut off"};
    trouble->begun = true;
    trial_trace(trial, "guard %zu of w%zu %s", one->number, one->cluster, texts[trouble->type]);
    one->has[trouble->type]++;
    if (trouble->type == ENDED)
        stop(one);
    if (trouble->type != CUT_OFF || one->has[CUT_OFF] > 1)
        return;
    sim_cluster_down(one->net, trial->worlds[one->cluster], trial->seed % 3 ? SIM_SILENT : SIM_REFUSES);
    one->blind_ns = CLOCK_NEVER;
}

static void end_trouble(struct trial *trial, struct one *one, struct trouble *trouble) {
    static const char *const texts[] = {"may start", "goes on", "is no longer cut off"};
    trouble->over = true;
    if (!trouble->begun)
        return;
    trial_trace(trial, "guard %zu of w%zu %s", one->number, one->cluster, texts[trouble->type]);
    one->has[trouble->type]--;
    one->due_ns = trial->now_ns;
    if (trouble->type != CUT_OFF || one->has[CUT_OFF] > 0)
        return;
    sim_cluster_up(one->net, trial->worlds[one->cluster]);
    one->blind_ns = trial->now_ns + TRANSPORT_NS;
}

static bool is_there(const struct one *one) {
    return one->run && !one->has[STOPPED];
}

static void act(struct trial *trial, struct one *one) {
    for (size_t i = 0; i < TROUBLES; i++) {
        struct trouble *trouble = &one->troubles[i];
        if (!trouble->begun && !trouble->over && trouble->begin_ns <= trial->now_ns)
            begin_trouble(trial, one, trouble);
        if (trouble->begun && !trouble->over && trouble->end_ns <= trial->now_ns)
            end_trouble(trial, one, trouble);
    }
    if (!one->run && one->start_ns <= trial->now_ns && !one->has[ENDED])
        start(trial, one);
    if (!is_there(one))
        return;
    bool due = sim_net_due(one->net) <= trial->now_ns;
    trial->user_acts = true;
    sim_net_advance(one->net, trial->now_ns);
    trial->user_acts = false;
    if (due || one->due_ns <= trial->now_ns)
        tick(trial, one);
}

static void note_gaps(struct trial *trial, size_t cluster) {
    struct guards *guards = trial->guards;
    struct gap *gaps = guards->gaps[cluster];
    bool acts = false;
    for (size_t i = 0; i < GUARDS; i++) {
        const struct one *one = &guards->list[cluster * GUARDS + i];
        acts |= is_there(one) && trial->now_ns >= one->blind_ns;
    }
    if (!acts && !guards->in_gap[cluster])
        gaps[guards->n_gaps[cluster]++ % GAPS] = (struct gap){.begin_ns = trial->now_ns};
    guards->in_gap[cluster] = !acts;
    if (guards->n_gaps[cluster] > 0)
        gaps[(guards->n_gaps[cluster] - 1) % GAPS].end_ns =
            acts ? gaps[(guards->n_gaps[cluster] - 1) % GAPS].end_ns : trial->now_ns;
}

static void look(struct trial *trial);

void guards_act(struct trial *trial) {
    struct guards *guards = trial->guards;
    if (!guards->used)
        return;
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        for (size_t i = 0; i < GUARDS; i++)
            if (guards->list[c * GUARDS + i].net)
                act(trial, &guards->list[c * GUARDS + i]);
        note_gaps(trial, c);
    }
    if (trial->now_ns - guards->looked_ns >= LOOK_NS)
        look(trial);
}

static int64_t due_of(const struct one *one) {
    int64_t due = is_there(one)                 ? clock_earlier(one->due_ns, sim_net_due(one->net))
                  : one->run || one->has[ENDED] ? CLOCK_NEVER
                                                : one->start_ns;
    for (size_t i = 0; i < TROUBLES; i++)
        if (!one->troubles[i].over)
            due = clock_earlier(due, one->troubles[i].begun ? one->troubles[i].end_ns : one->troubles[i].begin_ns);
    return due;
}

int64_t guards_due(const struct trial *trial) {
    int64_t due = CLOCK_NEVER;
    for (size_t i = 0; i < TRIAL_CLUSTERS * GUARDS; i++)
        if (trial->guards->list[i].net)
            due = clock_earlier(due, due_of(&trial->guards->list[i]));
    return due;
}

void guards_end(struct trial *trial) {
    for (size_t i = 0; i < TRIAL_CLUSTERS * GUARDS; i++) {
        struct one *one = &trial->guards->list[i];
        for (size_t t = 0; one->net && t < TROUBLES; t++)
            if (!one->troubles[t].over)
                end_trouble(trial, one, &one->troubles[t]);
    }
}

void guards_tell_links(struct trial *trial) {
    struct guards *guards = trial->guards;
    size_t host = trial->host->index;
    for (size_t c = 1; c < trial->plan.n_clusters && guards->used; c++) {
        struct cluster_io *io = trial->host->links[c];
        uint64_t renews = engine_renews(trial->host->turn.engine, c);
        if (!io || (guards->hosts[host].told[c] == io && guards->hosts[host].renews[c] == renews))
            continue;
        guards->hosts[host].told[c] = io;
        guards->hosts[host].renews[c] = renews;
        cluster_io_fence(io, renews);
        trial->host->dirty[c] = true;
    }
}

// It runs, by what its API server has; pods of one that is being deleted are ending.
static bool runs(const struct trial *trial, size_t kind, const struct json *object) {
    return object && !object_is_being_deleted(object) &&
           !phase_suspend_asked(&trial->engine_kinds[kind]->abi, object) &&
           sim_phase(trial->kinds[kind], object, NULL) == WHARF_ACTIVE;
}

// No guard could act there for more than fenceAfter in all, lately: docs/fencing.md promises nothing then.
static bool had_no_guard(const struct trial *trial, size_t cluster) {
    const struct guards *guards = trial->guards;
    int64_t after_ns = guards_after_ns(trial), since_ns = trial->now_ns - 5 * after_ns, sum_ns = 0;
    for (size_t i = 0; i < GAPS && i < guards->n_gaps[cluster]; i++) {
        const struct gap *gap = &guards->gaps[cluster][i];
        sum_ns += clock_later(gap->end_ns - clock_later(gap->begin_ns, since_ns), 0);
    }
    return sum_ns > after_ns;
}

// The guards there cannot act, or what is there is not known as a mirror.
static bool is_excused(struct trial *trial, size_t cluster, const struct json *object) {
    return had_no_guard(trial, cluster) || pests_rule(trial, cluster) || forgery_is(object) ||
           !rules_mirror(trial, rules_text(object, "metadata", NULL, "uid"));
}

// Another worker where the workload runs; 0: none.
static size_t runs_elsewhere(struct trial *trial, size_t cluster, size_t kind, const struct json *object) {
    const char *space = rules_text(object, "metadata", NULL, "namespace");
    const char *name = rules_text(object, "metadata", NULL, "name");
    const char *uid = rules_text(object, "metadata", "labels", MARK_UID);
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *other = c == cluster ? NULL : trial_object(trial, c, kind, space, name);
        if (runs(trial, kind, other) && strcmp(rules_text(other, "metadata", "labels", MARK_UID), uid) == 0 &&
            !is_excused(trial, c, other))
            return c;
    }
    return 0;
}

static struct tracked_workload *workload_of(struct trial *trial, const struct json *mirror) {
    struct tracked_workload *job = rules_workload(trial, rules_text(mirror, "metadata", "labels", MARK_UID));
    return job && !job->tampered ? job : NULL;
}

static void fail_twice(struct trial *trial, size_t kind, const struct json *object, size_t cluster, size_t other) {
    trial_fail(trial, "fencing: %s %s runs in %s and in %s", trial->engine_kinds[kind]->abi.plural,
               rules_text(object, "metadata", NULL, "name"), world_name(trial->worlds[cluster]),
               world_name(trial->worlds[other]));
}

// What arrives late, or is resumed by a third party, is stopped soon: see look.
void guards_written(struct trial *trial, size_t cluster, size_t kind, const struct world_write *write) {
    if (!trial->guards->used || trial->user_acts || !runs(trial, kind, write->now) || runs(trial, kind, write->old) ||
        !workload_of(trial, write->now) || is_excused(trial, cluster, write->now))
        return;
    const struct tracked_mirror *mirror = rules_mirror(trial, rules_text(write->now, "metadata", NULL, "uid"));
    if (mirror->late_ns && trial->now_ns - mirror->late_ns < STOP_NS)
        return;
    size_t other = runs_elsewhere(trial, cluster, kind, write->now);
    if (other)
        fail_twice(trial, kind, write->now, cluster, other);
}

static void look_at(struct trial *trial, const struct tracked_mirror *mirror) {
    struct tracked_workload *job = rules_workload(trial, mirror->workload);
    if (!job || job->tampered)
        return;
    const struct json *object = trial_object(trial, mirror->cluster, mirror->kind, job->namespace_, job->name);
    if (!runs(trial, mirror->kind, object) || strcmp(rules_text(object, "metadata", NULL, "uid"), mirror->uid) != 0 ||
        is_excused(trial, mirror->cluster, object))
        return;
    size_t other = runs_elsewhere(trial, mirror->cluster, mirror->kind, object);
    job->twice = job->twice || other;
    if (other && job->twice_ns && trial->now_ns - job->twice_ns > STOP_NS)
        fail_twice(trial, mirror->kind, object, mirror->cluster, other);
}

static void look(struct trial *trial) {
    struct rules *rules = trial->rules;
    trial->guards->looked_ns = trial->now_ns;
    for (size_t i = 0; i < rules->n_workloads; i++)
        rules->workloads[i].twice = false;
    for (size_t i = 0; i < rules->n_mirrors; i++)
        look_at(trial, &rules->mirrors[i]);
    for (size_t i = 0; i < rules->n_workloads; i++) {
        struct tracked_workload *job = &rules->workloads[i];
        job->twice_ns = !job->twice ? 0 : job->twice_ns ? job->twice_ns : trial->now_ns;
    }
}
