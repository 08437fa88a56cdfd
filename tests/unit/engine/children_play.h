// SPDX-License-Identifier: Apache-2.0
// A JobSet whose Jobs go on where those of the former mirror were. The test acts for the JobSet and Job controllers.
#pragma once

#include "tests/unit/engine/stage.h"
#include "tests/unit/plugins/one_kind.h"
#include "tests/world/custom.h"

#include <stdio.h>

#define PROGRESS_AT "/metadata/annotations/wharf.dev~1progress"
#define RJOB(name, replicas, more)                                                                                     \
    "{'name':'" name "','replicas':" replicas ",'template':{'spec':{'completionMode':'Indexed','completions':4,"       \
    "'parallelism':4," more "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}}"
#define SPEC "'replicatedJobs':[" RJOB("w", "2", "") "," RJOB("d", "1", "") "]"
#define CONDITION(type)                                                                                                \
    "{'type':'" type "','status':'True','reason':'R','message':'','lastTransitionTime':'" HARNESS_NOW "'}"
#define COUNTS(name, ready, succeeded, failed)                                                                         \
    "{'name':'" name "','ready':" #ready ",'succeeded':" #succeeded ",'failed':" #failed ",'active':0,'suspended':0}"

static struct kind *play_kind;

static inline int play_load(void **state) {
    stage_load(state);
    struct error *error = kind_check(find_kind("jobset", "JobSet"), NULL, "wharf.dev/host", &play_kind);
    if (error)
        fail_msg("%s", error_text(error));
    return 0;
}

static inline int play_unload(void **state) {
    (void)state;
    kind_free(play_kind);
    return 0;
}

// -- the controllers of a worker --

static inline const struct json *play_job(struct stage *stage, size_t cluster, const char *name) {
    return world_object(stage->clusters[cluster], "batch", "jobs", "default", name);
}

static inline const char *play_job_text(struct stage *stage, size_t cluster, const char *name, const char *pointer) {
    const char *text = json_string(pointer_find(play_job(stage, cluster, name), pointer));
    return text ? text : "";
}

// One Job of the JobSet, suspended as the JobSet is.
static inline void play_make_job(struct stage *stage, size_t cluster, const char *of, unsigned index,
                                 unsigned restarts) {
    const struct json *set = stage_job(stage, cluster, "a");
    const struct json *found = json_find_item(pointer_find(set, "/spec/replicatedJobs"), "name", of);
    assert_non_null(found);
    AUTO_TEXT text = text_format(
        "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'a-%s-%u','namespace':'default','labels':{"
        "'jobset.sigs.k8s.io/jobset-name':'a','jobset.sigs.k8s.io/replicatedjob-name':'%s',"
        "'jobset.sigs.k8s.io/job-index':'%u','jobset.sigs.k8s.io/restart-attempt':'%u'},'ownerReferences':[{"
        "'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','name':'a','uid':'%s','controller':true}]}}",
        of, index, of, index, restarts, object_uid(set));
    AUTO_JSON job = harness_json(text);
    struct json *spec = json_copy(pointer_find(found, "/template/spec"));
    bool suspended = json_bool(pointer_find(set, "/spec/suspend"), false);
    assert_true(json_set(spec, "suspend", json_new_bool(suspended)) && json_set(job, "spec", spec));
    stage->user = true;
    assert_int_equal(world_apply(stage->clusters[cluster], "batch", "jobs", job, stage->now.wall_ns), 201);
    stage->user = false;
}

static inline void play_status(struct stage *stage, size_t cluster, const char *status) {
    AUTO_TEXT text = text_format("{'status':{%s}}", status);
    assert_int_equal(stage_patch(stage, cluster, "a", "status", text), 200);
    stage_run(stage, CLOCK_SECOND);
}

#define IDLE "'restarts':0,'replicatedJobsStatus':[" COUNTS("w", 0, 0, 0) "," COUNTS("d", 0, 0, 0) "]"

// All Jobs of the mirror, and the first status.
static inline void play_make_all(struct stage *stage, size_t cluster) {
    play_make_job(stage, cluster, "w", 0, 0);
    play_make_job(stage, cluster, "w", 1, 0);
    play_make_job(stage, cluster, "d", 0, 0);
    play_status(stage, cluster, IDLE);
}

static inline void play_does(struct stage *stage, size_t cluster, const char *job, int succeeded, const char *indexes) {
    AUTO_TEXT quoted = text_format("{'status':{'succeeded':%d,'completedIndexes':'%s'}}", succeeded, indexes);
    AUTO_JSON patch = harness_json(quoted);
    AUTO_TEXT text = json_text(patch, NULL);
    stage->user = true;
    assert_int_equal(
        world_patch(stage->clusters[cluster], "batch", "jobs", "default", job, "status", text, stage->now.wall_ns),
        200);
    stage->user = false;
}

// -- the workload --

static inline void play_begin(struct stage *stage, const char *annotations) {
    stage_init_kind(stage, play_kind, &custom_by_plural("jobsets")->kind);
    stage_start(stage);
    AUTO_TEXT text = text_format("{'metadata':{'name':'a','namespace':'default','annotations':{%s}},'spec':{"
                                 "'managedBy':'wharf.dev/host'," SPEC "}}",
                                 annotations);
    assert_int_equal(stage_apply(stage, 0, "jobset.x-k8s.io", "jobsets", text), 201);
    stage_run(stage, CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
    play_make_all(stage, 1);
}

static inline void play_policy(struct stage *stage, size_t worker, enum worker_policy policy) {
    static const char *const names[] = {"", "w1", "w2"};
    stage_step(stage, &(struct engine_event){.type = EVENT_WORKER,
                                             .cluster = worker,
                                             .worker = {.name = names[worker], .policy = policy}});
}

static inline const char *play_text(struct stage *stage, size_t cluster, const char *pointer) {
    const char *text = json_string(pointer_find(stage_job(stage, cluster, "a"), pointer));
    return text ? text : "";
}

static inline bool play_is_suspended(struct stage *stage, size_t cluster) {
    return json_bool(pointer_find(stage_job(stage, cluster, "a"), "/spec/suspend"), false);
}

static inline void play_assert_given(struct stage *stage, size_t cluster) {
    assert_string_equal(play_text(stage, cluster, PROGRESS_AT), "given");
    assert_false(play_is_suspended(stage, cluster));
}

// Half of the work is done in w1, which is then drained.
static inline void play_move(struct stage *stage, const char *annotations) {
    play_begin(stage, annotations);
    play_does(stage, 1, "a-w-0", 3, "0-2");
    play_does(stage, 1, "a-w-1", 1, "1");
    play_policy(stage, 1, WORKER_DRAIN_MOVE);
    stage_run(stage, 5 * CLOCK_SECOND);
}
