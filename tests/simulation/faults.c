// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/faults.h"
#include "core/json/pointer.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/fields.h"
#include "tests/simulation/guards.h"
#include "tests/simulation/needs.h"
#include "tests/simulation/pests.h"
#include "tests/simulation/progress.h"
#include "tests/simulation/queues.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/spaces.h"
#include "tests/simulation/steady.h"
#include "tests/simulation/tenants.h"
#include "tests/simulation/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPISODES 12
#define EPISODES_BACK 2
#define EPISODES_TAKEOVER 3
#define SILENT_NS (200 * CLOCK_SECOND)

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

static const char *const trouble_names[] = {"noise",       "worse noise", "refuses", "silent",   "lost", "errors",
                                            "hangs",       "slow",        "denied",  "quota",    "cut",  "compaction",
                                            "watches end", "restart",     "asleep",  "restored", "wiped"};

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
    bool wiped;                                     // a cluster was, and the host keeps refusing it
    struct backs {                                  // of each replica of the host
        bool other[TRIAL_CLUSTERS];                 // it was wiped while this process ran, which refuses it
        bool unlisted[TRIAL_CLUSTERS][TRIAL_KINDS]; // since it was restored
        bool unnoticed[TRIAL_CLUSTERS];             // it was restored, which was not reported yet
    } backs[TRIAL_HOSTS];
    int64_t over_ns[TRIAL_CLUSTERS]; // when the last trouble with it was over; 0: there was none
};

static struct backs *backs_of(const struct trial *trial) {
    return &trial->faults->backs[trial->host->index];
}

static const struct sim_faults calm = {.latency_min_ns = 1 * CLOCK_MS, .latency_max_ns = 2 * CLOCK_MS};

// Its requests and answers take long, and nothing else is wrong with it.
static const struct sim_faults slow_calm = {.latency_min_ns = 2400 * CLOCK_MS, .latency_max_ns = 2600 * CLOCK_MS};

bool faults_is_slow(const struct trial *trial, size_t cluster) {
    return trial->plan.slow && trial->plan.slow_cluster == cluster;
}

static void be_calm(struct trial *trial, size_t cluster) {
    sim_cluster_set_faults(trial->net, trial->worlds[cluster], faults_is_slow(trial, cluster) ? &slow_calm : NULL);
}

void faults_set_costs(struct trial *trial) {
    static const int64_t slowest_ns[] = {10 * CLOCK_MS, 100 * CLOCK_MS, CLOCK_SECOND};
    struct random random = {.state = trial->seed * 17 + 3};
    size_t slow = random_below(&random, 3 * trial->plan.n_clusters); // in most trials none
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        int64_t most_ns = slowest_ns[random_below(&random, trial->plan.guards ? 2 : 3)];
        int64_t write_ns = CLOCK_MS + (int64_t)random_below(&random, (uint64_t)most_ns);
        struct service_cost cost = {.read_ns = write_ns / 2,
                                    .write_ns = write_ns,
                                    .concurrency = 1 + (unsigned)random_below(&random, 8),
                                    .queue = random_below(&random, 4) ? 0 : 20 + (unsigned)random_below(&random, 100)};
        if (c == slow && !faults_is_slow(trial, c) &&
            !trial->plan.guards) // both together exceed the deadline of a probe
            cost.read_ns = cost.write_ns = 5 * CLOCK_SECOND;
        sim_cluster_set_cost(trial->net, trial->worlds[c], &cost);
        trial_trace(trial, "%s takes %.3f s for a write, %u at a time", world_name(trial->worlds[c]),
                    (double)cost.write_ns / 1e9, cost.concurrency);
    }
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
    int refused = side->trial->user_acts ? 0 : steady_admit(side->trial, side->cluster, verb, object);
    if (refused) {
        snprintf(message, 256, "exceeded quota: all, requested: count/%s=1, used: 9, limited: 9", plural);
        return refused;
    }
    if (verb == WORLD_UPDATE_STATUS && strcmp(plural, "jobs") == 0 && !side->trial->user_acts)
        return progress_admit(side->trial, side->cluster, object, message);
    if (verb != WORLD_CREATE || strcmp(plural, "namespaces") == 0 || side->trial->user_acts)
        return 0;
    if (faults->full[side->cluster]) {
        snprintf(message, 256, "exceeded quota: all, requested: count/%s=1, used: 9, limited: 9", plural);
        return 403;
    }
    if (needs_resource("", plural) != NEED_RESOURCES)
        return 0;
    if (strcmp(plural, "jobs") == 0)
        fields_admit(side->trial, side->cluster, object);
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
        if (trial->plan.capacity && !trial->plan.rough)
            e->trouble = TROUBLE_RESTART; // with all else what is left is not known at once
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
    for (size_t i = 0; i < faults->n; i++) {
        struct episode *e = &faults->episodes[i];
        double begin_s = (double)(e->begin_ns - TRIAL_START_NS) / 1e9;
        double length_s = (double)(e->end_ns - e->begin_ns) / 1e9;
        e->over = e->begun = !cuts_has(trial, "%.3f trouble: %s, %s, for %.3f s", begin_s, trouble_names[e->trouble],
                                       world_name(trial->worlds[e->cluster]), length_s);
    }
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

static void restart(struct trial *trial, size_t host) {
    instance_enter(&trial->hosts[host]);
    if (!trial->host->alive)
        return;
    instance_stop(trial);
    rules_restarted(trial);
    memset(backs_of(trial)->other, 0, sizeof backs_of(trial)->other);
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
    if (trial->plan.needs && trial_chance(trial, 60)) {
        needs_deny(trial, cluster);
        return;
    }
    static const char *const verbs[] = {"create", "patch", "delete", "list", "watch", "*"};
    static const char *const resources[] = {"jobs.batch", "jobs.batch/status", "namespaces", "nodes", "pods"};
    const char *verb = verbs[trial_below(trial, 6)];
    const char *resource = resources[trial_below(trial, trial->plan.rough ? 5 : 3)];
    trial_trace(trial, "trouble: %s of %s is denied", verb, resource);
    world_deny(trial->worlds[cluster], verb, resource);
}

static void went_back(struct trial *trial, size_t cluster) {
    trial_trace(trial, "trouble: %s goes back from version %llu", world_name(trial->worlds[cluster]),
                (unsigned long long)world_version(trial->worlds[cluster]));
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        struct backs *backs = &trial->faults->backs[i];
        backs->unnoticed[cluster] = true;
        memset(backs->unlisted[cluster], true, sizeof backs->unlisted[cluster]);
    }
    rules_went_back(trial, cluster);
}

static void begin(struct trial *trial, struct episode *e) {
    struct world_cluster *cluster = trial->worlds[e->cluster];
    switch (e->trouble) {
    case TROUBLE_NOISE:
        sim_net_set_faults(trial->net, &noise);
        break;
    case TROUBLE_REFUSES:
        sim_cluster_down(trial->net, cluster, (trial->seed + e->cluster) % 2 ? SIM_LEAVES : SIM_REFUSES);
        break;
    case TROUBLE_SILENT:
    case TROUBLE_LOST:
        sim_cluster_down(trial->net, cluster, SIM_SILENT);
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
        restart(trial, e->cluster % trial->plan.hosts);
        break;
    case TROUBLE_ASLEEP:
        trial->hosts[e->cluster % trial->plan.hosts].asleep_until_ns = e->end_ns;
        break;
    case TROUBLE_RESTORED:
        e->copy = world_copy(cluster);
        break;
    case TROUBLE_WIPED:
        went_back(trial, e->cluster);
        world_wipe(cluster, trial->now_ns);
        trial->faults->wiped = true;
        for (size_t i = 0; i < trial->plan.hosts; i++)
            trial->faults->backs[i].other[e->cluster] = true;
        trial->user_acts = true;
        spaces_add(trial, e->cluster); // it is set up again
        trial->user_acts = false;
        fields_set_up(trial, e->cluster);
        needs_set_up(trial, e->cluster);
        guards_wiped(trial, e->cluster);
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
        tenants_allow(trial, e->cluster);
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

// Of a cluster, or of all.
static bool concerns(const struct episode *e, size_t cluster) {
    return e->cluster == cluster || e->trouble == TROUBLE_NOISE || e->trouble == TROUBLE_RESTART ||
           e->trouble == TROUBLE_ASLEEP;
}

// A stream that has fallen silent is noticed three minutes later.
static void note_over(struct trial *trial, const struct episode *e) {
    bool silent = e->trouble == TROUBLE_NOISE || e->trouble == TROUBLE_WORSE || e->trouble == TROUBLE_SILENT ||
                  e->trouble == TROUBLE_LOST;
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        if (concerns(e, c))
            trial->faults->over_ns[c] =
                clock_later(trial->faults->over_ns[c], trial->now_ns + (silent ? SILENT_NS : 0));
}

void faults_act(struct trial *trial) {
    struct faults *faults = trial->faults;
    for (size_t i = 0; i < faults->n; i++) {
        struct episode *e = &faults->episodes[i];
        if (!e->begun && e->begin_ns <= trial->now_ns) {
            e->begun = true;
            trial_trace(trial, "trouble: %s, %s, for %.3f s", trouble_names[e->trouble],
                        world_name(trial->worlds[e->cluster]), (double)(e->end_ns - e->begin_ns) / 1e9);
            begin(trial, e);
        }
        if (e->begun && !e->over && e->end_ns <= trial->now_ns) {
            e->over = true;
            trial_trace(trial, "trouble: %s, %s, is over", trouble_names[e->trouble],
                        world_name(trial->worlds[e->cluster]));
            end(trial, e);
            note_over(trial, e);
        }
    }
}

bool faults_are_over(const struct trial *trial, size_t cluster, int64_t calm_ns) {
    const struct faults *faults = trial->faults;
    size_t both[] = {ENGINE_MANAGEMENT, cluster};
    for (size_t i = 0; i < 2; i++) {
        if (faults->over_ns[both[i]] && trial->now_ns - faults->over_ns[both[i]] < calm_ns)
            return false;
        for (size_t e = 0; e < faults->n; e++)
            if (faults->episodes[e].begun && !faults->episodes[e].over && concerns(&faults->episodes[e], both[i]))
                return false;
    }
    return true;
}

void faults_noticed(struct trial *trial, size_t cluster) {
    backs_of(trial)->unnoticed[cluster] = false;
}

void faults_listed(struct trial *trial, size_t cluster, size_t kind) {
    backs_of(trial)->unlisted[cluster][kind] = false;
}

bool faults_is_unnoticed(const struct trial *trial, size_t cluster, size_t kind) {
    return backs_of(trial)->unnoticed[cluster] || backs_of(trial)->unlisted[cluster][kind];
}

bool faults_is_other(const struct trial *trial, size_t cluster) {
    return backs_of(trial)->other[cluster];
}

void faults_end(struct trial *trial) {
    trial_trace(trial, "trouble: all is over");
    for (size_t i = 0; i < trial->faults->n; i++)
        if (trial->faults->episodes[i].begun && !trial->faults->episodes[i].over)
            note_over(trial, &trial->faults->episodes[i]);
    trial->faults->n = 0;
    free_copies(trial->faults);
    sim_net_set_faults(trial->net, &calm);
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        be_calm(trial, c);
        sim_cluster_up(trial->net, trial->worlds[c]);
        tenants_allow(trial, c);
        trial->faults->full[c] = false;
    }
    for (size_t i = 0; i < trial->plan.hosts; i++)
        trial->hosts[i].asleep_until_ns = 0;
    // The operator follows the log. A restored cluster that has grown past its old versions when the host reconnects
    // cannot be distinguished from one that was not restored (docs/reflector.md).
    bool needed = trial->faults->wiped;
    for (size_t i = 0; i < trial->plan.hosts; i++)
        for (size_t c = 0; c < trial->plan.n_clusters; c++)
            needed |= trial->hosts[i].alive && trial->faults->backs[i].unnoticed[c];
    for (size_t i = 0; i < trial->plan.hosts && needed; i++)
        restart(trial, i);
}
