// SPDX-License-Identifier: Apache-2.0
// The Jobs of the demo. Annotations world.test/* control the pods in the simulated workers.
#include "core/base/clock.h"
#include "tests/demo/demo.h"

#include <stdio.h>
#include <string.h>

#define JOB(name, annotations, spec)                                                                                   \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"" name                                     \
    "\",\"namespace\":\"default\",\"annotations\":{" annotations "}},\"spec\":{" spec POD "}}"
#define OURS "\"managedBy\":\"wharf.dev/host\","
#define POD                                                                                                            \
    "\"template\":{\"spec\":{\"restartPolicy\":\"Never\","                                                             \
    "\"containers\":[{\"name\":\"main\",\"image\":\"registry.example/task:1\"}]}}"
#define RUNS(duration) "\"world.test/duration\":\"" duration "\""
#define FAIL(which) ",\"world.test/fail\":\"" which "\""

// Users' actions cause additional writes: one for the condition Suspended of a Job that was never placed before it is
// resumed, and one for each change that is copied to a mirror.
static const struct job catalog[] = {
    {.name = "plain", .shape = "one pod", .expected = PHASE_COMPLETE, .json = JOB("plain", RUNS("2s"), OURS)},
    {.name = "wide",
     .shape = "4 pods at once",
     .expected = PHASE_COMPLETE,
     .json = JOB("wide", RUNS("3s"), OURS "\"parallelism\":4,\"completions\":4,")},
    {.name = "waves",
     .shape = "9 pods, 3 at a time",
     .expected = PHASE_COMPLETE,
     .json = JOB("waves", RUNS("1500ms"), OURS "\"parallelism\":3,\"completions\":9,")},
    {.name = "long-a",
     .shape = "2 long pods",
     .expected = PHASE_COMPLETE,
     .json = JOB("long-a", RUNS("9s"), OURS "\"parallelism\":2,\"completions\":2,")},
    {.name = "long-b",
     .shape = "3 long pods",
     .expected = PHASE_COMPLETE,
     .json = JOB("long-b", RUNS("11s"), OURS "\"parallelism\":3,\"completions\":3,")},
    {.name = "indexed",
     .shape = "Indexed, 5 of 5",
     .expected = PHASE_COMPLETE,
     .json = JOB("indexed", RUNS("2s"), OURS "\"completionMode\":\"Indexed\",\"parallelism\":5,\"completions\":5,")},
    {.name = "indexed-lossy",
     .shape = "Indexed, 2 of 6 fail",
     .expected = PHASE_FAILED,
     .reason = "FailedIndexes",
     .json = JOB("indexed-lossy", RUNS("2s") FAIL("index:1,4"),
                 OURS "\"completionMode\":\"Indexed\",\"parallelism\":6,\"completions\":6,"
                      "\"backoffLimitPerIndex\":0,")},
    {.name = "failing",
     .shape = "every pod fails",
     .expected = PHASE_FAILED,
     .reason = "BackoffLimitExceeded",
     .json = JOB("failing", RUNS("1s") FAIL("all"), OURS "\"backoffLimit\":1,")},
    {.name = "retried",
     .shape = "2 pods fail first",
     .expected = PHASE_COMPLETE,
     .json = JOB("retried", RUNS("1s") FAIL("2"), OURS "\"backoffLimit\":4,")},
    {.name = "deadline",
     .shape = "stops after 4 s",
     .expected = PHASE_FAILED,
     .reason = "DeadlineExceeded",
     .json = JOB("deadline", RUNS("60s"), OURS "\"activeDeadlineSeconds\":4,")},
    {.name = "suspended",
     .shape = "made suspended",
     .expected = PHASE_COMPLETE,
     .extra_writes = 1,
     .json = JOB("suspended", RUNS("2s"), OURS "\"suspend\":true,")},
    {.name = "paused",
     .shape = "suspended as it runs",
     .expected = PHASE_COMPLETE,
     .extra_writes = 2,
     .json = JOB("paused", RUNS("8s"), OURS "\"parallelism\":2,\"completions\":2,")},
    {.name = "scaled",
     .shape = "from 2 to 5 pods",
     .expected = PHASE_COMPLETE,
     .extra_writes = 1,
     .json = JOB("scaled", RUNS("3s"), OURS "\"parallelism\":2,\"completions\":8,")},
    {.name = "local",
     .shape = "not delegated",
     .expected = PHASE_COMPLETE,
     .not_delegated = true,
     .json = JOB("local", RUNS("4s"), "")},
    {.name = "nightly",
     .shape = "from a CronJob",
     .expected = PHASE_COMPLETE,
     .from_cron = true,
     .json = "{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"nightly\","
             "\"namespace\":\"default\",\"annotations\":{\"world.test/interval\":\"8760h\"}},"
             "\"spec\":{\"schedule\":\"0 3 * * *\",\"jobTemplate\":{\"metadata\":{\"annotations\":{" RUNS(
                 "3s") "}},\"spec\":{" OURS POD "}}}}"},
    {.name = "late",
     .shape = "made after its return",
     .expected = PHASE_COMPLETE,
     .submit_ns = CLOCK_NEVER, // when the worker is used again
     .json = JOB("late", RUNS("2s"), OURS "\"parallelism\":2,\"completions\":2,")},
};

void jobs_init(struct demo *demo) {
    _Static_assert(sizeof catalog / sizeof *catalog <= DEMO_JOBS, "room for all");
    demo->n_jobs = sizeof catalog / sizeof *catalog;
    memcpy(demo->jobs, catalog, sizeof catalog);
    for (size_t i = 0; i < demo->n_jobs; i++) {
        struct job *job = &demo->jobs[i];
        job->group = "batch";
        job->plural = "jobs";
        snprintf(job->label, sizeof job->label, "job/%s", job->name);
        if (job->submit_ns == 0)
            job->submit_ns = (int64_t)i * 300 * CLOCK_MS;
    }
}

const char *phase_text(enum phase phase) {
    static const char *const texts[] = {"",           "Pending", "Running",  "Suspended",
                                        "Completing", "Failing", "Complete", "Failed"};
    return texts[phase];
}

bool job_is_done(const struct job *job) {
    if (job->runs)
        return job->deleted && !job->exists;
    return job->phase == PHASE_COMPLETE || job->phase == PHASE_FAILED;
}
