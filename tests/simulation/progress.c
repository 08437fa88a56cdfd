// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/progress.h"

#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "tests/simulation/fields.h"
#include "tests/simulation/pests.h"
#include "tests/world/indexes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANGED_MAX 3 // deletes that were rejected since the mirror had changed, see docs/lifecycle.md
#define RESETS 16

enum policy { POLICY_NONE, POLICY_FORBIDS, POLICY_REFUSES, POLICY_STRIPS, POLICY_RESETS };

struct achieved {
    uint64_t done, lost; // by index
    int64_t succeeded, failed;
};

struct seen {                          // a mirror of trial->rules, with the same number
    struct achieved now, given, known; // its status; what the host gave it; the workload's status when it was made
    struct achieved told;              // what this process of the host has seen of it
    unsigned process, rejected;        // deletes, since it had changed
    bool ran, resumed, others, reset;  // others: somebody else resumed it
};

struct work {     // a workload, likewise
    bool lowered; // its completions were
    unsigned refused, lost;
};

struct progress_rules {
    struct seen mirrors[RULES_MIRRORS];
    struct work workloads[RULES_WORKLOADS];
    enum policy policies[TRIAL_CLUSTERS];
    struct {
        size_t cluster;
        char namespace_[32], name[32];
    } resets[RESETS];
    size_t n_resets;
};

bool progress_is_drawn(const struct trial *trial) {
    struct random random = {.state = trial->seed * 71 + 13};
    (void)random_next(&random);
    return random_below(&random, 5) == 0 || getenv("SIM_PROGRESS");
}

struct progress_rules *progress_new(struct trial *trial) {
    struct progress_rules *progress = calloc(1, sizeof *progress);
    struct random random = {.state = trial->seed * 41 + 17};
    for (size_t c = 1; progress && trial->plan.progress && trial->plan.faults && c < trial->plan.n_clusters; c++)
        if (random_below(&random, 4) == 0)
            progress->policies[c] = (enum policy)(1 + random_below(&random, POLICY_RESETS));
    return progress;
}

bool progress_draw(struct trial *trial, struct progress_job *job) {
    if (!trial->plan.progress || trial_chance(trial, 30))
        return false;
    job->completions = 2 + (int64_t)trial_below(trial, PROGRESS_INDEXES - 1);
    job->parallelism = 1 + (int64_t)trial_below(trial, 3);
    job->duration_ms = 500 + (int64_t)trial_below(trial, trial->plan.guards ? 30000 : 8000);
    job->spread_ms = trial_chance(trial, 70) ? 100 + (int64_t)trial_below(trial, 1500) : 0;
    job->off = trial_chance(trial, 8);
    return true;
}

// Policies and other writers ---------------------------------------------------------------------------------------

bool progress_is_refused(const struct trial *trial, size_t cluster) {
    return trial->progress->policies[cluster] == POLICY_REFUSES;
}

int progress_admit(struct trial *trial, size_t cluster, struct json *object, char message[256]) {
    static const char *const parts[] = {"/status/completedIndexes", "/status/failedIndexes", "/status/succeeded",
                                        "/status/failed"};
    enum policy policy = trial->progress->policies[cluster];
    for (size_t i = 0; policy == POLICY_STRIPS && i < sizeof parts / sizeof *parts; i++)
        pointer_remove(object, parts[i]);
    snprintf(message, 256, "admission webhook \"status.example.com\" denied the request: only controllers may");
    return policy == POLICY_FORBIDS ? 403 : policy == POLICY_REFUSES ? 422 : 0;
}

// Of an elastic Job alone the API server lets a controller take successes back.
static void plan_reset(struct trial *trial, size_t cluster, const struct json *job, struct seen *seen) {
    struct progress_rules *progress = trial->progress;
    const struct json *spec = json_get(job, "spec");
    if (progress->policies[cluster] != POLICY_RESETS || seen->given.done == 0 || progress->n_resets == RESETS ||
        !json_equal(json_get(spec, "completions"), json_get(spec, "parallelism")))
        return;
    seen->reset = true;
    size_t n = progress->n_resets++;
    progress->resets[n].cluster = cluster;
    text_copy(progress->resets[n].namespace_, sizeof progress->resets[n].namespace_,
              rules_text(job, "metadata", NULL, "namespace"));
    text_copy(progress->resets[n].name, sizeof progress->resets[n].name, rules_text(job, "metadata", NULL, "name"));
}

int64_t progress_due(const struct trial *trial) {
    return trial->progress->n_resets ? trial->now_ns : CLOCK_NEVER;
}

void progress_act(struct trial *trial) {
    struct progress_rules *progress = trial->progress;
    trial->user_acts = true;
    for (size_t i = 0; i < progress->n_resets; i++)
        world_patch(trial->worlds[progress->resets[i].cluster], "batch", "jobs", progress->resets[i].namespace_,
                    progress->resets[i].name, "status", "{\"status\":{\"succeeded\":null,\"completedIndexes\":null}}",
                    trial->now_ns);
    trial->user_acts = false;
    progress->n_resets = 0;
}

// What a status says -----------------------------------------------------------------------------------------------

static uint64_t read_indexes(const char *text) {
    bool set[64] = {false};
    uint64_t mask = 0;
    indexes_read(text, set, 64);
    for (size_t i = 0; i < 64; i++)
        mask |= (uint64_t)set[i] << i;
    return mask;
}

static struct achieved read_status(const struct json *object) {
    const struct json *status = json_get(object, "status");
    return (struct achieved){.done = read_indexes(json_string_or(json_get(status, "completedIndexes"), "")),
                             .lost = read_indexes(json_string_or(json_get(status, "failedIndexes"), "")),
                             .succeeded = json_int64(json_get(status, "succeeded"), 0),
                             .failed = json_int64(json_get(status, "failed"), 0)};
}

static void add(struct achieved *all, const struct achieved *more) {
    all->done |= more->done;
    all->lost |= more->lost;
    all->succeeded = more->succeeded > all->succeeded ? more->succeeded : all->succeeded;
    all->failed = more->failed > all->failed ? more->failed : all->failed;
}

// The first index of a set.
static int first_of(uint64_t set) {
    return set ? __builtin_ctzll(set) : -1;
}

static const char *uid_of(const struct json *object) {
    return rules_text(object, "metadata", NULL, "uid");
}

static struct seen *seen_of(struct trial *trial, const struct tracked_mirror *mirror) {
    return &trial->progress->mirrors[mirror - trial->rules->mirrors];
}

static struct work *work_of(struct trial *trial, const struct tracked_workload *job) {
    return &trial->progress->workloads[job - trial->rules->workloads];
}

// Nobody but the host wrote what this is derived from.
static bool is_clean(const struct trial *trial, const struct tracked_workload *job) {
    return job && job->ours && !job->tampered && !job->rival_end && trial->plan.back == TRIAL_BACK_NONE;
}

// The workload of a mirror as it is now; NULL: another one, or none.
static const struct json *workload_of(struct trial *trial, const struct tracked_workload *job) {
    const struct json *workload = trial_object(trial, ENGINE_MANAGEMENT, 0, job->namespace_, job->name);
    return workload && strcmp(uid_of(workload), job->uid) == 0 ? workload : NULL;
}

// The rules --------------------------------------------------------------------------------------------------------

// P1: what is given was counted in the status of a former mirror. P2: the mirror has not run.
static void check_given(struct trial *trial, const struct tracked_mirror *mirror, struct seen *seen,
                        const struct tracked_workload *job, const struct world_write *write) {
    struct achieved before = read_status(write->old), after = read_status(write->now), former = {0};
    int64_t failed = 0;
    for (size_t i = 0; i < trial->rules->n_mirrors; i++) {
        const struct tracked_mirror *m = &trial->rules->mirrors[i];
        const struct seen *s = &trial->progress->mirrors[i];
        if (m == mirror || strcmp(m->workload, mirror->workload) != 0)
            continue;
        add(&former, &s->now);
        failed += s->now.failed - s->given.failed;
    }
    bool indexed = strcmp(json_string_or(json_path(write->now, "spec", "completionMode", NULL), ""), "Indexed") == 0;
    if (seen->ran || !json_bool(json_path(write->old, "spec", "suspend", NULL), false))
        trial_fail(trial, "P2: the mirror of %s gets progress after it has run", job->name);
    if (after.done & ~before.done & ~former.done)
        trial_fail(trial, "P1: index %d of %s is given, which no former mirror had completed",
                   first_of(after.done & ~before.done & ~former.done), job->name);
    if (after.lost & ~before.lost & ~former.lost)
        trial_fail(trial, "P1: index %d of %s is given as failed, and had not in a former mirror",
                   first_of(after.lost & ~before.lost & ~former.lost), job->name);
    if (indexed ? after.succeeded != __builtin_popcountll(after.done) : after.succeeded > former.succeeded)
        trial_fail(trial, "P1: %lld successes of %s are given, of %lld", (long long)after.succeeded, job->name,
                   (long long)(indexed ? __builtin_popcountll(after.done) : former.succeeded));
    if (after.failed > failed && after.failed > former.failed)
        trial_fail(trial, "P1: %lld failures of %s are given, of %lld", (long long)after.failed, job->name,
                   (long long)failed);
    if (text_equal(object_annotation(workload_of(trial, job), MARK_CONTINUE), "false"))
        trial_fail(trial, "P5: progress is given to %s, whose user has turned it off", job->name);
    seen->given = after;
}

// P6: the current mirror of an unfinished workload goes once all that it has achieved is written, unless that changes
// all the time.
static void check_left(struct trial *trial, const struct tracked_mirror *mirror, const struct seen *seen,
                       const struct tracked_workload *job, const struct json *object) {
    const struct json *workload = workload_of(trial, job);
    if (!workload || !is_clean(trial, job) || sim_finished(trial->kinds[0], workload) ||
        !trial_is_ours(trial, 0, workload) || *rules_text(workload, "metadata", NULL, "deletionTimestamp") ||
        mirror_attempt(workload) != mirror->attempt || pests_rule(trial, mirror->cluster) ||
        fields_lacked(trial, mirror) || seen->rejected >= CHANGED_MAX ||
        strcmp(rules_text(workload, "metadata", "annotations", MARK_CLUSTER),
               world_name(trial->worlds[mirror->cluster])) != 0)
        return;
    struct achieved known = read_status(workload), last = read_status(object);
    if (last.done & ~known.done || last.lost & ~known.lost & ~known.done || last.succeeded > known.succeeded ||
        last.failed > known.failed)
        trial_fail(trial, "P6: the mirror of %s in %s is deleted before its last status is written", job->name,
                   world_name(trial->worlds[mirror->cluster]));
}

// P7: what this process has seen of the former mirrors is written before there is another one.
static void check_made(struct trial *trial, const struct tracked_mirror *mirror, struct seen *seen,
                       const struct tracked_workload *job) {
    const struct json *workload = workload_of(trial, job);
    if (!workload)
        return;
    seen->known = read_status(workload);
    for (size_t i = 0; i < trial->rules->n_mirrors && is_clean(trial, job) && !trial->plan.elects; i++) {
        const struct tracked_mirror *m = &trial->rules->mirrors[i];
        const struct seen *s = &trial->progress->mirrors[i];
        if (strcmp(m->workload, mirror->workload) == 0 && m->attempt + 1 == mirror->attempt &&
            s->process == trial->host->number && s->told.done & ~seen->known.done && !work_of(trial, job)->lowered)
            trial_fail(trial, "P7: attempt %lld of %s is made although index %d of the former one is not written",
                       (long long)mirror->attempt, job->name, first_of(s->told.done & ~seen->known.done));
    }
}

// The mirror that the workload's annotations name has the progress of earlier attempts.
static bool goes_on(struct trial *trial, const struct tracked_workload *job, const struct json *workload) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *mirror = trial_object(trial, c, 0, job->namespace_, job->name);
        if (mirror &&
            strcmp(world_name(trial->worlds[c]), rules_text(workload, "metadata", "annotations", MARK_CLUSTER)) == 0)
            return mirror_progress(mirror) == PROGRESS_GIVEN;
    }
    return false;
}

// P8: no index and no counter of a workload falls. An attempt that starts from nothing, and one that follows a failure
// of a worker, tries indexes again that had failed.
static void check_copied(struct trial *trial, const struct tracked_workload *job, const struct world_write *write) {
    if (!is_clean(trial, job) || work_of(trial, job)->lowered || !write->old)
        return;
    struct achieved before = read_status(write->old), after = read_status(write->now);
    bool counts = goes_on(trial, job, write->now) && !object_annotation(write->now, MARK_RETRIED);
    uint64_t lost = counts ? before.lost & ~after.lost & ~after.done : 0;
    if (before.done & ~after.done || lost || before.succeeded > after.succeeded || before.failed > after.failed)
        trial_fail(trial, "P8: the status of %s falls", job->name);
}

static void note_resume(struct trial *trial, const struct tracked_mirror *mirror, const struct world_write *write) {
    if (!json_bool(json_path(write->old, "spec", "suspend", NULL), false) ||
        json_bool(json_path(write->now, "spec", "suspend", NULL), false))
        return;
    struct seen *seen = seen_of(trial, mirror);
    bool host = !trial->user_acts && !write->internal;
    seen->others |= !host && !seen->resumed;
    if (host && !seen->resumed)
        plan_reset(trial, mirror->cluster, write->now, seen);
    seen->resumed = true;
}

static void in_worker(struct trial *trial, const struct tracked_mirror *mirror, const struct world_write *write) {
    const struct tracked_workload *job = rules_workload(trial, mirror->workload);
    struct seen *seen = seen_of(trial, mirror);
    bool host = !trial->user_acts && !write->internal;
    if (job && host && write->verb == WORLD_CREATE)
        check_made(trial, mirror, seen, job);
    if (job && host && write->verb == WORLD_UPDATE_STATUS && !write->noop)
        check_given(trial, mirror, seen, job, write);
    if (job && host && write->verb == WORLD_DELETE)
        check_left(trial, mirror, seen, job, write->old);
    if (write->verb == WORLD_UPDATE)
        note_resume(trial, mirror, write);
    if (write->now) {
        struct achieved now = read_status(write->now);
        add(&seen->now, &now);
    }
}

// The delete of a mirror that has changed since the host read it.
static void note_rejected(struct trial *trial, size_t cluster, const struct world_write *write) {
    const struct json *object = trial_object(trial, cluster, 0, write->namespace_, write->name);
    const struct tracked_mirror *mirror = object ? rules_mirror(trial, uid_of(object)) : NULL;
    if (mirror)
        seen_of(trial, mirror)->rejected++;
}

void progress_written(struct trial *trial, size_t cluster, const struct world_write *write) {
    const struct json *object = write->now ? write->now : write->old;
    if (write->status >= 300) {
        if (cluster != ENGINE_MANAGEMENT && write->verb == WORLD_DELETE && write->status == 409)
            note_rejected(trial, cluster, write);
        return;
    }
    if (cluster != ENGINE_MANAGEMENT) {
        const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(object));
        if (mirror)
            in_worker(trial, mirror, write);
        return;
    }
    const struct tracked_workload *job = rules_workload(trial, uid_of(object));
    if (job && write->old && write->now && trial->user_acts)
        work_of(trial, job)->lowered |= json_int64(json_path(write->now, "spec", "completions", NULL), 0) <
                                        json_int64(json_path(write->old, "spec", "completions", NULL), 0);
    if (job && write->now && write->verb == WORLD_UPDATE_STATUS && !trial->user_acts && !write->internal)
        check_copied(trial, job, write);
}

// An index that the workload's status counted when the mirror was made does not run in it, unless the mirror was
// refused the progress, or has lost it.
void progress_pod(void *ctx, const struct json *object, int64_t index) {
    const struct side *side = ctx;
    struct trial *trial = side->trial;
    const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(object));
    if (!mirror)
        return;
    struct seen *seen = seen_of(trial, mirror);
    const struct tracked_workload *job = rules_workload(trial, mirror->workload);
    seen->ran = true;
    if (index < 0 || index >= 64 || !is_clean(trial, job) || job->stray || mirror->guessed || seen->reset ||
        seen->others || work_of(trial, job)->lowered || pests_rule(trial, side->cluster) ||
        mirror_progress(object) == PROGRESS_REFUSED)
        return;
    const struct json *workload = workload_of(trial, job);
    if (!workload || text_equal(object_annotation(workload, MARK_CONTINUE), "false"))
        return;
    // Failures of a workload that a worker has failed are not given.
    uint64_t known = seen->known.done | (object_annotation(workload, MARK_RETRIED) ? 0 : seen->known.lost);
    if (known & (UINT64_C(1) << index))
        trial_fail(trial, "index %lld of %s runs again in %s, and was counted before", (long long)index, job->name,
                   world_name(trial->worlds[side->cluster]));
}

int64_t progress_failed(struct trial *trial, const struct json *object) {
    const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(object));
    return mirror ? seen_of(trial, mirror)->given.failed : 0;
}

int64_t progress_succeeded(struct trial *trial, const struct json *object) {
    const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(object));
    return mirror ? seen_of(trial, mirror)->given.succeeded : 0;
}

void progress_told(struct trial *trial, const struct json *object) {
    const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(object));
    if (!mirror || mirror->kind != 0)
        return;
    // Once the next attempt is recorded, the former one is over.
    const struct tracked_workload *job = rules_workload(trial, mirror->workload);
    const struct json *workload = job ? workload_of(trial, job) : NULL;
    struct seen *seen = seen_of(trial, mirror);
    struct achieved now = read_status(object);
    if (!workload || mirror_attempt(workload) != mirror->attempt)
        return;
    if (seen->process != trial->host->number)
        seen->told = (struct achieved){0};
    seen->process = trial->host->number;
    add(&seen->told, &now);
}

// Before this process has listed the workloads, it does not know whose mirror that was.
void progress_gone(struct trial *trial, const struct json *object) {
    const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(object));
    if (mirror && mirror->kind == 0 && !trial->host->feeds[ENGINE_MANAGEMENT][0].listed)
        seen_of(trial, mirror)->told = (struct achieved){0};
}

// P4: a refusal is told once for each attempt.
void progress_event(struct trial *trial, const struct workload_event *event) {
    const struct tracked_workload *job = rules_workload(trial, event->uid);
    if (!job || job->kind != 0)
        return;
    struct work *work = work_of(trial, job);
    work->refused += strcmp(event->reason, "ProgressRefused") == 0;
    work->lost += strcmp(event->reason, "ProgressLost") == 0;
    if (work->refused > job->creates || work->lost > job->creates)
        trial_fail(trial, "P4: %s is told again of %s", event->reason, job->name);
}
