// SPDX-License-Identifier: Apache-2.0
// Reads from the management cluster what a user would see there, and from the workers which mirrors exist.
#include "core/base/clock.h"
#include "core/json/pointer.h"
#include "tests/demo/demo.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct json *condition(const struct json *job, const char *type) {
    for (const struct json *item = json_first(json_path(job, "status", "conditions", NULL)); item;
         item = json_next(item))
        if (strcmp(json_string_or(json_get(item, "type"), ""), type) == 0 &&
            strcmp(json_string_or(json_get(item, "status"), ""), "True") == 0)
            return item;
    return NULL;
}

// In the order in which kubectl looks at the conditions; pending Jobs are a separate phase.
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

// Other kinds: what the well-known conditions say, or else the kind's own word for its state.
static enum phase read_other(struct job *job, const struct json *object) {
    static const struct {
        const char *type, *status;
        enum phase phase;
    } conditions[] = {{"Failed", "True", PHASE_FAILED},      {"Complete", "True", PHASE_COMPLETE},
                      {"Completed", "True", PHASE_COMPLETE}, {"Succeeded", "True", PHASE_COMPLETE},
                      {"Succeeded", "False", PHASE_FAILED},  {"Suspended", "True", PHASE_SUSPENDED}};
    static const char *const fields[] = {"/status/jobDeploymentStatus", "/status/state", "/status/phase",
                                         "/status/applicationState/state", "/status/serviceStatus"};
    static const struct {
        const char *word;
        enum phase phase;
    } words[] = {{"complete", PHASE_COMPLETE}, {"completed", PHASE_COMPLETE}, {"succeeded", PHASE_COMPLETE},
                 {"failed", PHASE_FAILED},     {"error", PHASE_FAILED},       {"suspended", PHASE_SUSPENDED}};
    const struct json *list = json_path(object, "status", "conditions", NULL), *last = NULL;
    const char *state = NULL;
    for (size_t i = 0; i < sizeof fields / sizeof *fields && !state; i++)
        state = json_string(pointer_find(object, fields[i]));
    for (const struct json *c = json_first(list); c; c = json_next(c)) {
        last = strcmp(json_string_or(json_get(c, "status"), ""), "True") == 0 || !last ? c : last;
        for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
            if (text_equal(json_string(json_get(c, "type")), conditions[i].type) &&
                text_equal(json_string(json_get(c, "status")), conditions[i].status)) {
                text_copy(job->state, sizeof job->state, state ? state : json_string_or(json_get(c, "reason"), ""));
                return conditions[i].phase;
            }
    }
    text_copy(job->state, sizeof job->state, state ? state : json_string_or(json_get(last, "reason"), ""));
    for (size_t i = 0; state && i < sizeof words / sizeof *words; i++)
        if (strcasecmp(state, words[i].word) == 0)
            return words[i].phase;
    return json_size(json_get(object, "status")) ? PHASE_RUNNING : PHASE_PENDING;
}

static void read_job(struct job *job, const struct json *object) {
    const struct json *status = json_get(object, "status"), *metadata = json_get(object, "metadata");
    job->exists = true;
    text_copy(job->full_name, sizeof job->full_name, json_string_or(json_get(metadata, "name"), ""));
    bool other = strcmp(job->plural, "jobs") != 0;
    job->phase = other ? read_other(job, object) : read_phase(object);
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

// Reads the workloads of a kind (management), or counts their mirrors. Deleted ones keep what look() has reset.
static void read_kind(struct demo *demo, struct world_cluster *cluster, const char *group, const char *plural,
                      bool management) {
    const void *cursor = NULL;
    for (const struct json *object; (object = world_next(cluster, group, plural, &cursor));) {
        struct job *job = demo_find(demo, plural, json_string_or(json_path(object, "metadata", "name", NULL), ""));
        if (job && management)
            read_job(job, object);
        else if (job)
            job->mirrors++;
    }
}

static void look_at(struct demo *demo, size_t cluster) {
    struct scene_cluster *at = &demo->scene->clusters[cluster];
    front_lock(at->front);
    read_kind(demo, at->cluster, "batch", "jobs", cluster == SCENE_MANAGEMENT);
    for (size_t i = 0; i < demo->n_jobs; i++)
        if (strcmp(demo->jobs[i].plural, "jobs") != 0)
            read_kind(demo, at->cluster, demo->jobs[i].group, demo->jobs[i].plural, cluster == SCENE_MANAGEMENT);
    front_unlock(at->front);
}

static void look_at_management(struct demo *demo) {
    for (size_t i = 0; i < demo->n_jobs; i++)
        demo->jobs[i].exists = false;
    look_at(demo, SCENE_MANAGEMENT);
}

void look(struct demo *demo) {
    look_at_management(demo);
    for (size_t i = 0; i < demo->n_jobs; i++)
        demo->jobs[i].mirrors = 0;
    for (size_t w = 1; w < demo->scene->count; w++)
        look_at(demo, w);
}
