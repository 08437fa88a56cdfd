// SPDX-License-Identifier: Apache-2.0
// The pods of a Job as plans with times: when each becomes ready, when and how it ends. Pod objects are created only if
// the option `pods` is set.
#include "core/base/clock.h"
#include "tests/world/indexes.h"
#include "tests/world/job_run.h"
#include "tests/world/pod_needs.h"
#include "tests/world/scheduler.h"
#include "tests/world/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POD_START (200 * CLOCK_MS)
#define POD_STOP (100 * CLOCK_MS)
#define POD_BACKOFF (500 * CLOCK_MS)
#define POD_UNBOUND (250 * CLOCK_MS) // until the scheduler looks at it again
#define POD_STEPS 8                  // of world.test/spread
#define PODS_MAX 5000

static int64_t number(const struct json *spec, const char *name) {
    return json_int64(json_get(spec, name), -1);
}

struct job_spec job_spec_read(const struct json *job) {
    const struct json *spec = json_get(job, "spec");
    return (struct job_spec){.indexed = strcmp(json_string_or(json_get(spec, "completionMode"), ""), "Indexed") == 0,
                             .suspended = json_bool(json_get(spec, "suspend"), false),

                             .parallelism = json_int64(json_get(spec, "parallelism"), 1),
                             .completions = number(spec, "completions"),
                             .backoff_limit = json_int64(json_get(spec, "backoffLimit"), 6),
                             .per_index = number(spec, "backoffLimitPerIndex"),
                             .max_failed = number(spec, "maxFailedIndexes"),
                             .deadline_s = number(spec, "activeDeadlineSeconds"),
                             .ttl_s = number(spec, "ttlSecondsAfterFinished")};
}

static int64_t duration_of(const struct json *job, const char *annotation, int64_t otherwise) {
    const char *text = world_annotation(job, annotation);
    int64_t duration;
    return text && clock_parse_duration(text, &duration) ? duration : otherwise;
}

static void read_failures(struct job_run *run, const char *text) {
    if (!text)
        return;
    run->fail_text = world_strdup(text);
    run->fail_all = strcmp(text, "all") == 0;
    if (text_has_prefix(text, "index:"))
        run->fail_indexes = run->fail_text + strlen("index:");
    else if (!text_to_int64(text, &run->fail_left))
        run->fail_left = 0;
}

static int64_t default_duration(struct world_cluster *cluster) {
    if (cluster->options.pod_run_ns)
        return cluster->options.pod_run_ns;
    return CLOCK_SECOND + (int64_t)random_below(&cluster->random, (uint64_t)(2 * CLOCK_SECOND));
}

static void read_list(const struct json *status, const char *name, bool *set, size_t count) {
    memset(set, 0, count);
    indexes_read(json_string_or(json_get(status, name), ""), set, count);
}

void job_run_read(struct job_run *run, const struct job_spec *spec, const struct json *status) {
    if (run->unwritten)
        return;
    const struct json *uncounted = json_get(json_get(status, "uncountedTerminatedPods"), "succeeded");
    run->failed = json_int64(json_get(status, "failed"), 0);
    run->succeeded = json_int64(json_get(status, "succeeded"), 0) + (int64_t)json_size(uncounted);
    if (!spec->indexed)
        return;
    read_list(status, "completedIndexes", run->done, run->indexes);
    read_list(status, "failedIndexes", run->lost, spec->per_index >= 0 ? run->indexes : 0);
}

struct job_run *job_run_new(struct stored *job, const struct job_spec *spec) {
    struct world_cluster *cluster = job->kind->cluster;
    struct job_run *run = world_alloc(sizeof *run);
    const struct world_options *options = &cluster->options;
    run->duration_ns = duration_of(job->value, WORLD_DURATION, -1);
    if (run->duration_ns < 0)
        run->duration_ns = default_duration(cluster);
    run->held = world_annotation(job->value, WORLD_HOLD);
    run->start_ns = duration_of(job->value, WORLD_START, options->pod_start_ns ? options->pod_start_ns : POD_START);
    read_failures(run, world_annotation(job->value, WORLD_FAIL));
    run->spread_ns = duration_of(job->value, WORLD_SPREAD, 0);
    if (spec->indexed) {
        run->indexes = (size_t)(spec->completions > 0 ? spec->completions : 0);
        run->done = world_alloc(run->indexes);
        run->lost = world_alloc(run->indexes);
        run->index_failures = world_alloc(run->indexes * sizeof *run->index_failures);
    }
    return run;
}

void job_run_free(struct job_run *run) {
    free(run->pods);
    free(run->fail_text);
    free(run->done);
    free(run->lost);
    free(run->index_failures);
    free(run);
}

static bool in_list(const char *list, int64_t index) {
    for (const char *at = list; at && *at;) {
        char *end;
        if (strtoll(at, &end, 10) == index && end != at)
            return true;
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    return false;
}

static bool will_fail(struct job_run *run, int64_t index) {
    if (run->fail_all)
        return true;
    if (run->fail_indexes)
        return in_list(run->fail_indexes, index);
    if (run->fail_left <= 0)
        return false;
    run->fail_left--;
    return true;
}

static struct json *make_owner(const struct stored *job) {
    struct json *owner = json_new_object();
    if (!owner)
        world_oom();
    world_set_text(owner, "apiVersion", "batch/v1");
    world_set_text(owner, "kind", "Job");
    world_set_text(owner, "name", job->name);
    world_set_text(owner, "uid", job->uid);
    world_json_set(owner, "controller", json_new_bool(true));
    world_json_set(owner, "blockOwnerDeletion", json_new_bool(true));
    return owner;
}

static void make_pod_object(const struct stored *job, struct pod *pod) {
    struct world_cluster *cluster = job->kind->cluster;
    const struct json *template_ = json_path(job->value, "spec", "template", NULL);
    struct json *object = template_ ? world_json_copy(template_) : json_new_object(), *owners = json_new_array();
    struct json *metadata = world_json_child(object, "metadata");
    AUTO_TEXT index = text_format("%lld", (long long)pod->index);
    if (pod->index >= 0)
        world_set_text(world_json_child(metadata, "annotations"), "batch.kubernetes.io/job-completion-index", index);
    snprintf(pod->name, sizeof pod->name, "%.60s-%06x", job->name, (unsigned)random_below(&cluster->random, 0xffffff));
    world_set_text(metadata, "name", pod->name);
    world_json_set(metadata, "ownerReferences", owners);
    if (!json_append(json_get(metadata, "ownerReferences"), make_owner(job)))
        world_oom();
    world_create_internal(cluster->pods, job->namespace_, object);
    const struct stored *stored = world_find(cluster->pods, job->namespace_, pod->name);
    text_copy(pod->uid, sizeof pod->uid, stored ? stored->uid : "");
}

static void set_pod_status(const struct stored *job, const struct pod *pod, const char *phase, const char *waiting) {
    struct stored *object = *pod->uid ? map_get(&job->kind->cluster->by_uid, pod->uid) : NULL;
    if (!object)
        return;
    struct json *status = json_new_object();
    if (!status)
        world_oom();
    world_set_text(status, "phase", phase);
    if (waiting) {
        struct json *list = json_new_array(), *container = json_new_object();
        if (!list || !json_append(list, container))
            world_oom();
        world_set_text(world_json_child(world_json_child(container, "state"), "waiting"), "reason", waiting);
        world_json_set(status, "containerStatuses", list);
    }
    world_write_status(object, status);
}

static enum need_effect missing_for(const struct stored *job) {
    return pod_needs_missing(job->kind->cluster, job->namespace_,
                             json_path(job->value, "spec", "template", "spec", NULL));
}

// Waits for a node, and for what it names, until then.
static void bind_pod(const struct stored *job, const struct job_run *run, struct pod *pod) {
    const struct world_cluster *cluster = job->kind->cluster;
    struct stored *object = *pod->uid ? map_get(&cluster->by_uid, pod->uid) : NULL;
    bool lacked = pod->lacking;
    pod->lacking = missing_for(job) != NEED_NONE;
    pod->unbound = object && !scheduler_bind(object);
    if (pod->lacking && !lacked)
        set_pod_status(job, pod, "Pending", "CreateContainerConfigError");
    bool starts = !pod->unbound && !pod->lacking;
    pod->ready_ns = starts ? cluster->now_ns + run->start_ns : CLOCK_NEVER;
    pod->end_ns = starts && !run->held ? pod->ready_ns + run->duration_ns + pod->longer_ns : CLOCK_NEVER;
}

static void add_pod(struct stored *job, struct job_run *run, int64_t index) {
    const struct world_cluster *cluster = job->kind->cluster;
    if (run->pod_count == run->pod_capacity) {
        run->pod_capacity = run->pod_capacity ? 2 * run->pod_capacity : 4;
        run->pods = world_resize(run->pods, run->pod_capacity * sizeof *run->pods);
    }
    struct pod *pod = &run->pods[run->pod_count++];
    *pod = (struct pod){.index = index, .fails = will_fail(run, index)};
    pod->longer_ns = run->spread_ns * (run->pods_made++ % POD_STEPS);
    if (cluster->pod_hook)
        cluster->pod_hook(cluster->pod_hook_ctx, job->value, index);
    if (cluster->options.pods)
        make_pod_object(job, pod);
    bind_pod(job, run, pod);
}

static void note_failure(struct stored *job, struct job_run *run, const struct pod *pod) {
    const struct world_cluster *cluster = job->kind->cluster;
    int64_t base = cluster->options.pod_backoff_ns ? cluster->options.pod_backoff_ns : POD_BACKOFF;
    run->failed++;
    if (pod->stopping)
        return;
    run->backoff_until_ns = cluster->now_ns + (base << (run->failures < 3 ? run->failures : 3));
    run->failures++;
    if (pod->index >= 0 && (size_t)pod->index < run->indexes)
        run->index_failures[pod->index]++;
}

static void end_pod(struct stored *job, struct job_run *run, const struct pod *pod) {
    if (pod->stopping) {
        if (run->failing)
            note_failure(job, run, pod);
        struct stored *object = *pod->uid ? map_get(&job->kind->cluster->by_uid, pod->uid) : NULL;
        if (object)
            world_remove_stored(object, "Background", true);
        return;
    }
    set_pod_status(job, pod, pod->fails ? "Failed" : "Succeeded", NULL);
    if (pod->fails) {
        note_failure(job, run, pod);
        return;
    }
    run->failures = 0;
    if (pod->index < 0)
        run->succeeded++;
    else if ((size_t)pod->index < run->indexes)
        run->done[pod->index] = true;
}

static void let_end(struct job_run *run) {
    for (size_t i = 0; i < run->pod_count; i++)
        if (run->pods[i].end_ns == CLOCK_NEVER && !run->pods[i].unbound && !run->pods[i].lacking)
            run->pods[i].end_ns = run->pods[i].ready_ns + run->duration_ns + run->pods[i].longer_ns;
}

void job_pods_advance(struct stored *job, struct job_run *run, const struct job_spec *spec) {
    if (job->kind->cluster->held_may_end)
        let_end(run);
    size_t kept = 0;
    int64_t now = job->kind->cluster->now_ns;
    for (size_t i = 0; i < run->pod_count; i++)
        if ((run->pods[i].unbound || run->pods[i].lacking) && !run->pods[i].stopping)
            bind_pod(job, run, &run->pods[i]);
    for (size_t i = 0; i < run->pod_count; i++)
        if (run->pods[i].end_ns <= now)
            end_pod(job, run, &run->pods[i]);
        else
            run->pods[kept++] = run->pods[i];
    run->pod_count = kept;
    if (!spec->indexed)
        return;
    run->succeeded = 0;
    for (size_t i = 0; i < run->indexes; i++) {
        run->succeeded += run->done[i];
        run->lost[i] |= spec->per_index >= 0 && run->index_failures[i] > spec->per_index;
    }
}

void job_pods_stop(struct stored *job, struct job_run *run, int64_t keep) {
    const struct world_cluster *cluster = job->kind->cluster;
    int64_t stop = cluster->options.pod_stop_ns ? cluster->options.pod_stop_ns : POD_STOP;
    for (size_t i = 0; i < run->pod_count; i++) {
        struct pod *pod = &run->pods[i];
        if (pod->stopping || keep-- > 0)
            continue;
        pod->stopping = true;
        pod->end_ns = cluster->now_ns + stop;
    }
}

static bool index_is_running(const struct job_run *run, size_t index) {
    for (size_t i = 0; i < run->pod_count; i++)
        if (run->pods[i].index == (int64_t)index)
            return true;
    return false;
}

static void fill_indexed(struct stored *job, struct job_run *run, const struct job_spec *spec, int64_t active) {
    for (size_t i = 0; i < run->indexes && active < spec->parallelism; i++)
        if (!run->done[i] && !run->lost[i] && !index_is_running(run, i)) {
            add_pod(job, run, (int64_t)i);
            active++;
        }
}

void job_pods_resize(struct job_run *run, const struct job_spec *spec) {
    size_t count = spec->completions > 0 ? (size_t)spec->completions : 0;
    if (!spec->indexed || count == run->indexes)
        return;
    if (count > run->indexes) {
        run->done = world_resize(run->done, count);
        run->lost = world_resize(run->lost, count);
        run->index_failures = world_resize(run->index_failures, count * sizeof *run->index_failures);
        for (size_t i = run->indexes; i < count; i++) {
            run->done[i] = run->lost[i] = false;
            run->index_failures[i] = 0;
        }
    }
    run->indexes = count;
    run->succeeded = 0;
    for (size_t i = 0; i < count; i++)
        run->succeeded += run->done[i];
}

void job_pods_fill(struct stored *job, struct job_run *run, const struct job_spec *spec) {
    int64_t now = job->kind->cluster->now_ns, active, ready, terminating;
    job_pods_count(run, now, &active, &ready, &terminating);
    if (active > spec->parallelism)
        job_pods_stop(job, run, spec->parallelism);
    enum need_effect missing = missing_for(job);
    run->lacks = missing != NEED_NONE;
    if (run->backoff_until_ns > now || missing == NEED_REFUSED)
        return;
    if (spec->indexed) {
        fill_indexed(job, run, spec, active);
        return;
    }
    int64_t want = spec->parallelism < PODS_MAX ? spec->parallelism : PODS_MAX;
    if (spec->completions >= 0 && want > spec->completions - run->succeeded)
        want = spec->completions - run->succeeded;
    // Without completions no pod is added once one has succeeded.
    if (spec->completions < 0 && run->succeeded > 0)
        want = 0;
    for (; active < want; active++)
        add_pod(job, run, -1);
}

void job_pods_count(const struct job_run *run, int64_t now_ns, int64_t *active, int64_t *ready, int64_t *terminating) {
    *active = *ready = *terminating = 0;
    for (size_t i = 0; i < run->pod_count; i++) {
        const struct pod *pod = &run->pods[i];
        *terminating += pod->stopping;
        *active += !pod->stopping;
        *ready += !pod->stopping && pod->ready_ns <= now_ns;
    }
}

int64_t job_pods_next(const struct job_run *run, int64_t now_ns) {
    int64_t next = run->backoff_until_ns > now_ns ? run->backoff_until_ns : CLOCK_NEVER;
    for (size_t i = 0; i < run->pod_count; i++) {
        const struct pod *pod = &run->pods[i];
        int64_t at = !pod->stopping && pod->ready_ns > now_ns ? pod->ready_ns : pod->end_ns;
        if (pod->unbound && !pod->stopping)
            at = now_ns + POD_UNBOUND;
        if (at < next)
            next = at;
    }
    return next;
}
