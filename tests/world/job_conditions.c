// SPDX-License-Identifier: Apache-2.0
#include "tests/world/job_run.h"
#include "tests/world/meta.h"

#include <string.h>

struct json *job_status_copy(const struct stored *job) {
    const struct json *status = json_get(job->value, "status");
    struct json *copy = status ? world_json_copy(status) : json_new_object();
    if (!copy)
        world_oom();
    return copy;
}

static struct json *find(struct json *list, const char *type) {
    struct json *item = json_first(list);
    while (item && strcmp(json_string_or(json_get(item, "type"), ""), type) != 0)
        item = json_next(item);
    return item;
}

void job_set_condition(struct json *status, const char *type, bool value, const char *reason, const char *message,
                       int64_t now_ns) {
    if (!json_get(status, "conditions"))
        world_json_set(status, "conditions", json_new_array());
    struct json *list = json_get(status, "conditions"), *item = find(list, type);
    const char *text = value ? "True" : "False";
    if (item && strcmp(json_string_or(json_get(item, "status"), ""), text) == 0)
        return;
    if (!item) {
        if (!json_append(list, json_new_object()))
            world_oom();
        item = json_at(list, json_size(list) - 1);
    }
    world_set_text(item, "type", type);
    world_set_text(item, "status", text);
    meta_stamp_time(item, "lastProbeTime", now_ns);
    meta_stamp_time(item, "lastTransitionTime", now_ns);
    world_set_text(item, "reason", reason);
    world_set_text(item, "message", message);
}

static void set_or_remove(struct json *status, const char *key, int64_t value) {
    if (value)
        world_set_int(status, key, value);
    else
        json_remove(status, key);
}

void job_set_counts(struct json *status, int64_t active, int64_t ready, int64_t terminating, int64_t succeeded,
                    int64_t failed) {
    set_or_remove(status, "active", active);
    set_or_remove(status, "succeeded", succeeded);
    set_or_remove(status, "failed", failed);
    world_set_int(status, "ready", ready);
    world_set_int(status, "terminating", terminating);
    if (!json_get(status, "uncountedTerminatedPods"))
        world_json_set(status, "uncountedTerminatedPods", json_new_object());
}

void job_set_complete(struct json *status, int64_t now_ns) {
    job_set_condition(status, "Complete", true, "CompletionsReached", "Reached expected number of succeeded pods",
                      now_ns);
    meta_stamp_time(status, "completionTime", now_ns);
}

void job_set_failed(struct json *status, int64_t now_ns) {
    const struct json *target = find(json_get(status, "conditions"), "FailureTarget");
    AUTO_TEXT reason = world_strdup(json_string_or(json_get(target, "reason"), ""));
    AUTO_TEXT message = world_strdup(json_string_or(json_get(target, "message"), ""));
    job_set_condition(status, "Failed", true, reason, message, now_ns);
}
