// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/guards.h"
#include "core/adapter/phase.h"
#include "core/base/error.h"
#include "core/engine/fence.h"
#include "core/host/guard_run.h"
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

struct outage {
    int64_t begin_ns, end_ns;
    bool begun, over;
};

struct one { // in one worker
    struct guard_run *run;
    struct transport *transport;
    unsigned processes;
    int64_t clock_ns; // when its clock was zero
    int64_t due_ns;   // virtual time
    int per_mille;    // how much faster its clock is
    int64_t start_ns; // of the process that is not there; CLOCK_NEVER: it is
    int64_t stop_ns;  // of a process; CLOCK_NEVER: none
    struct outage outage;
    int64_t blind_ns; // until then it may not have noticed that its API server can be reached again
};

struct guards {
    struct sim_net *net;
    struct one workers[TRIAL_CLUSTERS];
    int64_t looked_ns;
    // Of the present process of each replica of the host.
    struct {
        const struct link *told[TRIAL_CLUSTERS];
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
    if (trial->plan.guards && cluster != ENGINE_MANAGEMENT)
        add_namespace(trial, cluster);
}

// At most one restart while the host waits for the guard to act, and one outage.
static void plan_one(struct trial *trial, struct random *random, size_t cluster) {
    struct one *one = &trial->guards->workers[cluster];
    int64_t length_ns = trial->plan.trouble_end_ns - trial->now_ns;
    one->per_mille = (int)random_below(random, 41) - 20;
    one->start_ns = trial->now_ns + (int64_t)random_below(random, (uint64_t)CLOCK_SECOND * 20);
    one->stop_ns = trial->now_ns + (int64_t)random_below(random, (uint64_t)length_ns * 2);
    if (!cuts_has(trial, "the guard of w%zu is restarted", cluster))
        one->stop_ns = CLOCK_NEVER;
    one->outage.begin_ns = trial->now_ns + (int64_t)random_below(random, (uint64_t)length_ns * 3);
    one->outage.end_ns = one->outage.begin_ns + (int64_t)random_below(random, (uint64_t)CLOCK_MINUTE);
    one->outage.over = !cuts_has(trial, "the guard of w%zu is cut off", cluster);
}

struct guards *guards_new(struct trial *trial) {
    struct guards *guards = trial->guards = calloc(1, sizeof *guards);
    struct random random = {.state = trial->seed * 37 + 19};
    static const struct sim_faults quick = {.latency_min_ns = CLOCK_MS, .latency_max_ns = 50 * CLOCK_MS};
    if (!guards || !trial->plan.guards)
        return guards;
    guards->net = sim_net_new(trial->seed * 41 + 3, trial->now_ns);
    if (!guards->net)
        abort();
    sim_net_set_faults(guards->net, &quick);
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        add_namespace(trial, c);
        plan_one(trial, &random, c);
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
    for (size_t c = 0; c < TRIAL_CLUSTERS; c++)
        stop(&guards->workers[c]);
    if (guards->net)
        sim_net_free(guards->net);
    free(guards);
}

static struct moment moment_of(const struct trial *trial, const struct one *one) {
    int64_t since_ns = trial->now_ns - one->clock_ns;
    return (struct moment){since_ns + since_ns / 1000 * one->per_mille, trial->now_ns};
}

// Not before that time of its clock.
static int64_t virtual_time(const struct one *one, int64_t mono_ns) {
    return mono_ns == CLOCK_NEVER ? CLOCK_NEVER : one->clock_ns + mono_ns / (1000 + one->per_mille) * 1000 + CLOCK_MS;
}

static void start(struct trial *trial, size_t cluster) {
    struct one *one = &trial->guards->workers[cluster];
    static char identities[TRIAL_CLUSTERS][32];
    one->transport = sim_transport_new(trial->guards->net, trial->worlds[cluster]);
    one->clock_ns = trial->now_ns - 1000 * CLOCK_SECOND * (int64_t)++one->processes;
    one->start_ns = CLOCK_NEVER;
    snprintf(identities[cluster], sizeof identities[cluster], "guard-%zu_%u", cluster, one->processes);
    struct guard_run_options options = {.guard = {.origin = TRIAL_ORIGIN,
                                                  .namespace_ = "wharf-system",
                                                  .identity = identities[cluster],
                                                  .action = trial->seed % 4 == 0 ? GUARD_DELETES : GUARD_SUSPENDS},
                                        .transport = one->transport,
                                        .kinds = trial->engine_kinds,
                                        .n_kinds = trial->n_kinds,
                                        .watch_list = trial->seed % 3 == 0,
                                        .seed = trial->seed + cluster};
    if (!one->transport || guard_run_new(&options, moment_of(trial, one), &one->run))
        abort();
    trial_trace(trial, "guard: that of w%zu starts", cluster);
}

static void tick(struct trial *trial, size_t cluster) {
    struct one *one = &trial->guards->workers[cluster];
    bool before = guard_run_is_fencing(one->run);
    one->due_ns = virtual_time(one, guard_run_tick(one->run, moment_of(trial, one)));
    if (one->due_ns <= trial->now_ns)
        one->due_ns = trial->now_ns + CLOCK_MS;
    if (before != guard_run_is_fencing(one->run))
        trial_trace(trial, "guard: that of w%zu %s", cluster, before ? "has heard of the host" : "stops mirrors");
}

static void have_outage(struct trial *trial, size_t cluster) {
    struct one *one = &trial->guards->workers[cluster];
    struct outage *outage = &one->outage;
    if (!outage->begun && !outage->over && outage->begin_ns <= trial->now_ns) {
        outage->begun = true;
        trial_trace(trial, "guard: that of w%zu is cut off", cluster);
        sim_cluster_down(trial->guards->net, trial->worlds[cluster], trial->seed % 3 ? SIM_SILENT : SIM_REFUSES);
        one->blind_ns = CLOCK_NEVER;
    }
    if (outage->begun && !outage->over && outage->end_ns <= trial->now_ns) {
        outage->over = true;
        trial_trace(trial, "guard: that of w%zu is no longer cut off", cluster);
        sim_cluster_up(trial->guards->net, trial->worlds[cluster]);
        one->blind_ns = trial->now_ns + TRANSPORT_NS;
    }
}

static void act(struct trial *trial, size_t cluster) {
    struct one *one = &trial->guards->workers[cluster];
    have_outage(trial, cluster);
    if (one->run && one->stop_ns <= trial->now_ns) {
        trial_trace(trial, "guard: that of w%zu ends", cluster);
        stop(one);
        one->stop_ns = CLOCK_NEVER;
        one->start_ns = trial->now_ns + trial_between(trial, 0, 2 * CLOCK_SECOND);
    }
    if (!one->run && one->start_ns <= trial->now_ns)
        start(trial, cluster);
}

static void look(struct trial *trial);

void guards_act(struct trial *trial) {
    struct guards *guards = trial->guards;
    if (!guards->net)
        return;
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        act(trial, c);
    bool due = sim_net_due(guards->net) <= trial->now_ns;
    trial->user_acts = true;
    sim_net_advance(guards->net, trial->now_ns);
    trial->user_acts = false;
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        if (guards->workers[c].run && (due || guards->workers[c].due_ns <= trial->now_ns))
            tick(trial, c);
    if (trial->now_ns - guards->looked_ns >= LOOK_NS)
        look(trial);
}

int64_t guards_due(const struct trial *trial) {
    const struct guards *guards = trial->guards;
    int64_t due = guards->net ? sim_net_due(guards->net) : CLOCK_NEVER;
    for (size_t c = 1; c < trial->plan.n_clusters && guards->net; c++) {
        const struct one *one = &guards->workers[c];
        const struct outage *outage = &one->outage;
        due = clock_earlier(due, one->run ? clock_earlier(one->due_ns, one->stop_ns) : one->start_ns);
        if (!outage->over)
            due = clock_earlier(due, outage->begun ? outage->end_ns : outage->begin_ns);
    }
    return due;
}

void guards_end(struct trial *trial) {
    struct guards *guards = trial->guards;
    for (size_t c = 1; c < trial->plan.n_clusters && guards->net; c++) {
        struct one *one = &guards->workers[c];
        one->stop_ns = CLOCK_NEVER;
        one->start_ns = one->run ? CLOCK_NEVER : trial->now_ns;
        if (one->outage.begun && !one->outage.over)
            sim_cluster_up(guards->net, trial->worlds[c]);
        one->outage.over = true;
    }
}

void guards_tell_links(struct trial *trial) {
    struct guards *guards = trial->guards;
    size_t host = trial->host->index;
    for (size_t c = 1; c < trial->plan.n_clusters && guards->net; c++) {
        struct link *link = trial->host->links[c];
        uint64_t renews = engine_renews(trial->host->turn.engine, c);
        if (!link || (guards->hosts[host].told[c] == link && guards->hosts[host].renews[c] == renews))
            continue;
        guards->hosts[host].told[c] = link;
        guards->hosts[host].renews[c] = renews;
        link_fence(link, renews);
        trial->host->dirty[c] = true;
    }
}

// It runs, by what its API server has; pods of one that is being deleted are ending.
static bool runs(const struct trial *trial, size_t kind, const struct json *object) {
    return object && !object_is_being_deleted(object) &&
           !phase_suspend_asked(&trial->engine_kinds[kind]->abi, object) &&
           sim_phase(trial->kinds[kind], object, NULL) == WHARF_ACTIVE;
}

// The guard there cannot act, or what is there is not known as a mirror.
static bool is_excused(struct trial *trial, size_t cluster, const struct json *object) {
    const struct one *one = &trial->guards->workers[cluster];
    return trial->now_ns < one->blind_ns || pests_rule(trial, cluster) || forgery_is(object) ||
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
    if (!trial->guards->net || trial->user_acts || !runs(trial, kind, write->now) || runs(trial, kind, write->old) ||
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
