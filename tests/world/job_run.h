// SPDX-License-Identifier: Apache-2.0
// The Job controller's state of one Job: its pods and progress.
#pragma once

#include "tests/world/controllers.h"

struct pod {
    int64_t ready_ns;              // when it becomes ready
    int64_t end_ns;                // when it ends by itself, or after it was stopped
    int64_t longer_ns;             // than the first pod of its Job
    int64_t index;                 // of an Indexed Job; -1
    bool fails, stopping, unbound; // unbound: the scheduler has no node for it yet
    bool lacking;                  // an object that it names is missing
    char uid[37];                  // of its Pod object; "" if there is none
    char name[80];
};

struct job_run {
    struct pod *pods;
    size_t pod_count, pod_capacity;
    int64_t duration_ns, start_ns, spread_ns;
    int64_t pods_made;
    bool held;  // world.test/hold
    bool lacks; // pods of it wait for an object that they name, or cannot be created without it
    bool fail_all;
    int64_t fail_left;        // pods that are still to fail
    const char *fail_indexes; // "1,3" in the annotation's copy below
    char *fail_text;
    int64_t backoff_until_ns;
    unsigned failures; // consecutive
    int64_t succeeded, failed;
    size_t indexes;    // completions of an Indexed Job
    bool *done, *lost; // by index: succeeded, failed for good
    int32_t *index_failures;
    int64_t script_start_ns; // world.test/changes
    int64_t script_step;
    bool scripted;
    bool unwritten; // the last status was refused, so that the stored one does not say what is known here
    bool failing;   // pods that are stopped now count as failed; those of a suspended or smaller Job do not
};

// What the spec says, read once a sync.
struct job_spec {
    bool indexed, suspended;
    int64_t parallelism, completions, backoff_limit, per_index, max_failed, deadline_s, ttl_s; // -1: not set
};
struct job_spec job_spec_read(const struct json *job);

// job_pods.c
struct job_run *job_run_new(struct stored *job, const struct job_spec *spec);
void job_run_free(struct job_run *run);
// Takes over what the status says: another client may have written it. The controller keeps no count of its own.
void job_run_read(struct job_run *run, const struct job_spec *spec, const struct json *status);
// Pods that became ready or ended by now. Returns true if any ended.
void job_pods_advance(struct stored *job, struct job_run *run, const struct job_spec *spec);
// Stops all (or, with keep >= 0, all but `keep`) running pods.
void job_pods_stop(struct stored *job, struct job_run *run, int64_t keep);
// After a change of spec.completions: indexes beyond the new number do not count.
void job_pods_resize(struct job_run *run, const struct job_spec *spec);
// Creates missing pods.
void job_pods_fill(struct stored *job, struct job_run *run, const struct job_spec *spec);
void job_pods_count(const struct job_run *run, int64_t now_ns, int64_t *active, int64_t *ready, int64_t *terminating);
int64_t job_pods_next(const struct job_run *run, int64_t now_ns);

// job_script.c: world.test/changes.
void job_script_sync(struct stored *job, struct job_run *run, const struct job_spec *spec, int64_t changes);

// job_conditions.c: parts of a status.
void job_set_condition(struct json *status, const char *type, bool value, const char *reason, const char *message,
                       int64_t now_ns);
void job_set_counts(struct json *status, int64_t active, int64_t ready, int64_t terminating, int64_t succeeded,
                    int64_t failed);
void job_set_complete(struct json *status, int64_t now_ns);
void job_set_failed(struct json *status, int64_t now_ns);
struct json *job_status_copy(const struct stored *job);
