// SPDX-License-Identifier: Apache-2.0
// What must hold once all faults are over, and the cost of a life without faults.
#include "core/adapter/phase.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "tests/simulation/need_rules.h"
#include "tests/simulation/places.h"
#include "tests/simulation/queues.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/spaces.h"
#include "tests/simulation/users.h"

#include <stdlib.h>
#include <string.h>

// The mirror that the workload's annotations name, or NULL.
static const struct json *mirror_of(struct trial *trial, size_t kind, const struct json *job) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *mirror = trial_object(trial, c, kind, rules_text(job, "metadata", NULL, "namespace"),
                                                 rules_text(job, "metadata", NULL, "name"));
        if (mirror && rules_is_ours(trial, c, kind, mirror) &&
            strcmp(rules_text(job, "metadata", "annotations", MARK_CLUSTER), world_name(trial->worlds[c])) == 0)
            return mirror;
    }
    return NULL;
}

// A user made it pending after its mirror had begun: Tekton rejects that, and the two stay different.
static bool began_before(const struct sim_kind *kind, const struct json *job) {
    return kind->custom && kind->custom->done_is_done && phase_suspend_asked(&kind->kind->abi, job) &&
           mirror_attempt(job) > 0;
}

// Told to people; a time in which no worker started it is all that it takes.
static bool is_given_up(struct trial *trial, const struct json *job) {
    const struct tracked_workload *tracked = rules_workload(trial, rules_text(job, "metadata", NULL, "uid"));
    return trial->plan.give_up_after_ns && tracked && tracked->gave_up;
}

// Where it would start its name is taken or its namespace is missing, or it takes longer than pendingTimeout: workers
// are tried in turn.
static bool is_tried_in_turn(struct trial *trial, const struct json *job) {
    const struct tracked_workload *tracked = rules_workload(trial, rules_text(job, "metadata", NULL, "uid"));
    return trial->plan.pending_timeout_ns && tracked && tracked->withdrawn >= 3;
}

// It was given up as a later attempt while the worker of this mirror was lost or not in the configuration.
static bool is_too_late(struct trial *trial, const struct json *job, const struct json *mirror) {
    return is_given_up(trial, job) && mirror_attempt(mirror) < mirror_attempt(job);
}

// For an unfinished workload; NULL: nothing.
static char *running_missing(struct trial *trial, size_t kind, const struct json *job) {
    const char *name = rules_text(job, "metadata", NULL, "name");
    const struct json *mirror = mirror_of(trial, kind, job);
    bool suspended = phase_suspend_asked(&trial->engine_kinds[kind]->abi, job);
    bool may_stay = strcmp(rules_text(job, "metadata", "annotations", USERS_EXPECTED), USERS_RUNS) == 0;
    bool refused = !suspended && !mirror && sim_refuses(trial->kinds[kind], job, trial->now_ns);
    if (!suspended && !may_stay && !refused && !is_tried_in_turn(trial, job))
        return text_format("%s has not finished", name);
    if (refused)
        return NULL;
    if (!suspended && !mirror)
        return text_format("%s has no mirror", name);
    if (suspended && kind == 0 && !rules_condition(job, "Suspended"))
        return text_format("%s is suspended, and its status does not say so", name);
    AUTO_TEXT due = kind > 0 ? sim_status_due(trial->kinds[kind], job, mirror, trial->now_ns) : NULL;
    if (due)
        return text_format("the status of %s does not follow from its mirror: %s", name, due);
    return NULL;
}

// The label says what the annotation says, unless somebody changed one of them.
static bool is_labelled(struct trial *trial, const struct json *job) {
    const struct tracked_workload *tracked = rules_workload(trial, rules_text(job, "metadata", NULL, "uid"));
    return !tracked || tracked->tampered || trial->plan.back != TRIAL_BACK_NONE ||
           strcmp(rules_text(job, "metadata", "labels", MARK_CLUSTER),
                  rules_text(job, "metadata", "annotations", MARK_CLUSTER)) == 0;
}

// It stays without a mirror, since its namespace is not permitted.
static bool is_denied(struct trial *trial, size_t kind, const struct json *job) {
    return !phase_suspend_asked(&trial->engine_kinds[kind]->abi, job) && !mirror_of(trial, kind, job) &&
           spaces_keep(trial, rules_text(job, "metadata", NULL, "namespace"));
}

static bool was_told(struct trial *trial, const struct json *job) {
    const struct tracked_workload *tracked = rules_workload(trial, rules_text(job, "metadata", NULL, "uid"));
    return tracked && tracked->denied;
}

// What one workload lacks; NULL: nothing.
static char *workload_missing(struct trial *trial, size_t kind, const struct json *job) {
    const char *name = rules_text(job, "metadata", NULL, "name");
    const char *expected = rules_text(job, "metadata", "annotations", USERS_EXPECTED);
    wharf_phase_kind phase = sim_phase(trial->kinds[kind], job, NULL);
    if (*rules_text(job, "metadata", NULL, "deletionTimestamp"))
        return text_format("%s is still being deleted", name);
    if (!is_labelled(trial, job))
        return text_format("the label of %s does not name its cluster", name);
    if (!phase_is_final(phase) && !mirror_of(trial, kind, job) &&
        (is_given_up(trial, job) || is_tried_in_turn(trial, job)))
        return NULL;
    // Before it was placed, a status was written that this host did not write; or the host yields. A user may have
    // written the attempt.
    const struct tracked_workload *tracked = rules_workload(trial, rules_text(job, "metadata", NULL, "uid"));
    if (!phase_is_final(phase) && tracked && tracked->also_run &&
        (mirror_attempt(job) == 0 || tracked->tampered || trial->engine_kinds[kind]->hybrid == HYBRID_SUSPEND))
        return NULL;
    if (!phase_is_final(phase) && is_denied(trial, kind, job))
        return was_told(trial, job) ? NULL : text_format("the namespace of %s is denied, and no Event says so", name);
    if (!phase_is_final(phase))
        return running_missing(trial, kind, job);
    bool failed = phase == WHARF_FAILED;
    if (tracked && tracked->rival_end && kind == 0) // cannot be taken back
        return NULL;
    if (failed && kind == 0 && rules_gave_up(job))
        return is_given_up(trial, job) ? NULL : text_format("%s was given up, and no Event says so", name);
    // The pods that failed in all its mirrors count against backoffLimit.
    int64_t limit = json_int64(json_path(job, "spec", "backoffLimit", NULL), INT32_MAX);
    bool used_up = failed && kind == 0 && tracked && tracked->creates > 2 &&
                   json_int64(json_path(job, "status", "failed", NULL), 0) >= limit;
    if (strcmp(expected, failed ? "Complete" : "Failed") == 0 && !used_up)
        return text_format("%s is %s, and should be %s", name, failed ? "Failed" : "Complete", expected);
    return NULL;
}

// It was finished by another writer, while its mirror ran.
static bool is_disputed(struct trial *trial, size_t kind, const struct json *job, const struct json *mirror) {
    const struct tracked_workload *tracked = rules_workload(trial, rules_text(job, "metadata", NULL, "uid"));
    return tracked && tracked->rival_end && !sim_finished(trial->kinds[kind], mirror);
}

// A mirror that may stay: that of an unfinished workload.
static bool may_stay(struct trial *trial, size_t cluster, size_t kind, const struct json *mirror) {
    const struct json *job =
        trial_object(trial, ENGINE_MANAGEMENT, kind, rules_text(mirror, "metadata", NULL, "namespace"),
                     rules_text(mirror, "metadata", NULL, "name"));
    return job && trial_is_ours(trial, kind, job) &&
           (!sim_finished(trial->kinds[kind], job) || is_disputed(trial, kind, job, mirror)) &&
           strcmp(rules_text(job, "metadata", NULL, "uid"), rules_text(mirror, "metadata", "labels", MARK_UID)) == 0 &&
           mirror_attempt(job) == mirror_attempt(mirror) &&
           strcmp(rules_text(job, "metadata", "annotations", MARK_CLUSTER), world_name(trial->worlds[cluster])) == 0;
}

// A mirror has no label or annotation that delegates it, nor one that its adapter removes.
static bool is_removed(const wharf_kind *abi, const char *map, const char *key) {
    AUTO_JSON probe = json_new_object();
    struct json *metadata = probe ? json_new_object() : NULL, *keys = json_new_object();
    if (!keys || !json_set(keys, key, json_new_null()) || !json_set(metadata, map, keys) ||
        !json_set(probe, "metadata", metadata))
        abort();
    pointer_remove(probe, abi->managed_by);
    for (const char *const *pattern = abi->removed; pattern && *pattern; pattern++)
        pointer_remove_all(probe, *pattern);
    return !json_path(probe, "metadata", map, key, NULL);
}

static bool same_keys(const wharf_kind *abi, const struct json *job, const struct json *mirror, const char *map) {
    for (const struct json *m = json_first(json_path(job, "metadata", map, NULL)); m; m = json_next(m)) {
        const char *key = json_key(m);
        if (!mirror_key_is_private(key) && !strstr(key, "controller-uid") && !strstr(key, "job-name") &&
            !json_equal(json_path(mirror, "metadata", map, key, NULL), m) && !is_removed(abi, map, key))
            return false;
    }
    // "team" is the label that users remove.
    return !json_path(job, "metadata", map, "team", NULL) == !json_path(mirror, "metadata", map, "team", NULL);
}

// The mirror of a further attempt that started from nothing may have only the rest of the completions.
static bool is_rest(const struct json *job, const struct json *mirror) {
    return mirror_attempt(mirror) > 1 && strcmp(rules_text(job, "spec", NULL, "completionMode"), "Indexed") != 0 &&
           json_int64(pointer_find(mirror, "/spec/completions"), 0) <
               json_int64(pointer_find(job, "/spec/completions"), 0);
}

// The first field of a Job that differs and should not, or NULL.
static const char *not_carried(const struct json *job, const struct json *mirror) {
    static const char *const carried[] = {"/spec/suspend", "/spec/parallelism", "/spec/completions",
                                          "/spec/template/spec/nodeSelector", "/spec/template/metadata/annotations"};
    for (size_t i = 0; i < sizeof carried / sizeof *carried; i++)
        if (!json_equal(pointer_find(job, carried[i]), pointer_find(mirror, carried[i])) &&
            !(i == 2 && is_rest(job, mirror)))
            return carried[i];
    return NULL;
}

// It has no seal, and its create arrived after a process with a key had started: that process reports it as foreign,
// since nothing proves whose it is.
static bool is_late(struct trial *trial, const struct json *object) {
    const struct tracked_mirror *mirror = rules_mirror(trial, rules_text(object, "metadata", NULL, "uid"));
    return trial->plan.upgrade && mirror && mirror->made > 1 &&
           !*rules_text(object, "metadata", "annotations", MARK_SEAL);
}

// A mirror that stays equals its workload.
static char *mirror_missing(struct trial *trial, size_t cluster, size_t kind, const struct json *mirror) {
    const char *name = rules_text(mirror, "metadata", NULL, "name");
    const struct json *job =
        trial_object(trial, ENGINE_MANAGEMENT, kind, rules_text(mirror, "metadata", NULL, "namespace"), name);
    const struct tracked_workload *tracked = rules_workload(trial, rules_text(job, "metadata", NULL, "uid"));
    if (tracked->tampered || trial->plan.stripping)
        return NULL;
    if (trial->engine_kinds[kind]->hybrid == HYBRID_SUSPEND && tracked->also_run)
        return NULL;
    const struct sim_kind *sim = trial->kinds[kind];
    const wharf_kind *abi = &sim->kind->abi;
    if (began_before(sim, job))
        return NULL;
    // Fields that a queue in the worker wrote when it resumed the mirror stay.
    bool queued = queues_has(trial, cluster) && kind == 0;
    const char *field = kind == 0 && !queued ? not_carried(job, mirror) : NULL;
    if (phase_suspend_asked(abi, job) != phase_suspend_asked(abi, mirror))
        field = abi->suspend;
    if (field)
        return text_format("%s of the mirror of %s is not as the workload has it", field, name);
    AUTO_TEXT due = sim_mirror_due(sim, job, mirror, trial->now_ns);
    if (due)
        return text_format("something is still to be carried to the mirror of %s: %s", name, due);
    if (!same_keys(abi, job, mirror, "labels") || !same_keys(abi, job, mirror, "annotations"))
        return text_format("labels or annotations of the mirror of %s are not as the workload has them", name);
    return NULL;
}

static char *kind_missing_in(struct trial *trial, size_t cluster, size_t kind) {
    const wharf_kind *abi = &trial->engine_kinds[kind]->abi;
    struct world_cluster *world = trial->worlds[cluster];
    const void *cursor = NULL;
    for (const struct json *object; (object = world_next(world, abi->group, abi->plural, &cursor));) {
        char *missing = NULL;
        if (cluster == ENGINE_MANAGEMENT)
            missing = trial_is_ours(trial, kind, object) ? workload_missing(trial, kind, object) : NULL;
        else if (!rules_is_ours(trial, cluster, kind, object) || is_late(trial, object))
            continue;
        else if (!may_stay(trial, cluster, kind, object))
            return text_format("a mirror %s is left over in %s", rules_text(object, "metadata", NULL, "name"),
                               world_name(world));
        else
            missing = mirror_missing(trial, cluster, kind, object);
        if (missing)
            return missing;
    }
    return NULL;
}

char *outcome_missing(struct trial *trial) {
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        for (size_t k = 0; k < trial->n_kinds; k++) {
            char *missing = kind_missing_in(trial, c, k);
            if (missing)
                return missing;
        }
    return need_rules_missing(trial);
}

void outcome_count(struct trial *trial) {
    for (size_t i = 0; i < trial->rules->n_workloads; i++) {
        const struct tracked_workload *job = &trial->rules->workloads[i];
        const struct json *now = trial_object(trial, ENGINE_MANAGEMENT, job->kind, job->namespace_, job->name);
        if (!job->ours || job->touched || !now || strcmp(rules_text(now, "metadata", NULL, "uid"), job->uid) != 0)
            continue;
        if (*rules_text(now, "metadata", "annotations", MARK_RETRIED)) // more than one life
            continue;
        bool ran = job->creates > 0;
        bool over = sim_finished(trial->kinds[job->kind], now);
        // A suspended Job gets its condition; for other kinds some changes concern the worker only. Where statuses wait
        // for a place, for the thread of its cluster (rule 5: one in flight), or for another replica that takes over,
        // several changes are one.
        bool exact = job->kind == 0 && !trial->plan.slow && !trial->plan.burst && trial->plan.window_max == 0 &&
                     !trial->plan.costs && !trial->plan.late_threads && !trial->plan.elects &&
                     places_retries(trial) == 0; // a failure is held back
        bool fits = exact ? job->statuses == (ran ? job->changes : 1)
                          : job->statuses <= job->changes + !ran && (job->kind > 0 || job->statuses > 0);
        if (job->placements != ran || job->creates != ran || job->deletes != (ran && over) || !fits ||
            job->releases != (ran && over && trial->plan.mirror_finalizer))
            trial_fail(trial,
                       "the life of %s cost %u placements, %u creates, %u statuses for %u changes, and %u deletes",
                       job->name, job->placements, job->creates, job->statuses, job->changes, job->deletes);
        // Dispatched, finished; that it waits is told after a minute; and that all workers are full.
        unsigned events = 2U + trial->plan.costs + places_are_limited(trial);
        if (job->events > events)
            trial_fail(trial, "the life of %s made %u Events", job->name, job->events);
    }
}

void outcome_compare(struct trial *trial, const struct json *workload, const struct json *mirror) {
    static const char *const same[] = {"active",           "ready",         "terminating",    "succeeded", "failed",
                                       "completedIndexes", "failedIndexes", "completionTime", "startTime"};
    const struct json *a = json_get(workload, "status"), *b = json_get(mirror, "status");
    const struct tracked_workload *job = rules_workload(trial, rules_text(workload, "metadata", NULL, "uid"));
    if (!sim_finished(trial->kinds[job->kind], mirror) || job->creates > 1 || job->scaled ||
        is_too_late(trial, workload, mirror))
        return; // another mirror finished it, or none did, or the workload has changed since
    if (job->kind > 0) {
        if (began_before(trial->kinds[job->kind], workload))
            return;
        AUTO_TEXT due = sim_status_due(trial->kinds[job->kind], workload, mirror, trial->now_ns);
        if (due)
            trial_fail(trial, "the status of %s does not follow from its mirror: %s",
                       rules_text(workload, "metadata", NULL, "name"), due);
        return;
    }
    bool resumed = json_get(b, "startTime") && rules_has_condition(mirror, "Suspended");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        // A workload that was not seen while it was suspended keeps its startTime: the API server insists on that.
        if (json_equal(json_get(a, same[i]), json_get(b, same[i])) || (resumed && strcmp(same[i], "startTime") == 0))
            continue;
        AUTO_TEXT left = json_text(a, NULL);
        AUTO_TEXT right = json_text(b, NULL);
        trial_fail(trial, "%s of %s is not what its mirror has: %s, not %s", same[i],
                   rules_text(workload, "metadata", NULL, "name"), left, right);
    }
    if (rules_condition(workload, "Complete") != rules_condition(mirror, "Complete"))
        trial_fail(trial, "%s did not end as its mirror", rules_text(workload, "metadata", NULL, "name"));
}
