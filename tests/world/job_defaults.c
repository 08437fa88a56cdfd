// SPDX-License-Identifier: Apache-2.0
// What the server adds to a batch/v1 Job: SetDefaults_Job, the defaults of a pod template that a client notices, and
// the generated selector (strategy.go generateSelector).
#include "tests/world/rules.h"

#include <string.h>

static void set_default(struct json *object, const char *key, struct json *value) {
    if (json_get(object, key))
        json_free(value);
    else
        world_json_set(object, key, value);
}

static void container_defaults(struct json *container) {
    const char *image = json_string_or(json_get(container, "image"), "");
    const char *slash = strrchr(image, '/'), *colon = strrchr(slash ? slash : image, ':');
    bool latest = !strchr(image, '@') && (!colon || strcmp(colon, ":latest") == 0);
    set_default(container, "resources", json_new_object());
    set_default(container, "terminationMessagePath", json_new_string("/dev/termination-log"));
    set_default(container, "terminationMessagePolicy", json_new_string("File"));
    set_default(container, "imagePullPolicy", json_new_string(latest ? "Always" : "IfNotPresent"));
}

static void template_defaults(struct json *template_) {
    struct json *spec = world_json_child(template_, "spec");
    static const char *const lists[] = {"initContainers", "containers"};
    for (size_t i = 0; i < 2; i++)
        for (struct json *item = json_first(json_get(spec, lists[i])); item; item = json_next(item))
            if (json_is(item, JSON_OBJECT))
                container_defaults(item);
    set_default(spec, "terminationGracePeriodSeconds", json_new_int64(30));
    set_default(spec, "dnsPolicy", json_new_string("ClusterFirst"));
    set_default(spec, "securityContext", json_new_object());
    set_default(spec, "schedulerName", json_new_string("default-scheduler"));
}

void job_spec_defaults(struct json *spec) {
    if (!json_get(spec, "completions") && !json_get(spec, "parallelism"))
        world_set_int(spec, "completions", 1);
    set_default(spec, "parallelism", json_new_int64(1));
    set_default(spec, "backoffLimit", json_new_int64(json_get(spec, "backoffLimitPerIndex") ? INT32_MAX : 6));
    set_default(spec, "completionMode", json_new_string("NonIndexed"));
    set_default(spec, "suspend", json_new_bool(false));
    set_default(spec, "manualSelector", json_new_bool(false));
    set_default(spec, "podReplacementPolicy",
                json_new_string(json_get(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed"));
    template_defaults(world_json_child(spec, "template"));
}

void job_defaults(struct json *job) {
    job_spec_defaults(world_json_child(job, "spec"));
}

// A Job without labels shows those of its template, the generated ones included: they are defaulted again on each read
// from storage.
void job_default_labels(struct json *job) {
    const struct json *labels = json_path(job, "spec", "template", "metadata", "labels", NULL);
    struct json *metadata = world_json_child(job, "metadata");
    if (json_size(labels) > 0 && json_size(json_get(metadata, "labels")) == 0)
        world_json_set(metadata, "labels", world_json_copy(labels));
}

void job_generate_selector(struct json *job) {
    struct json *spec = json_get(job, "spec");
    if (json_bool(json_get(spec, "manualSelector"), false))
        return;
    const char *name = json_string_or(json_path(job, "metadata", "name", NULL), "");
    const char *uid = json_string_or(json_path(job, "metadata", "uid", NULL), "");
    struct json *template_ = world_json_child(spec, "template");
    struct json *labels = world_json_child(world_json_child(template_, "metadata"), "labels");
    set_default(labels, "job-name", json_new_string(name));
    set_default(labels, "batch.kubernetes.io/job-name", json_new_string(name));
    set_default(labels, "controller-uid", json_new_string(uid));
    set_default(labels, "batch.kubernetes.io/controller-uid", json_new_string(uid));
    struct json *match = world_json_child(world_json_child(spec, "selector"), "matchLabels");
    set_default(match, "batch.kubernetes.io/controller-uid", json_new_string(uid));
}
