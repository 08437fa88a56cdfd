// SPDX-License-Identifier: Apache-2.0
// Jobs of several indexes that move from worker to worker.
#pragma once

#include "tests/unit/engine/stage.h"

#define DONE "{'status':{'active':1,'ready':1,'startTime':'" HARNESS_NOW "','succeeded':%d,'completedIndexes':'%s'}}"

// The progress of a Job as far as these tests need it, unless the adapter has its own.
static inline wharf_result play_progress(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                                         wharf_value *object) {
    const wharf_host *host = services_table();
    static const char *const fields[] = {"/status/succeeded", "/status/completedIndexes"};
    for (size_t i = 0; i < 2; i++) {
        const wharf_value *achieved = host->find(workload, fields[i]);
        if (achieved && !host->equal(host->find(mirror, fields[i]), achieved))
            host->set(call, object, fields[i], achieved);
    }
    return WHARF_OK;
}

static inline const char *play_text(struct stage *stage, size_t cluster, const char *pointer) {
    const struct json *found = pointer_find(stage_job(stage, cluster, "a"), pointer);
    const char *text = json_string(found);
    return text ? text : "";
}

#define PROGRESS "/metadata/annotations/wharf.dev~1progress"

static inline void play_assert_mark(struct stage *stage, size_t cluster, const char *mark) {
    if (!stage_job(stage, cluster, "a"))
        fail_msg("cluster %zu has no mirror", cluster);
    assert_string_equal(play_text(stage, cluster, PROGRESS), mark);
}

static inline bool play_is_suspended(struct stage *stage, size_t cluster) {
    return json_bool(pointer_find(stage_job(stage, cluster, "a"), "/spec/suspend"), false);
}

// The status of a mirror that runs, with these indexes done.
static inline void play_does(struct stage *stage, size_t cluster, int succeeded, const char *indexes) {
    AUTO_TEXT status = text_format(DONE, succeeded, indexes);
    assert_int_equal(stage_patch(stage, cluster, "a", "status", status), 200);
    stage_run(stage, CLOCK_SECOND);
}

static inline void play_begin(struct stage *stage) {
    stage_init(stage);
    if (!stage->kind->abi.progress)
        stage->kind->abi.progress = play_progress;
    stage_start(stage);
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

// The first attempt has done three of six indexes.
static inline void play_first(struct stage *stage) {
    play_begin(stage);
    play_submit(stage, "");
    play_does(stage, 1, 3, "0-2");
}

static inline void play_policy(struct stage *stage, size_t worker, enum worker_policy policy) {
    static const char *const names[] = {"", "w1", "w2"};
    stage_step(stage, &(struct engine_event){.type = EVENT_WORKER,
                                             .cluster = worker,
                                             .worker = {.name = names[worker], .policy = policy}});
}
