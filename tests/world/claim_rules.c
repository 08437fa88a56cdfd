// SPDX-License-Identifier: Apache-2.0
#include "tests/world/meta.h"
#include "tests/world/pod_needs.h"
#include "tests/world/rules.h"

#include <string.h>

#define VALUE_MAX INT64_C(1000000000) // HighestUserDefinablePriority

static void set_default(struct json *object, const char *key, const char *text) {
    if (!json_get(object, key))
        world_set_text(object, key, text);
}

static void check_modes(const struct json *spec, struct field_problems *problems) {
    static const char *const known[] = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"};
    const struct json *modes = json_get(spec, "accessModes");
    if (json_size(modes) == 0)
        problem_required(problems, "spec.accessModes", "at least 1 access mode is required");
    for (const struct json *mode = json_first(modes); mode; mode = json_next(mode)) {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found |= text_equal(json_string(mode), known[i]);
        if (!found)
            problem_unsupported(problems, "spec.accessModes", mode,
                                "\"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"");
    }
}

static void check_claim(const struct json *claim, struct field_problems *problems) {
    const struct json *spec = json_get(claim, "spec"), *class = json_get(spec, "storageClassName");
    check_modes(spec, problems);
    if (!json_path(spec, "resources", "requests", "storage", NULL))
        problem_required(problems, "spec.resources[storage]", "");
    if (*json_string_or(class, "") && !text_is_dns_subdomain(json_string(class)))
        problem_invalid(problems, "spec.storageClassName", class, "a lowercase RFC 1123 subdomain");
}

static bool is_bound(const struct json *claim) {
    return text_equal(json_string(json_path(claim, "status", "phase", NULL)), "Bound");
}

// Only the volume of a claim that has none, and the request of a bound one.
static void check_claim_update(const struct json *claim, const struct json *old, struct field_problems *problems) {
    AUTO_JSON allowed = world_json_copy(json_get(old, "spec"));
    const struct json *spec = json_get(claim, "spec");
    if (!json_get(allowed, "volumeName") && json_get(spec, "volumeName"))
        world_json_set(allowed, "volumeName", world_json_copy(json_get(spec, "volumeName")));
    const struct json *request = json_path(spec, "resources", "requests", "storage", NULL);
    if (is_bound(claim) && request)
        world_json_set(world_json_child(world_json_child(allowed, "resources"), "requests"), "storage",
                       world_json_copy(request));
    if (!json_equal(spec, allowed))
        problem_forbidden(problems, "spec",
                          "spec is immutable after creation except resources.requests and volumeAttributesClassName "
                          "for bound claims");
}

static void check_priority(const struct json *class, struct field_problems *problems) {
    const struct json *value = json_get(class, "value");
    const char *name = json_string_or(json_path(class, "metadata", "name", NULL), "");
    if (text_has_prefix(name, "system-"))
        problem_forbidden(problems, "metadata.name",
                          "priority class names with 'system-' prefix are reserved for system use only");
    if (json_int64(value, 0) > VALUE_MAX)
        problem_forbidden(problems, "value", "maximum allowed value of a user defined priority is 1000000000");
}

static void check_handler(const struct json *class, struct field_problems *problems) {
    const struct json *handler = json_get(class, "handler");
    if (!*json_string_or(handler, ""))
        problem_required(problems, "handler", "");
    else if (!text_is_dns_label(json_string(handler)))
        problem_invalid(problems, "handler", handler, "a lowercase RFC 1123 label");
}

void claim_create(const struct kind *kind, struct json *value, struct field_problems *problems) {
    if (kind->special == SPECIAL_CLAIM) {
        set_default(world_json_child(value, "spec"), "volumeMode", "Filesystem");
        world_set_text(world_json_child(value, "status"), "phase", "Pending");
        if (!kind->cluster->options.no_controllers) // admission plugin StorageObjectInUseProtection, and its controller
            meta_add_finalizer(value, CLAIM_FINALIZER);
        check_claim(value, problems);
    } else if (kind->special == SPECIAL_PRIORITYCLASS) {
        set_default(value, "preemptionPolicy", "PreemptLowerPriority");
        world_set_int(json_get(value, "metadata"), "generation", 1);
        if (!json_get(value, "value"))
            world_set_int(value, "value", 0);
        check_priority(value, problems);
    } else {
        check_handler(value, problems);
    }
}

void claim_update(const struct kind *kind, struct json *value, const struct json *old,
                  struct field_problems *problems) {
    if (kind->special == SPECIAL_CLAIM) {
        check_claim(value, problems);
        check_claim_update(value, old, problems);
    } else if (kind->special == SPECIAL_PRIORITYCLASS) {
        if (!json_equal(json_get(value, "value"), json_get(old, "value")))
            problem_forbidden(problems, "value", "may not be changed in an update.");
        if (!json_equal(json_get(value, "preemptionPolicy"), json_get(old, "preemptionPolicy")))
            problem_invalid(problems, "preemptionPolicy", json_get(value, "preemptionPolicy"), "field is immutable");
    } else {
        check_handler(value, problems);
        if (!json_equal(json_get(value, "handler"), json_get(old, "handler")))
            problem_invalid(problems, "handler", json_get(value, "handler"), "field is immutable");
    }
}
