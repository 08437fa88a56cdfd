// SPDX-License-Identifier: Apache-2.0
// A Job of six indexes that moves from worker to worker, with a watch over what its mirrors get.
#pragma once

#include "tests/unit/engine/stage.h"

#define PROGRESS "/metadata/annotations/wharf.dev~1progress"
#define INDEXES "/status/completedIndexes"
#define DONE                                                                                                           \
    "{'status':{'active':1,'ready':1,'startTime':'" HARNESS_NOW "','succeeded':%d,'completedIndexes':'%s',"            \
    "'conditions':[{'type':'Suspended','status':'False'}]}}"

// The progress of a Job as far as these tests need it, unless the adapter has its own.
static inline wharf_result play_progress(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                                         wharf_value *object) {
    const wharf_host *host = services_table();
    int64_t achieved = host->integer(host->find(workload, "/status/succeeded"), 0);
    if (achieved <= host->integer(host->find(mirror, "/status/succeeded"), 0))
        return WHARF_OK;
    host->set_integer(call, object, "/status/succeeded", achieved);
    host->set(call, object, INDEXES, host->find(workload, INDEXES));
    return WHARF_OK;
}

struct play_watch {
    const char *indexes; // that a mirror in w2 has to have when it is resumed; NULL: none
    unsigned resumed;    // writes that resumed a mirror in w2 or made one that runs
    unsigned given;      // writes of the status there
    unsigned writes;     // of the engine, in all clusters
};

static struct play_watch seen;

static inline bool play_runs(const struct json *job) {
    return job && !json_bool(pointer_find(job, "/spec/suspend"), false);
}

static inline void play_wrote(struct stage *stage, size_t cluster, const struct world_write *write) {
    (void)stage;
    seen.writes++;
    if (cluster != 2 || !write->now)
        return;
    const char *before = json_string_or(pointer_find(write->old, INDEXES), "");
    const char *now = json_string_or(pointer_find(write->now, INDEXES), "");
    seen.given += strcmp(before, now) != 0;
    if (!play_runs(write->now) || play_runs(write->old))
        return;
    seen.resumed++;
    assert_string_not_equal(json_string_or(pointer_find(write->now, PROGRESS), ""), "owed");
    assert_string_equal(now, seen.indexes ? seen.indexes : "");
}

static inline const char *play_text(struct stage *stage, size_t cluster, const char *pointer) {
    return json_string_or(pointer_find(stage_job(stage, cluster, "a"), pointer), "");
}

static inline bool play_is_suspended(struct stage *stage, size_t cluster) {
    return !play_runs(stage_job(stage, cluster, "a"));
}

static inline void play_assert(struct stage *stage, size_t cluster, const char *mark, const char *indexes) {
    if (!stage_job(stage, cluster, "a"))
        fail_msg("cluster %zu has no mirror", cluster);
    assert_string_equal(play_text(stage, cluster, PROGRESS), mark);
    assert_string_equal(play_text(stage, cluster, INDEXES), indexes);
}

// The status of a mirror that runs, with these indexes done.
static inline void play_does(struct stage *stage, size_t cluster, int succeeded, const char *indexes) {
    AUTO_TEXT status = text_format(DONE, succeeded, indexes);
    assert_int_equal(stage_patch(stage, cluster, "a", "status", status), 200);
}

static inline void play_init(struct stage *stage) {
    seen = (struct play_watch){.indexes = "0-2"};
    stage_init(stage);
    if (!stage->kind->abi.progress)
        stage->kind->abi.progress = play_progress;
    stage->wrote = play_wrote;
}

static inline void play_submit(struct stage *stage, const char *annotations) {
    AUTO_TEXT job =
        text_format("{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'a','namespace':'default',"
                    "'annotations':{%s}},'spec':{'managedBy':'wharf.dev/host','completionMode':'Indexed',"
                    "'completions':6,'parallelism':1,'template':{'spec':{'restartPolicy':'Never','containers':"
                    "[{'name':'c','image':'i'}]}}}}",
                    annotations);
    assert_int_equal(stage_apply(stage, 0, "batch", "jobs", job), 201);
    stage_run(stage, CLOCK_SECOND);
}

// The first attempt has done three of six indexes. Options may be set after play_init.
static inline void play_first(struct stage *stage, const char *annotations) {
    stage_start(stage);
    play_submit(stage, annotations);
    play_does(stage, 1, 3, "0-2");
    stage_run(stage, CLOCK_SECOND);
    seen.writes = 0;
}

static inline void play_drain(struct stage *stage) {
    stage_step(stage, &(struct engine_event){
                          .type = EVENT_WORKER, .cluster = 1, .worker = {.name = "w1", .policy = WORKER_DRAIN_MOVE}});
}

static inline void play_restart(struct stage *stage) {
    stage_restart(stage);
    play_drain(stage);
}

static inline void play_move(struct stage *stage, int64_t ns) {
    play_drain(stage);
    stage_run(stage, ns);
}

static inline void play_assert_goes_on(struct stage *stage) {
    play_assert(stage, 2, "given", "0-2");
    assert_false(play_is_suspended(stage, 2));
    assert_int_equal(seen.resumed, 1);
    assert_int_equal(stage_told(stage, "ProgressRefused"), 0);
    assert_int_equal(stage_told(stage, "ProgressLost"), 0);
}

static inline void play_assert_starts_anew(struct stage *stage, size_t told) {
    play_assert(stage, 2, told ? "refused" : "", "");
    assert_false(play_is_suspended(stage, 2));
    assert_int_equal(seen.resumed, 1);
    assert_int_equal(stage_told(stage, "ProgressRefused"), told);
}
