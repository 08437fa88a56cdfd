// SPDX-License-Identifier: Apache-2.0
// Reads from the management cluster what a user would see there, and from the workers which mirrors exist.
#include "core/base/clock.h"
#include "tests/demo/demo.h"

#include <stdlib.h>
#include <string.h>

const char *phase_text(enum phase phase) {
    static const char *const texts[] = {"",           "Pending", "Running",  "Suspended",
                                        "Completing", "Failing", "Complete", "Failed"};
    return texts[phase];
}

bool job_is_done(const struct job *job) {
    return job->phase == PHASE_COMPLETE || job->phase == PHASE_FAILED;
}

static const struct json *condition(const struct json *job, const char *type) {
    for (const struct json *item = json_first(json_path(job, "status", "conditions", NULL)); item;
         item = json_next(item))
        if (strcmp(json_string_or(json_get(item, "type"), ""), type) == 0 &&
            strcmp(json_string_or(json_get(item, "status"), ""), "True") == 0)
            return item;
    return NULL;
}

// In the order in which kubectl looks at the conditions; what has not begun is told apart.
static enum phase read_phase(const struct json *job) {
    static const struct {
        const char *type;
        enum phase phase;
    } order[] = {{"Complete", PHASE_COMPLETE},
                 {"Failed", PHASE_FAILED},
                 {"Suspended", PHASE_SUSPENDED},
                 {"FailureTarget", PHASE_FAILING},
                 {"SuccessCriteriaMet", PHASE_COMPLETING}};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (condition(job, order[i].type))
            return order[i].phase;
    return json_path(job, "status", "startTime", NULL) ? PHASE_RUNNING : PHASE_PENDING;
}

static void read_job(struct job *job, const struct json *object) {
    const struct json *status = json_get(object, "status"), *metadata = json_get(object, "metadata");
    job->exists = true;
    text_copy(job->full_name, sizeof job->full_name, json_string_or(json_get(metadata, "name"), ""));
    job->phase = read_phase(object);
    job->active = json_int64(json_get(status, "active"), 0);
    job->ready = json_int64(json_get(status, "ready"), 0);
    job->succeeded = json_int64(json_get(status, "succeeded"), 0);
    job->failed = json_int64(json_get(status, "failed"), 0);
    clock_parse_rfc3339(json_string_or(json_get(metadata, "creationTimestamp"), ""), &job->created_ns);
    const struct json *annotations = json_get(metadata, "annotations");
    text_copy(job->cluster, sizeof job->cluster, json_string_or(json_get(annotations, "wharf.dev/cluster"), ""));
    job->attempt = strtoll(json_string_or(json_get(annotations, "wharf.dev/attempt"), "0"), NULL, 10);
    const struct json *failed = condition(object, "Failed");
    text_copy(job->reason_seen, sizeof job->reason_seen, json_string_or(json_get(failed, "reason"), ""));
}

// A second look may show what the first did not: a Job that is gone must not look as if it were there.
static void look_at_management(struct demo *demo) {
    struct scene_cluster *management = &demo->scene->clusters[SCENE_MANAGEMENT];
    const void *cursor = NULL;
    for (size_t i = 0; i < demo->n_jobs; i++)
        demo->jobs[i].exists = false;
    front_lock(management->front);
    for (const struct json *object; (object = world_next(management->cluster, "batch", "jobs", &cursor));) {
        struct job *job = demo_find(demo, json_string_or(json_path(object, "metadata", "name", NULL), ""));
        if (job)
            read_job(job, object);
    }
    front_unlock(management->front);
}

void look(struct demo *demo) {
    look_at_management(demo);
    for (size_t i = 0; i < demo->n_jobs; i++)
        demo->jobs[i].mirrors = 0;
    for (size_t w = 1; w < demo->scene->count; w++) {
        struct scene_cluster *worker = &demo->scene->clusters[w];
        const void *cursor = NULL;
        front_lock(worker->front);
        for (const struct json *object; (object = world_next(worker->cluster, "batch", "jobs", &cursor));) {
            struct job *job = demo_find(demo, json_string_or(json_path(object, "metadata", "name", NULL), ""));
            if (job)
                job->mirrors++;
        }
        front_unlock(worker->front);
    }
}
