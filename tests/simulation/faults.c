// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/faults.h"
#include "core/json/pointer.h"
#include "tests/simulation/pests.h"
#include "tests/simulation/queues.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPISODES 12
#define EPISODES_BACK 2
#define EPISODES_TAKEOVER 3

enum trouble {
    TROUBLE_NOISE,       // some of every fault, everywhere
    TROUBLE_WORSE,       // more of it, in one cluster
    TROUBLE_REFUSES,     // a cluster is down
    TROUBLE_SILENT,      // a cluster drops all traffic
    TROUBLE_LOST,        // a worker is unreachable for longer than workerLostTimeout
    TROUBLE_ERRORS,      // a cluster answers errors only
    TROUBLE_HANGS,       // a cluster accepts requests and does not respond
    TROUBLE_SLOW,        // requests and answers take long
    TROUBLE_DENIED,      // permissions are revoked
    TROUBLE_QUOTA,       // creates are rejected by admission
    TROUBLE_CUT,         // streams break, once
    TROUBLE_COMPACTION,  // the watch history is compacted, and streams break
    TROUBLE_END_WATCHES, // servers end their streams
    TROUBLE_RESTART,     // of the host
    TROUBLE_ASLEEP,      // the engine's thread does not run
    TROUBLES,
    // In some trials only (trial_plan.back).
    TROUBLE_RESTORED = TROUBLES, // at its end etcd is restored to its beginning
    TROUBLE_WIPED                // etcd is emptied
};

struct episode {
    int64_t begin_ns, end_ns;
    enum trouble trouble;
    size_t cluster;
    bool begun, over;
    struct world_copy *copy; // RESTORED: of its beginning
};

struct faults {
    struct episode episodes[EPISODES + EPISODES_BACK + EPISODES_TAKEOVER];
    size_t n;
    bool full[TRIAL_CLUSTERS]; // quota exceeded
    bool inject;
    bool wiped;                                 // a cluster was, and the host keeps refusing it
    bool other[TRIAL_CLUSTERS];                 // it was wiped while this process of the host ran, which refuses it
    bool unlisted[TRIAL_CLUSTERS][TRIAL_KINDS]; // since it was restored
    bool unnoticed[TRIAL_CLUSTERS];             // it was restored, which the host has not reported yet
};

static const struct sim_faults calm = {.latency_min_ns = 1 * CLOCK_MS, .latency_max_ns = 2 * CLOCK_MS};

// Its requests and answers take long, and nothing else is wrong with it.
static const struct sim_faults slow_calm = {.latency_min_ns = 2400 * CLOCK_MS, .latency_max_ns = 2600 * CLOCK_MS};

bool faults_is_slow(const struct trial *trial, size_t cluster) {
    return trial->plan.slow && trial->plan.slow_cluster == cluster;
}

static void be_calm(struct trial *trial, size_t cluster) {
    sim_cluster_set_faults(trial->net, trial->worlds[cluster], faults_is_slow(trial, cluster) ? &slow_calm : NULL);
}

static const struct sim_faults noise = {
    .latency_min_ns = 1 * CLOCK_MS,
    .latency_max_ns = 200 * CLOCK_MS,
    .refused = 10,
    .lost_request = 10,
    .lost_answer = 30,
    .late_request = 20,
    .late_max_ns = 60 * CLOCK_SECOND,
    .slow = 20,
    .slow_max_ns = 5 * CLOCK_SECOND,
    .too_many = 20,
    .server_error = 20,
    .server_timeout = 15,
    .unavailable = 15,
    .unauthorized = 3,
    .gone = 20,
    .garbage = 5,
    .truncated = 5,
    .cut_stream = 200,
    .silent_stream = 50,
    .stream_max_ns = 30 * CLOCK_SECOND,
    .split_stream = true,
};

static struct sim_faults much(const struct sim_faults *from) {
    struct sim_faults f = *from;
    f.lost_answer = f.server_timeout = f.late_request = 100;
    f.too_many = f.server_error = 60;
    f.cut_stream = 500;
    return f;
}

static int admit(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    struct side *side = ctx;
    const struct faults *faults = side->trial->faults;
    if (side->trial->plan.stripping)
        pointer_remove(object, "/metadata/labels/example.com~1l");
    if (verb != WORLD_CREATE || strcmp(plural, "namespaces") == 0 || side->trial->user_acts)
        return 0;
    if (faults->full[side->cluster]) {
        snprintf(message, 256, "exceeded quota: all, requested: count/%s=1, used: 9, limited: 9", plural);
        return 403;
    }
    if (strcmp(plural, "jobs") == 0)
        queues_admit(side->trial, side->cluster, object);
    struct json *labels = json_path(object, "metadata", "labels", NULL);
    if (faults->inject && labels)
        json_set(labels, "example.com/injected", json_new_string("yes"));
    pests_admit(side->trial, side->cluster, object);
    return 0;
}

static int64_t length_of(struct trial *trial, enum trouble trouble) {
    int64_t lost_ns = trial->plan.lost_timeout_ns;
    if (trouble == TROUBLE_LOST && trial_chance(trial, 40)) // back just when the timeout expires
        return lost_ns + trial_between(trial, -CLOCK_SECOND, CLOCK_SECOND);
    if (trouble == TROUBLE_LOST)
        return lost_ns + trial_between(trial, CLOCK_SECOND, 60 * CLOCK_SECOND);
    if (trouble == TROUBLE_NOISE)
        return trial_between(trial, 20 * CLOCK_SECOND, 200 * CLOCK_SECOND);
    if (trouble == TROUBLE_ASLEEP)
        return trial_between(trial, CLOCK_MS, 20 * CLOCK_SECOND);
    return trial_between(trial, 100 * CLOCK_MS, lost_ns);
}

static void plan_back(struct trial *trial, struct faults *faults) {
    size_t first = trial->plan.back == TRIAL_BACK_ALL ? 0 : 1, count = 1 + trial_below(trial, EPISODES_BACK);
    for (size_t i = 0; i < count; i++) {
        struct episode *e = &faults->episodes[faults->n++];
        e->trouble = trial_chance(trial, 70) ? TROUBLE_RESTORED : TROUBLE_WIPED;
        e->cluster = first + trial_below(trial, trial->plan.n_clusters - first);
        e->begin_ns = trial_between(trial, trial->now_ns, trial->plan.trouble_end_ns - CLOCK_SECOND);
        e->end_ns = trial_between(trial, e->begin_ns + 1, trial->plan.trouble_end_ns);
    }
}

static void plan_one(struct trial *trial, struct faults *faults, enum trouble trouble, size_t cluster, int64_t begin_ns,
                     int64_t end_ns) {
    end_ns = end_ns < trial->plan.trouble_end_ns ? end_ns : trial->plan.trouble_end_ns;
    faults->episodes[faults->n++] =
        (struct episode){.begin_ns = begin_ns, .end_ns = end_ns, .trouble = trouble, .cluster = cluster};
}

static void plan_takeover(struct trial *trial, struct faults *faults) {
    size_t cluster = 1 + trial_below(trial, trial->plan.n_clusters - 1);
    int64_t begin_ns = users_some_time(trial) + trial_between(trial, 0, 5 * CLOCK_SECOND);
    int64_t given_up_ns = begin_ns + trial->plan.lost_timeout_ns;
    int64_t back_ns = given_up_ns + trial_between(trial, -CLOCK_SECOND / 5, 2 * CLOCK_SECOND);
    plan_one(trial, faults, TROUBLE_LOST, cluster, begin_ns, back_ns);
    plan_one(trial, faults, TROUBLE_SLOW, cluster, back_ns, back_ns + 30 * CLOCK_SECOND);
    plan_one(trial, faults, TROUBLE_RESTART, cluster, given_up_ns + trial_between(trial, 0, CLOCK_SECOND / 2),
             given_up_ns + 30 * CLOCK_SECOND);
}

struct faults *faults_new(struct trial *trial) {
    struct faults *faults = calloc(1, sizeof *faults);
    if (!faults)
        return NULL;
    faults->inject = trial_chance(trial, 30);
    sim_net_set_faults(trial->net, &calm);
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        be_calm(trial, c);
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        world_set_admission(trial->worlds[c], admit, &trial->sides[c]);
    faults->n = trial->plan.faults ? 1 + trial_below(trial, EPISODES) : 0;
    for (size_t i = 0; i < faults->n; i++) {
        struct episode *e = &faults->episodes[i];
        e->trouble = (enum trouble)trial_below(trial, TROUBLES);
        e->cluster = trial_below(trial, trial->plan.n_clusters);
        if (e->trouble == TROUBLE_LOST && e->cluster == 0)
            e->cluster = 1;
        e->begin_ns = trial_between(trial, trial->now_ns, trial->plan.trouble_end_ns - CLOCK_SECOND);
        if (trial_chance(trial, 40))
            e->begin_ns = users_some_time(trial) + trial_between(trial, 0, 12 * CLOCK_MS);
        e->end_ns = e->begin_ns + length_of(trial, e->trouble);
        if (e->end_ns > trial->plan.trouble_end_ns)
            e->end_ns = trial->plan.trouble_end_ns;
    }
    if (trial->plan.back != TRIAL_BACK_NONE)
        plan_back(trial, faults);
    if (trial->plan.takeover)
        plan_takeover(trial, faults);
    return faults;
}

static void free_copies(struct faults *faults) {
    for (size_t i = 0; i < sizeof faults->episodes / sizeof *faults->episodes; i++) {
        world_copy_free(faults->episodes[i].copy);
        faults->episodes[i].copy = NULL;
    }
}

void faults_free(struct faults *faults) {
    if (faults)
        free_copies(faults);
    free(faults);
}

int64_t faults_due(const struct trial *trial) {
    const struct faults *faults = trial->faults;
    int64_t due = CLOCK_NEVER;
    for (size_t i = 0; i < faults->n; i++) {
        const struct episode *e = &faults->episodes[i];
        int64_t at = e->over ? CLOCK_NEVER : e->begun ? e->end_ns : e->begin_ns;
        due = at < due ? at : due;
    }
    return due;
}

static void restart(struct trial *trial) {
    instance_stop(trial);
    rules_restarted(trial);
    memset(trial->faults->other, 0, sizeof trial->faults->other);
    instance_start(trial);
}

static void network(struct trial *trial, const struct episode *e) {
    struct world_cluster *cluster = trial->worlds[e->cluster];
    struct sim_faults faults = e->trouble == TROUBLE_WORSE ? much(&noise) : calm;
    if (e->trouble == TROUBLE_ERRORS)
        faults.server_error = 1000;
    else if (e->trouble == TROUBLE_HANGS)
        faults.lost_request = 1000;
    else if (e->trouble == TROUBLE_SLOW) {
        faults.slow = faults.late_request = 400;
        faults.slow_max_ns = faults.late_max_ns = 40 * CLOCK_SECOND;
    }
    sim_cluster_set_faults(trial->net, cluster, &faults);
    if (e->trouble != TROUBLE_SLOW && e->trouble != TROUBLE_WORSE)
        sim_cut_streams(trial->net, cluster);
}

static void deny(struct trial *trial, size_t cluster) {
    static const char *const verbs[] = {"create", "patch", "delete", "list", "watch", "*"};
    static const char *const resources[] = {"jobs.batch", "jobs.batch/status", "namespaces"};
    const char *verb = verbs[trial_below(trial, 6)], *resource = resources[trial_below(trial, 3)];
    trial_trace(trial, "trouble: %s of %s is denied", verb, resource);
    world_deny(trial->worlds[cluster], verb, resource);
}

static void went_back(struct trial *trial, size_t cluster) {
    trial_trace(trial, "trouble: %s goes back from version %llu", world_name(trial->worlds[cluster]),
                (unsigned long long)world_version(trial->worlds[cluster]));
    trial->faults->unnoticed[cluster] = true;
    memset(trial->faults->unlisted[cluster], true, sizeof trial->faults->unlisted[cluster]);
    rules_went_back(trial, cluster);
}

static void begin(struct trial *trial, struct episode *e) {
    struct world_cluster *cluster = trial->worlds[e->cluster];
    switch (e->trouble) {
    case TROUBLE_NOISE:
        sim_net_set_faults(trial->net, &noise);
        break;
    case TROUBLE_REFUSES:
    case TROUBLE_SILENT:
    case TROUBLE_LOST:
        sim_cluster_down(trial->net, cluster, e->trouble == TROUBLE_REFUSES ? SIM_REFUSES : SIM_SILENT);
        break;
    case TROUBLE_DENIED:
        deny(trial, e->cluster);
        break;
    case TROUBLE_QUOTA:
        trial->faults->full[e->cluster] = true;
        break;
    case TROUBLE_COMPACTION:
        world_compact(cluster);
        sim_cut_streams(trial->net, cluster);
        break;
    case TROUBLE_CUT:
        sim_cut_streams(trial->net, cluster);
        break;
    case TROUBLE_END_WATCHES:
        world_end_watches(cluster);
        break;
    case TROUBLE_RESTART:
        restart(trial);
        break;
    case TROUBLE_ASLEEP:
        trial->host.asleep_until_ns = e->end_ns;
        break;
    case TROUBLE_RESTORED:
        e->copy = world_copy(cluster);
        break;
    case TROUBLE_WIPED:
        went_back(trial, e->cluster);
        world_wipe(cluster, trial->now_ns);
        trial->faults->wiped = trial->faults->other[e->cluster] = true;
        trial->user_acts = true;
        trial_add_namespace(trial, e->cluster); // it is set up again
        trial->user_acts = false;
        sim_cut_streams(trial->net, cluster);
        break;
    default:
        network(trial, e);
        break;
    }
}

static void end(struct trial *trial, const struct episode *e) {
    struct world_cluster *cluster = trial->worlds[e->cluster];
    switch (e->trouble) {
    case TROUBLE_NOISE:
        sim_net_set_faults(trial->net, &calm);
        break;
    case TROUBLE_REFUSES:
    case TROUBLE_SILENT:
    case TROUBLE_LOST:
        if (trial_chance(trial, 50)) // and events from before are lost
            world_compact(cluster);
        sim_cluster_up(trial->net, cluster);
        break;
    case TROUBLE_DENIED:
        world_allow_all(cluster);
        break;
    case TROUBLE_QUOTA:
        trial->faults->full[e->cluster] = false;
        break;
    case TROUBLE_RESTORED:
        went_back(trial, e->cluster);
        world_restore(cluster, e->copy, trial->now_ns);
        sim_cut_streams(trial->net, cluster);
        break;
    case TROUBLE_WORSE:
    case TROUBLE_ERRORS:
    case TROUBLE_HANGS:
    case TROUBLE_SLOW:
        be_calm(trial, e->cluster);
        break;
    default:
        break;
    }
}

void faults_act(struct trial *trial) {
    static const char *const names[] = {"noise",       "worse noise", "refuses", "silent",   "lost", "errors",
                                        "hangs",       "slow",        "denied",  "quota",    "cut",  "compaction",
                                        "watches end", "restart",     "asleep",  "restored", "wiped"};
    struct faults *faults = trial->faults;
    for (size_t i = 0; i < faults->n; i++) {
        struct episode *e = &faults->episodes[i];
        if (!e->begun && e->begin_ns <= trial->now_ns) {
            e->begun = true;
            trial_trace(trial, "trouble: %s, %s, for %.3f s", names[e->trouble], world_name(trial->worlds[e->cluster]),
                        (double)(e->end_ns - e->begin_ns) / 1e9);
            begin(trial, e);
        }
        if (e->begun && !e->over && e->end_ns <= trial->now_ns) {
            e->over = true;
            trial_trace(trial, "trouble: %s, %s, is over", names[e->trouble], world_name(trial->worlds[e->cluster]));
            end(trial, e);
        }
    }
}

void faults_noticed(struct trial *trial, size_t cluster) {
    trial->faults->unnoticed[cluster] = false;
}

void faults_listed(struct trial *trial, size_t cluster, size_t kind) {
    trial->faults->unlisted[cluster][kind] = false;
}

bool faults_is_unnoticed(const struct trial *trial, size_t cluster, size_t kind) {
    return trial->faults->unnoticed[cluster] || trial->faults->unlisted[cluster][kind];
}

bool faults_is_other(const struct trial *trial, size_t cluster) {
    return trial->faults->other[cluster];
}

void faults_end(struct trial *trial) {
    trial_trace(trial, "trouble: all is over");
    trial->faults->n = 0;
    free_copies(trial->faults);
    sim_net_set_faults(trial->net, &calm);
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        be_calm(trial, c);
        sim_cluster_up(trial->net, trial->worlds[c]);
        world_allow_all(trial->worlds[c]);
        trial->faults->full[c] = false;
    }
    trial->host.asleep_until_ns = 0;
    // The operator follows the log. A restored cluster that has grown past its old versions when the host reconnects
    // cannot be distinguished from one that was not restored (docs/reflector.md).
    bool needed = trial->faults->wiped;
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        needed |= trial->faults->unnoticed[c];
    if (needed)
        restart(trial);
}
