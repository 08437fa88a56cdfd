// SPDX-License-Identifier: Apache-2.0
// A Job with annotation world.test/changes = s gets exactly s status updates, evenly over its duration: started (from s
// = 2), ready by turns on and off, SuccessCriteriaMet or FailureTarget (from s = 4), and at last Complete or Failed.
// Nothing is written while the Job is suspended.
#include "core/base/clock.h"
#include "tests/world/job_run.h"
#include "tests/world/meta.h"

static void finish(struct json *status, const struct job_run *run, const struct job_spec *spec, bool last,
                   int64_t now) {
    int64_t completions = spec->completions > 0 ? spec->completions : 1;
    if (run->fail_all) {
        job_set_counts(status, 0, 0, 0, 0, spec->backoff_limit + 1);
        job_set_condition(status, "FailureTarget", true, "BackoffLimitExceeded",
                          "Job has reached the specified backoff limit", now);
        if (last)
            job_set_failed(status, now);
        return;
    }
    job_set_counts(status, 0, 0, 0, completions, 0);
    if (spec->indexed) {
        AUTO_TEXT list = completions > 1 ? text_format("0-%lld", (long long)completions - 1) : text_format("0");
        world_set_text(status, "completedIndexes", list);
    }
    job_set_condition(status, "SuccessCriteriaMet", true, "CompletionsReached",
                      "Reached expected number of succeeded pods", now);
    if (last)
        job_set_complete(status, now);
}

static void write_step(struct stored *job, const struct job_run *run, const struct job_spec *spec, int64_t changes) {
    struct json *status = job_status_copy(job);
    int64_t now = job->kind->cluster->now_ns, step = run->script_step;
    if (!json_get(status, "startTime"))
        meta_stamp_time(status, "startTime", now);
    bool last = step == changes - 1;
    if (last || (changes >= 4 && step == changes - 2))
        finish(status, run, spec, last, now);
    else
        job_set_counts(status, spec->parallelism, step % 2 ? spec->parallelism : 0, 0,
                       json_int64(json_get(status, "succeeded"), 0), json_int64(json_get(status, "failed"), 0));
    world_write_status(job, status);
}

void job_script_sync(struct stored *job, struct job_run *run, const struct job_spec *spec, int64_t changes) {
    int64_t now = job->kind->cluster->now_ns;
    if (spec->suspended)
        return;
    if (!run->scripted) {
        run->scripted = true;
        run->script_start_ns = now;
    }
    int64_t gap = changes > 1 ? run->duration_ns / (changes - 1) : 0;
    int64_t due = run->script_start_ns + run->script_step * gap;
    if (run->script_step >= changes)
        return;
    if (now >= due) {
        write_step(job, run, spec, changes);
        run->script_step++;
        due = run->script_start_ns + run->script_step * gap;
    }
    if (run->script_step < changes)
        world_controllers_at(job, due > now ? due : now + CLOCK_MS);
}
