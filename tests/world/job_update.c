// SPDX-License-Identifier: Apache-2.0
// What may change in the spec of a batch/v1 Job (pkg/apis/batch/validation ValidateJobSpecUpdate, strategy.go
// validationOptionsForJob and shouldAllowMutablePodTemplate).
#include "tests/world/rules.h"

#include <string.h>

static void immutable(const struct json *spec, const struct json *old, const char *name,
                      struct field_problems *problems) {
    AUTO_TEXT path = text_format("spec.%s", name);
    if (!json_equal(json_get(spec, name), json_get(old, name)))
        problem_invalid(problems, path, json_get(spec, name), "field is immutable");
}

static void check_completions(const struct json *job, const struct json *old, struct field_problems *problems) {
    const struct json *spec = json_get(job, "spec"), *completions = json_get(spec, "completions");
    if (!job_indexed(job)) {
        immutable(spec, json_get(old, "spec"), "completions", problems);
        return;
    }
    if (json_equal(completions, json_path(old, "spec", "completions", NULL)) || !completions)
        return;
    if (!json_equal(completions, json_get(spec, "parallelism")))
        problem_invalid(problems, "spec.completions", completions,
                        "can only be modified in tandem with spec.parallelism");
}

// The template of a suspended Job may change where it is safe: no pods, and never started or marked as suspended.
static bool template_may_change(const struct json *old) {
    return json_bool(json_path(old, "spec", "suspend", NULL), false) &&
           (!json_path(old, "status", "startTime", NULL) || job_condition(old, "Suspended", "True")) &&
           json_int64(json_path(old, "status", "active", NULL), 0) == 0;
}

// Makes to[key] what from[key] is.
static void take(struct json *to, const struct json *from, const char *key) {
    const struct json *value = json_get(from, key);
    json_remove(to, key);
    if (value)
        world_json_set(to, key, world_json_copy(value));
}

static void take_node_affinity(struct json *to, const struct json *from) {
    struct json *affinity = json_get(to, "affinity");
    const struct json *wanted = json_get(from, "affinity");
    if (!affinity && !wanted)
        return;
    affinity = world_json_child(to, "affinity");
    take(affinity, wanted, "nodeAffinity");
    if (!wanted && json_size(affinity) == 0)
        json_remove(to, "affinity");
}

static void take_resources(struct json *to, const struct json *from, const char *list) {
    struct json *old = json_first(json_get(to, list));
    const struct json *now = json_first(json_get(from, list));
    if (json_size(json_get(to, list)) != json_size(json_get(from, list)))
        return;
    for (; old && now; old = json_next(old), now = json_next(now))
        if (json_equal(json_get(old, "name"), json_get(now, "name")))
            take(old, now, "resources");
}

static void check_template(const struct json *job, const struct json *before, struct field_problems *problems) {
    const struct json *template_ = json_path(job, "spec", "template", NULL);
    const struct json *old = json_path(before, "spec", "template", NULL);
    if (json_equal(template_, old))
        return;
    AUTO_JSON allowed = world_json_copy(old);
    if (template_may_change(before)) {
        struct json *pod = world_json_child(allowed, "spec"), *metadata = world_json_child(allowed, "metadata");
        const struct json *new_pod = json_get(template_, "spec"), *new_metadata = json_get(template_, "metadata");
        static const char *const scheduling[] = {"nodeSelector", "tolerations", "schedulingGates"};
        for (size_t i = 0; i < sizeof scheduling / sizeof *scheduling; i++)
            take(pod, new_pod, scheduling[i]);
        take(metadata, new_metadata, "labels");
        take(metadata, new_metadata, "annotations");
        take_node_affinity(pod, new_pod);
        take_resources(pod, new_pod, "containers");
        take_resources(pod, new_pod, "initContainers");
    }
    if (!json_equal(template_, allowed))
        problem_invalid(problems, "spec.template", template_, "field is immutable");
}

void job_check_update(const struct json *job, const struct json *old, struct field_problems *problems) {
    const struct json *spec = json_get(job, "spec"), *old_spec = json_get(old, "spec");
    static const char *const fixed[] = {"selector",  "completionMode", "podFailurePolicy", "backoffLimitPerIndex",
                                        "managedBy", "successPolicy"};
    check_completions(job, old, problems);
    check_template(job, old, problems);
    job_check_scheduling_update(spec, old_spec, problems);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        immutable(spec, old_spec, fixed[i], problems);
}
