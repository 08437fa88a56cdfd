// SPDX-License-Identifier: Apache-2.0
#include "tests/world/rules.h"
#include "tests/world/custom.h"
#include "tests/world/shape.h"

#include <stdio.h>
#include <string.h>

static const struct shape metadata_shape[] = {{"name", SHAPE_STRING, true},
                                              {"generateName", SHAPE_STRING, true},
                                              {"namespace", SHAPE_STRING, true},
                                              {"selfLink", SHAPE_STRING, true},
                                              {"uid", SHAPE_STRING, true},
                                              {"resourceVersion", SHAPE_STRING, true},
                                              {"generation", SHAPE_INT64, true},
                                              {"creationTimestamp", SHAPE_TIME, false},
                                              {"deletionTimestamp", SHAPE_TIME, false},
                                              {"deletionGracePeriodSeconds", SHAPE_INT64, false},
                                              {"labels", SHAPE_OBJECT, false},
                                              {"annotations", SHAPE_OBJECT, false},
                                              {"ownerReferences", SHAPE_ARRAY, true},
                                              {"finalizers", SHAPE_ARRAY, true},
                                              {"managedFields", SHAPE_ARRAY, true},
                                              {NULL, SHAPE_INT32, false}};

static const struct shape job_shape[] = {{"metadata", SHAPE_OBJECT, false}, {"spec", SHAPE_OBJECT, false},
                                         {"status", SHAPE_OBJECT, false},   {"apiVersion", SHAPE_STRING, false},
                                         {"kind", SHAPE_STRING, false},     {NULL, SHAPE_INT32, false}};

static const struct shape job_spec_shape[] = {{"parallelism", SHAPE_INT32, false},
                                              {"completions", SHAPE_INT32, false},
                                              {"activeDeadlineSeconds", SHAPE_INT64, false},
                                              {"podFailurePolicy", SHAPE_OBJECT, false},
                                              {"successPolicy", SHAPE_OBJECT, false},
                                              {"backoffLimit", SHAPE_INT32, false},
                                              {"backoffLimitPerIndex", SHAPE_INT32, false},
                                              {"maxFailedIndexes", SHAPE_INT32, false},
                                              {"selector", SHAPE_OBJECT, false},
                                              {"manualSelector", SHAPE_BOOL, false},
                                              {"template", SHAPE_OBJECT, false},
                                              {"ttlSecondsAfterFinished", SHAPE_INT32, false},
                                              {"completionMode", SHAPE_STRING, false},
                                              {"suspend", SHAPE_BOOL, false},
                                              {"podReplacementPolicy", SHAPE_STRING, false},
                                              {"managedBy", SHAPE_STRING, false},
                                              {"scheduling", SHAPE_OBJECT, false}, // see world_set_scheduling
                                              {NULL, SHAPE_INT32, false}};

static const struct shape job_status_shape[] = {
    {"conditions", SHAPE_ARRAY, true},      {"startTime", SHAPE_TIME, false},
    {"completionTime", SHAPE_TIME, false},  {"active", SHAPE_INT32, true},
    {"succeeded", SHAPE_INT32, true},       {"failed", SHAPE_INT32, true},
    {"terminating", SHAPE_INT32, false},    {"completedIndexes", SHAPE_STRING, true},
    {"failedIndexes", SHAPE_STRING, false}, {"uncountedTerminatedPods", SHAPE_OBJECT, false},
    {"ready", SHAPE_INT32, false},          {NULL, SHAPE_INT32, false}};

static const struct shape condition_shape[] = {{"type", SHAPE_STRING, false},
                                               {"status", SHAPE_STRING, false},
                                               {"lastProbeTime", SHAPE_TIME, false},
                                               {"lastTransitionTime", SHAPE_TIME, false},
                                               {"reason", SHAPE_STRING, true},
                                               {"message", SHAPE_STRING, true},
                                               {NULL, SHAPE_INT32, false}};

// map[string]string
static bool check_strings(const struct json *map, const char *name, char message[256]) {
    for (const struct json *member = json_first(map); member; member = json_next(member))
        if (!json_is(member, JSON_STRING)) {
            snprintf(message, 256,
                     "json: cannot unmarshal value into Go struct field ObjectMeta.metadata.%s of type string", name);
            return false;
        }
    return true;
}

static bool decode_job(const struct kind *kind, struct json *value, char message[256]) {
    struct json *status = json_get(value, "status");
    if (!kind->cluster->scheduling)
        json_remove(json_get(value, "spec"), "scheduling");
    if (!shape_apply(value, job_shape, "Job", message))
        return false;
    if (!shape_apply(json_get(value, "spec"), job_spec_shape, "JobSpec.spec", message) ||
        !shape_apply(status, job_status_shape, "JobStatus.status", message))
        return false;
    for (struct json *item = json_first(json_get(status, "conditions")); item; item = json_next(item))
        if (!json_is(item, JSON_OBJECT)) {
            snprintf(message, 256, "json: cannot unmarshal value into Go struct field JobStatus.status.conditions");
            return false;
        } else if (!shape_apply(item, condition_shape, "JobCondition.status.conditions", message)) {
            return false;
        }
    return true;
}

// events.k8s.io MicroTime must have exactly six digits (apimachinery meta/v1 micro_time.go).
static bool is_micro_time(const char *text) {
    const char *dot = strchr(text, '.');
    return dot && strspn(dot + 1, "0123456789") == 6 && (dot[7] == 'Z' || dot[7] == '+' || dot[7] == '-');
}

static bool decode_micro_times(const struct json *holder, const char *const *names, char message[256]) {
    for (; *names; names++) {
        const char *text = json_string(json_get(holder, *names));
        if (text && !is_micro_time(text)) {
            snprintf(message, 256, "parsing time \"%.80s\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse",
                     text);
            return false;
        }
    }
    return true;
}

bool rules_decode(const struct kind *kind, struct json *value, char message[256]) {
    static const char *const event_times[] = {"eventTime", NULL};
    static const char *const lease_times[] = {"acquireTime", "renewTime", NULL};
    struct json *metadata = json_get(value, "metadata");
    if (metadata && !json_is(metadata, JSON_OBJECT)) {
        snprintf(message, 256, "json: cannot unmarshal value into Go struct field .metadata of type v1.ObjectMeta");
        return false;
    }
    if (!shape_apply(metadata, metadata_shape, "ObjectMeta.metadata", message) ||
        !check_strings(json_get(metadata, "labels"), "labels", message) ||
        !check_strings(json_get(metadata, "annotations"), "annotations", message))
        return false;
    if (kind->special == SPECIAL_JOB)
        return decode_job(kind, value, message);
    if (kind->special == SPECIAL_EVENT)
        return decode_micro_times(value, event_times, message);
    if (kind->special == SPECIAL_LEASE)
        return decode_micro_times(json_get(value, "spec"), lease_times, message);
    return kind->special < SPECIAL_CONFIGMAP || kind->special > SPECIAL_SERVICEACCOUNT ||
           config_decode(kind, value, message);
}

static void cronjob_check(const struct json *value, struct field_problems *problems) {
    const struct json *spec = json_get(value, "spec"), *name = json_path(value, "metadata", "name", NULL);
    if (!*json_string_or(json_get(spec, "schedule"), ""))
        problem_required(problems, "spec.schedule", "");
    if (strlen(json_string_or(name, "")) > 52)
        problem_invalid(problems, "metadata.name", name, "must be no more than 52 characters");
    if (!json_is(json_path(spec, "jobTemplate", "spec", "template", NULL), JSON_OBJECT))
        problem_required(problems, "spec.jobTemplate.spec.template", "");
}

static void set_default(struct json *object, const char *key, struct json *value) {
    if (json_get(object, key))
        json_free(value);
    else
        world_json_set(object, key, value);
}

static void cronjob_defaults(struct json *value) {
    struct json *spec = world_json_child(value, "spec");
    set_default(spec, "concurrencyPolicy", json_new_string("Allow"));
    set_default(spec, "suspend", json_new_bool(false));
    set_default(spec, "successfulJobsHistoryLimit", json_new_int64(3));
    set_default(spec, "failedJobsHistoryLimit", json_new_int64(1));
}

static void custom_create(const struct op *op, struct json *value, struct field_problems *problems) {
    if (!op->kind->custom)
        return;
    custom_defaults(op->kind->custom, value);
    custom_check(op->kind->custom, value, problems);
}

void rules_create(struct op *op, struct json *value, struct field_problems *problems) {
    switch (op->kind->special) {
    case SPECIAL_JOB:
        job_defaults(value);
        job_generate_selector(value);
        job_default_labels(value);
        world_json_set(value, "status", json_new_object());
        job_check(value, problems);
        break;
    case SPECIAL_CRONJOB:
        cronjob_defaults(value);
        cronjob_check(value, problems);
        world_json_set(value, "status", json_new_object());
        break;
    case SPECIAL_EVENT:
        event_check(value, problems);
        break;
    case SPECIAL_NAMESPACE:
        world_set_text(world_json_child(value, "status"), "phase", "Active");
        world_set_text(world_json_child(world_json_child(value, "metadata"), "labels"), "kubernetes.io/metadata.name",
                       op->name);
        break;
    case SPECIAL_POD:
        world_set_text(world_json_child(value, "status"), "phase", "Pending");
        break;
    case SPECIAL_NONE:
        custom_create(op, value, problems);
        break;
    case SPECIAL_LEASE:
    case SPECIAL_SERVICEACCOUNT:
        break;
    case SPECIAL_CONFIGMAP:
    case SPECIAL_SECRET:
        config_check(op->kind, value, NULL, problems);
        break;
    case SPECIAL_CLAIM:
    case SPECIAL_PRIORITYCLASS:
    case SPECIAL_RUNTIMECLASS:
        claim_create(op->kind, value, problems);
        break;
    }
}

void rules_update(struct op *op, struct json *value, const struct json *old, struct field_problems *problems) {
    switch (op->kind->special) {
    case SPECIAL_JOB:
        job_defaults(value);
        job_default_labels(value);
        job_check(value, problems);
        job_check_update(value, old, problems);
        break;
    case SPECIAL_CRONJOB:
        cronjob_defaults(value);
        cronjob_check(value, problems);
        break;
    case SPECIAL_EVENT:
        event_check_update(value, old, problems);
        break;
    case SPECIAL_NONE:
        if (op->kind->custom) {
            custom_defaults(op->kind->custom, value);
            custom_check_update(op->kind->custom, value, old, problems);
        }
        break;
    case SPECIAL_NAMESPACE:
    case SPECIAL_POD:
    case SPECIAL_LEASE:
    case SPECIAL_SERVICEACCOUNT:
        break;
    case SPECIAL_CONFIGMAP:
    case SPECIAL_SECRET:
        config_check(op->kind, value, old, problems);
        break;
    case SPECIAL_CLAIM:
    case SPECIAL_PRIORITYCLASS:
    case SPECIAL_RUNTIMECLASS:
        claim_update(op->kind, value, old, problems);
        break;
    }
}

void rules_update_status(const struct json *value, const struct json *old, enum special special,
                         struct field_problems *problems) {
    if (special == SPECIAL_JOB)
        job_check_status(value, old, problems);
}
