// SPDX-License-Identifier: Apache-2.0
// The Job controller: syncs the status of a Job with the plan of its pods, in the same order as kube-controller-manager
// (pkg/controller/job syncJob). Finishing takes two writes, SuccessCriteriaMet or FailureTarget and then, once no pod
// is left, Complete or Failed.
#include "core/base/clock.h"
#include "tests/world/indexes.h"
#include "tests/world/job_run.h"
#include "tests/world/meta.h"
#include "tests/world/rules.h"
#include "tests/world/server.h"

#include <string.h>

void world_jobs_forget(struct stored *job) {
    job_run_free(job->run);
    job->run = NULL;
}

void world_jobs_wake(struct world_cluster *cluster, int64_t at_ns) {
    for (struct stored *job = cluster->jobs->head.next[0]; job; job = job->next[0]) {
        const struct job_run *run = job->run;
        if (run && run->lacks && (job->timer.place == HEAP_NOT_IN || job->timer.at_ns > at_ns))
            world_controllers_at(job, at_ns);
    }
}

static bool is_ours(const struct json *job) {
    const char *manager = json_string(json_path(job, "spec", "managedBy", NULL));
    return !manager || strcmp(manager, "kubernetes.io/job-controller") == 0;
}

static int64_t finished_at(const struct json *job) {
    int64_t at = 0;
    for (const struct json *item = json_first(json_path(job, "status", "conditions", NULL)); item;
         item = json_next(item)) {
        const char *type = json_string_or(json_get(item, "type"), "");
        if (strcmp(type, "Complete") == 0 || strcmp(type, "Failed") == 0)
            clock_parse_rfc3339(json_string_or(json_get(item, "lastTransitionTime"), ""), &at);
    }
    return at;
}

// The TTL controller handles all finished Jobs, whatever their managedBy.
static void expire(struct stored *job) {
    int64_t ttl = json_int64(json_path(job->value, "spec", "ttlSecondsAfterFinished", NULL), -1);
    int64_t at = finished_at(job->value) + ttl * CLOCK_SECOND;
    if (job->run)
        world_jobs_forget(job);
    if (ttl < 0 || meta_deleting(job->value))
        return;
    if (at <= job->kind->cluster->now_ns)
        world_remove_stored(job, "Foreground", true);
    else
        world_controllers_at(job, at);
}

static size_t lost_indexes(const struct job_run *run) {
    size_t lost = 0;
    for (size_t i = 0; i < run->indexes; i++)
        lost += run->lost[i];
    return lost;
}

static bool deadline_passed(const struct json *status, const struct job_spec *spec, int64_t now, int64_t *at) {
    int64_t started;
    *at = CLOCK_NEVER;
    if (spec->deadline_s < 0 || spec->suspended ||
        !clock_parse_rfc3339(json_string_or(json_get(status, "startTime"), ""), &started))
        return false;
    *at = started + spec->deadline_s * CLOCK_SECOND;
    return *at <= now;
}

// Why the Job fails, or NULL.
static const char *failure(const struct job_run *run, const struct job_spec *spec, const struct json *status,
                           int64_t now, const char **message) {
    int64_t at;
    size_t lost = lost_indexes(run);
    *message = "Job has reached the specified backoff limit";
    if (run->failed > spec->backoff_limit)
        return "BackoffLimitExceeded";
    *message = "Job was active longer than specified deadline";
    if (deadline_passed(status, spec, now, &at))
        return "DeadlineExceeded";
    *message = "Job has exceeded the specified maximal number of failed indexes";
    if (spec->max_failed >= 0 && (int64_t)lost > spec->max_failed)
        return "MaxFailedIndexesExceeded";
    *message = "Job has failed indexes";
    if (lost > 0 && (int64_t)lost + run->succeeded >= spec->completions)
        return "FailedIndexes";
    return NULL;
}

static void set_indexes(struct json *status, const struct job_run *run, const struct job_spec *spec) {
    if (!spec->indexed)
        return;
    struct buffer text;
    buffer_init(&text, 1 << 20);
    indexes_print(run->done, run->indexes, &text);
    if (text.len)
        world_set_text(status, "completedIndexes", text.data);
    else
        json_remove(status, "completedIndexes");
    buffer_reset(&text);
    indexes_print(run->lost, run->indexes, &text);
    if (spec->per_index >= 0)
        world_set_text(status, "failedIndexes", text.len ? text.data : "");
    buffer_free(&text);
}

static void suspend_or_resume(struct stored *job, struct job_run *run, const struct job_spec *spec, struct json *status,
                              int64_t now) {
    bool was = job_condition(job->value, "Suspended", "True");
    if (spec->suspended) {
        job_pods_stop(job, run, -1);
        if (!was)
            json_remove(status, "startTime");
        job_set_condition(status, "Suspended", true, "JobSuspended", "Job suspended", now);
        return;
    }
    if (was) {
        job_set_condition(status, "Suspended", false, "JobResumed", "Job resumed", now);
        json_remove(status, "startTime");
    }
    if (!json_get(status, "startTime"))
        meta_stamp_time(status, "startTime", now);
}

static bool reached(const struct job_run *run, const struct job_spec *spec, int64_t active) {
    if (spec->completions < 0)
        return run->succeeded > 0 && active == 0;
    return run->succeeded >= spec->completions && active == 0;
}

// The API server takes the end of a Job only with the time of its start, so that one that is suspended has to be
// resumed first.
static void finish(struct json *status, const struct job_spec *spec, bool success, bool pods, int64_t now) {
    if (pods || (!json_get(status, "startTime") && spec->completions != 0))
        return;
    if (success)
        job_set_complete(status, now);
    else
        job_set_failed(status, now);
}

// Finishes the Job, or manages its pods.
static void decide(struct stored *job, struct job_run *run, const struct job_spec *spec, struct json *status) {
    if (!spec->suspended && !json_get(status, "startTime"))
        meta_stamp_time(status, "startTime", job->kind->cluster->now_ns);
    int64_t now = job->kind->cluster->now_ns, active, ready, terminating;
    const char *message, *reason;
    bool success = job_condition(job->value, "SuccessCriteriaMet", "True");
    bool target = job_condition(job->value, "FailureTarget", "True");
    job_pods_count(run, now, &active, &ready, &terminating);
    if (success || target) {
        finish(status, spec, success, active + terminating > 0, now);
    } else if ((reason = failure(run, spec, status, now, &message))) {
        run->failing = true;
        job_pods_stop(job, run, -1);
        job_set_condition(status, "FailureTarget", true, reason, message, now);
    } else if (reached(run, spec, active)) {
        job_set_condition(status, "SuccessCriteriaMet", true, "CompletionsReached",
                          "Reached expected number of succeeded pods", now);
    } else {
        suspend_or_resume(job, run, spec, status, now);
        if (!spec->suspended)
            job_pods_fill(job, run, spec);
    }
}

static void plan_next(struct stored *job, const struct job_run *run, const struct job_spec *spec) {
    int64_t now = job->kind->cluster->now_ns, next = job_pods_next(run, now), deadline;
    deadline_passed(json_get(job->value, "status"), spec, now, &deadline);
    if (deadline < next && deadline > now)
        next = deadline;
    if (next != CLOCK_NEVER && (job->timer.place == HEAP_NOT_IN || job->timer.at_ns > next))
        world_controllers_at(job, next);
}

static bool criteria_met(const struct json *status) {
    for (const struct json *item = json_first(json_get(status, "conditions")); item; item = json_next(item))
        if (strcmp(json_string_or(json_get(item, "type"), ""), "SuccessCriteriaMet") == 0)
            return true;
    return false;
}

// Pods that have succeeded are first listed as uncounted, with SuccessCriteriaMet, and counted with Complete.
// The indexes of an Indexed Job are counted at once.
static int64_t list_uncounted(struct stored *job, const struct job_run *run, const struct job_spec *spec,
                              struct json *status) {
    bool reaching = !spec->indexed && !job_condition(job->value, "SuccessCriteriaMet", "True") && criteria_met(status);
    int64_t counted = json_int64(json_path(job->value, "status", "succeeded", NULL), 0);
    struct json *list = json_new_array(), *uncounted = json_new_object();
    if (!list || !uncounted)
        world_oom();
    for (int64_t i = counted; reaching && i < run->succeeded; i++) {
        AUTO_TEXT uid = text_format("%.23s-%012llx", job->uid, (unsigned long long)i);
        if (!json_append(list, json_new_string(uid)))
            world_oom();
    }
    if (json_size(list) > 0)
        world_json_set(uncounted, "succeeded", list);
    else
        json_free(list);
    world_json_set(status, "uncountedTerminatedPods", uncounted);
    return reaching ? counted : run->succeeded;
}

static void sync(struct stored *job, struct job_run *run, const struct job_spec *spec) {
    int64_t now = job->kind->cluster->now_ns, active, ready, terminating;
    struct json *status = job_status_copy(job);
    job_pods_resize(run, spec);
    job_run_read(run, spec, json_get(job->value, "status"));
    job_pods_advance(job, run, spec);
    decide(job, run, spec, status);
    job_pods_count(run, now, &active, &ready, &terminating);
    int64_t succeeded = list_uncounted(job, run, spec, status);
    job_set_counts(status, active, ready, terminating, succeeded, run->failed);
    set_indexes(status, run, spec);
    if (json_equal(status, json_get(job->value, "status")))
        json_free(status);
    else
        run->unwritten = !world_write_status(job, status);
    plan_next(job, run, spec);
}

static int64_t scripted_changes(const struct json *job) {
    const char *text = world_annotation(job, WORLD_CHANGES);
    int64_t changes = 0;
    return text && text_to_int64(text, &changes) ? changes : 0;
}

void world_jobs_sync(struct stored *job) {
    if (job_finished(job->value)) {
        expire(job);
        return;
    }
    if (!is_ours(job->value) || meta_deleting(job->value)) {
        if (job->run)
            world_jobs_forget(job);
        return;
    }
    struct job_spec spec = job_spec_read(job->value);
    if (!job->run)
        job->run = job_run_new(job, &spec);
    int64_t changes = scripted_changes(job->value);
    if (changes > 0)
        job_script_sync(job, job->run, &spec, changes);
    else
        sync(job, job->run, &spec);
}
