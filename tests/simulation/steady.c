// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/steady.h"
#include "core/json/pointer.h"
#include "tests/simulation/needs.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_NS (15 * CLOCK_MINUTE)
#define RAMP_NS (5 * CLOCK_MINUTE) // for waits to grow
#define PESTER_NS CLOCK_SECOND
#define JOBS 5
#define COUNTED 512
#define ANSWER_NS (45 * CLOCK_SECOND) // the host waits for 40 s

enum steady_trouble {
    STEADY_REFUSES,
    STEADY_SILENT,
    STEADY_ERRORS,
    STEADY_UNAVAILABLE,
    STEADY_UNAUTHORIZED,
    STEADY_TOO_MANY,
    STEADY_HANGS,
    STEADY_LOST_ANSWERS,
    STEADY_GARBAGE,
    STEADY_TRUNCATED,
    STEADY_GONE,
    STEADY_CUT,
    STEADY_MUTE,
    STEADY_DENIED_CREATE,
    STEADY_DENIED_PATCH,
    STEADY_DENIED_DELETE,
    STEADY_DENIED_LIST,
    STEADY_DENIED_WATCH,
    STEADY_DENIED_ALL,
    STEADY_QUOTA,
    STEADY_STRIPPED,
    STEADY_REVERTED,
    STEADY_SUSPENDED,
    STEADY_DELETED,
    STEADY_STATUS,
    STEADY_TROUBLES
};

static const char *const names[] = {
    "refuses",       "is silent",    "answers 500",   "answers 503",   "answers 401",
    "answers 429",   "hangs",        "loses answers", "sends garbage", "cuts answers",
    "answers 410",   "cuts streams", "mutes streams", "denies create", "denies patch",
    "denies delete", "denies list",  "denies watch",  "denies all",    "has no quota",
    "strips marks",  "is reverted",  "is suspended",  "is emptied",    "has a second writer of statuses"};

struct count {
    char key[96];
    int64_t first_ns; // a workload may wait before its first placement
    int64_t minute;
    unsigned requests, changes;
};

struct steady {
    enum steady_trouble trouble;
    size_t cluster;
    int64_t begin_ns, next_ns, end_ns;
    bool on, began;
    struct count counts[COUNTED];
    size_t n;
    unsigned most[2]; // requests a minute about a workload (with what changed it), and about a cluster
};

struct steady *steady_new(struct trial *trial) {
    struct steady *steady = calloc(1, sizeof *steady);
    struct random random = {.state = trial->seed * 41 + 13};
    if (!steady)
        return NULL;
    const char *wanted = getenv("SIM_STEADY");
    int64_t number = 0;
    steady->trouble = (enum steady_trouble)random_below(&random, STEADY_TROUBLES);
    if (wanted && text_to_int64(wanted, &number) && number >= 0 && number < STEADY_TROUBLES)
        steady->trouble = (enum steady_trouble)number;
    steady->cluster = random_below(&random, trial->plan.n_clusters);
    if (steady->trouble >= STEADY_QUOTA && steady->trouble < STEADY_STATUS && steady->cluster == ENGINE_MANAGEMENT)
        steady->cluster = 1;
    if (steady->trouble == STEADY_STATUS)
        steady->cluster = ENGINE_MANAGEMENT;
    return steady;
}

static struct sim_faults faults_of(enum steady_trouble trouble) {
    struct sim_faults faults = {.latency_min_ns = CLOCK_MS, .latency_max_ns = 2 * CLOCK_MS};
    unsigned *const all[] = {[STEADY_ERRORS] = &faults.server_error,
                             [STEADY_UNAVAILABLE] = &faults.unavailable,
                             [STEADY_UNAUTHORIZED] = &faults.unauthorized,
                             [STEADY_TOO_MANY] = &faults.too_many,
                             [STEADY_HANGS] = &faults.lost_request,
                             [STEADY_LOST_ANSWERS] = &faults.lost_answer,
                             [STEADY_GARBAGE] = &faults.garbage,
                             [STEADY_TRUNCATED] = &faults.truncated,
                             [STEADY_GONE] = &faults.gone,
                             [STEADY_CUT] = &faults.cut_stream,
                             [STEADY_MUTE] = &faults.silent_stream};
    *all[trouble] = 1000;
    faults.stream_max_ns = 30 * CLOCK_SECOND;
    return faults;
}

static void create_jobs(struct trial *trial) {
    trial->user_acts = true;
    for (unsigned i = 0; i < JOBS; i++) {
        char name[24];
        snprintf(name, sizeof name, "steady-%u", i);
        AUTO_JSON job = shape_job(trial, SHAPE_PLAIN, "default", name, false);
        world_apply(trial->worlds[ENGINE_MANAGEMENT], "batch", "jobs", job, trial->now_ns);
        const struct json *made = trial_object(trial, ENGINE_MANAGEMENT, 0, "default", name);
        struct tracked_workload *job_of = rules_workload(trial, rules_text(made, "metadata", NULL, "uid"));
        if (job_of)
            job_of->touched = job_of->scaled = true;
    }
    trial->user_acts = false;
}

// What runs in the cluster may be moved away from it, and created again: its life costs more.
static void note_affected(struct trial *trial) {
    for (size_t i = 0; i < trial->rules->n_workloads; i++) {
        struct tracked_workload *job = &trial->rules->workloads[i];
        const struct json *now = trial_object(trial, ENGINE_MANAGEMENT, job->kind, job->namespace_, job->name);
        if (now && !sim_finished(trial->kinds[job->kind], now) &&
            trial_object(trial, trial->steady->cluster, job->kind, job->namespace_, job->name))
            job->touched = true;
    }
}

int64_t steady_begin(struct trial *trial) {
    static const char *const verbs[] = {"create", "patch", "delete", "list", "watch", "*"};
    struct steady *steady = trial->steady;
    struct world_cluster *world = trial->worlds[steady->cluster];
    trial_trace(trial, "steady: from now on %s %s", world_name(world), names[steady->trouble]);
    if (steady->trouble >= STEADY_SUSPENDED) // what they do to mirrors is not the host's
        for (size_t i = 0; i < trial->rules->n_workloads; i++)
            trial->rules->workloads[i].touched = trial->rules->workloads[i].scaled = true;
    if (steady->trouble <= STEADY_SILENT) {
        sim_cluster_down(trial->net, world, steady->trouble == STEADY_REFUSES ? SIM_REFUSES : SIM_SILENT);
    } else if (steady->trouble <= STEADY_MUTE) {
        struct sim_faults faults = faults_of(steady->trouble);
        sim_cluster_set_faults(trial->net, world, &faults);
        sim_cut_streams(trial->net, world);
    } else if (steady->trouble <= STEADY_DENIED_ALL) {
        world_deny(world, verbs[steady->trouble - STEADY_DENIED_CREATE], "jobs.batch");
        world_deny(world, verbs[steady->trouble - STEADY_DENIED_CREATE], "jobs.batch/status");
        world_end_watches(world);
    }
    note_affected(trial);
    steady->begin_ns = steady->next_ns = trial->now_ns;
    steady->on = steady->began = true;
    create_jobs(trial);
    return trial->now_ns + LENGTH_NS;
}

static void resume_all(struct trial *trial) {
    trial->user_acts = true;
    for (unsigned i = 0; i < JOBS; i++)
        for (size_t c = 1; c < trial->plan.n_clusters; c++) {
            char name[24];
            snprintf(name, sizeof name, "steady-%u", i);
            world_patch(trial->worlds[c], "batch", "jobs", "default", name, NULL, "{\"spec\":{\"suspend\":false}}",
                        trial->now_ns);
        }
    trial->user_acts = false;
}

void steady_end(struct trial *trial) {
    struct steady *steady = trial->steady;
    if (!steady->on)
        return;
    struct world_cluster *world = trial->worlds[steady->cluster];
    trial_trace(trial, "steady: over; at most %u requests a minute about a workload, %u about a cluster",
                steady->most[0], steady->most[1]);
    if (steady->trouble == STEADY_SUSPENDED)
        resume_all(trial);
    steady->on = false;
    steady->end_ns = trial->now_ns;
    sim_cluster_up(trial->net, world);
    sim_cluster_set_faults(trial->net, world, NULL);
    world_allow_all(world);
}

int64_t steady_due(const struct trial *trial) {
    return trial->steady->on && trial->steady->trouble >= STEADY_REVERTED ? trial->steady->next_ns : CLOCK_NEVER;
}

static void pester(struct trial *trial, const char *name, size_t cluster) {
    struct world_cluster *world = trial->worlds[cluster];
    const struct json *object = trial_object(trial, cluster, 0, "default", name);
    const char *text = NULL, *part = NULL;
    if (!object || sim_finished(trial->kinds[0], object))
        return;
    switch (trial->steady->trouble) {
    case STEADY_REVERTED:
        text = "{\"metadata\":{\"labels\":{\"team\":\"b\"}}}";
        break;
    case STEADY_SUSPENDED:
        text = "{\"spec\":{\"suspend\":true}}";
        break;
    case STEADY_STATUS:
        text = "{\"status\":{\"active\":7}}", part = "status";
        break;
    default:
        world_delete(world, "batch", "jobs", "default", name, "Background", trial->now_ns);
        return;
    }
    world_patch(world, "batch", "jobs", "default", name, part, text, trial->now_ns);
}

void steady_act(struct trial *trial) {
    struct steady *steady = trial->steady;
    if (steady_due(trial) > trial->now_ns)
        return;
    steady->next_ns = trial->now_ns + PESTER_NS;
    trial->user_acts = true;
    for (unsigned i = 0; i < JOBS; i++) {
        char name[24];
        snprintf(name, sizeof name, "steady-%u", i);
        bool workloads = steady->trouble == STEADY_STATUS;
        for (size_t c = workloads ? 0 : 1; c < (workloads ? 1 : trial->plan.n_clusters); c++)
            pester(trial, name, c);
    }
    trial->user_acts = false;
}

int steady_admit(const struct trial *trial, size_t cluster, enum world_verb verb, struct json *object) {
    const struct steady *steady = trial->steady;
    if (!steady || !steady->on || steady->cluster != cluster)
        return 0;
    if (steady->trouble == STEADY_STRIPPED)
        pointer_remove(object, "/metadata/labels/wharf.dev~1origin");
    return steady->trouble == STEADY_QUOTA && verb == WORLD_CREATE ? 403 : 0;
}

bool steady_strips(const struct trial *trial, size_t cluster) {
    const struct steady *steady = trial->steady;
    return steady && steady->began && steady->cluster == cluster && steady->trouble == STEADY_STRIPPED;
}

int64_t steady_answer_ns(const struct trial *trial, size_t cluster) {
    const struct steady *steady = trial->steady;
    if (!steady || !steady->began || steady->cluster != cluster)
        return 0;
    bool answers =
        steady->trouble != STEADY_SILENT && steady->trouble != STEADY_HANGS && steady->trouble != STEADY_LOST_ANSWERS;
    bool over = !steady->on && trial->now_ns - steady->end_ns > ANSWER_NS;
    return answers || over ? 0 : ANSWER_NS;
}

static struct count *count_of(struct trial *trial, const char *key) {
    struct steady *steady = trial->steady;
    int64_t minute = (trial->now_ns - steady->begin_ns) / CLOCK_MINUTE;
    struct count *count = NULL;
    for (size_t i = 0; i < steady->n && !count; i++)
        if (strcmp(steady->counts[i].key, key) == 0)
            count = &steady->counts[i];
    if (!count && steady->n == COUNTED)
        abort();
    if (!count) {
        count = &steady->counts[steady->n++];
        text_copy(count->key, sizeof count->key, key);
        count->first_ns = trial->now_ns;
    }
    if (count->minute != minute) {
        count->minute = minute;
        count->requests = count->changes = 0;
    }
    return count;
}

static void key_of(char key[96], size_t kind, const char *namespace_, const char *name) {
    snprintf(key, 96, "%zu/%.30s/%.50s", kind, namespace_, name);
}

static void check(struct trial *trial, const char *key, const struct count *count, unsigned most) {
    const struct steady *steady = trial->steady;
    if (trial->now_ns - count->first_ns > RAMP_NS && count->requests > most)
        trial_fail(trial, "rule 8: %s steadily %s, and %u requests about %s are sent in a minute",
                   world_name(trial->worlds[steady->cluster]), names[steady->trouble], count->requests, key);
}

// About a cluster, Events among them: one of each withdrawal, three of what follows it. Each watch begins anew a few
// times a minute: one for each kind, that of Kueue's Workloads, that of namespaces, and those of what workloads refer
// to.
static unsigned cluster_max(const struct trial *trial, const struct count *count) {
    size_t needs = !trial->plan.needs ? 0 : needs_options(trial).by_name ? needs_count(trial) : NEED_RESOURCES;
    unsigned watches = STEADY_WATCH_MAX * (unsigned)(trial->n_kinds + 2 + needs);
    return (watches > STEADY_CLUSTER_MAX ? watches : STEADY_CLUSTER_MAX) + count->changes;
}

void steady_moved(struct trial *trial, const char *uid, unsigned events) {
    int64_t timeout_ns = trial->plan.pending_timeout_ns;
    char key[96];
    if (!trial->steady || !trial->steady->on || timeout_ns == 0)
        return;
    snprintf(key, sizeof key, "moves of %s", uid);
    struct count *count = count_of(trial, key);
    count->requests++;
    check(trial, key, count, 2 * (1 + (unsigned)(CLOCK_MINUTE / timeout_ns)));
    count_of(trial, world_name(trial->worlds[ENGINE_MANAGEMENT]))->changes += events;
}

void steady_request(struct trial *trial, size_t cluster, size_t kind, const char *namespace_, const char *name) {
    struct steady *steady = trial->steady;
    if (!steady || !steady->on)
        return;
    char key[96];
    if (name)
        key_of(key, kind, namespace_, name);
    else
        text_copy(key, sizeof key, world_name(trial->worlds[cluster]));
    struct count *count = count_of(trial, key);
    count->requests++;
    if (trial->now_ns - count->first_ns > RAMP_NS && steady->most[!name] < count->requests)
        steady->most[!name] = count->requests;
    check(trial, key, count, name ? STEADY_WORKLOAD_MAX * (1 + count->changes) : cluster_max(trial, count));
}

void steady_probe(struct trial *trial, size_t cluster) {
    const struct steady *steady = trial->steady;
    if (!steady || !steady->on || steady->trouble != STEADY_LOST_ANSWERS || steady->cluster != cluster) {
        steady_request(trial, cluster, 0, NULL, NULL);
        return;
    }
    struct count *count = count_of(trial, "probes");
    count->requests++;
    check(trial, "probes", count, STEADY_PROBES_MAX);
}

void steady_change(struct trial *trial, size_t kind, const char *namespace_, const char *name) {
    char key[96];
    if (!trial->steady || !trial->steady->on)
        return;
    key_of(key, kind, namespace_, name);
    count_of(trial, key)->changes++;
}

bool steady_is_calm(const struct trial *trial, size_t cluster, int64_t calm_ns) {
    const struct steady *steady = trial->steady;
    if (!steady->began || steady->trouble > STEADY_DENIED_ALL ||
        (steady->cluster != cluster && steady->cluster != ENGINE_MANAGEMENT))
        return true;
    return !steady->on && trial->now_ns - steady->end_ns >= calm_ns;
}
