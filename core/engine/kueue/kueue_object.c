// SPDX-License-Identifier: Apache-2.0
#include "core/engine/kueue/kueue_object.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/kube/object/object.h"

static const struct json *condition(const struct json *workload, const char *type) {
    return json_find_item(json_path(workload, "status", "conditions", NULL), "type", type);
}

static const struct json *check_in(const struct json *workload, const char *state) {
    return json_find_item(json_path(workload, "status", "admissionChecks", NULL), "state", state);
}

static bool is_true(const struct json *condition_) {
    return text_equal(json_string(json_get(condition_, "status")), "True");
}

static int64_t time_of(const struct json *value) {
    int64_t wall_ns = 0;
    const char *text = json_string(value);
    return text && clock_parse_rfc3339(text, &wall_ns) ? wall_ns : 0;
}

static const char *string_of(const struct json *object, const char *key) {
    return json_string_or(json_get(object, key), "");
}

static void set(struct kueue_state *out, enum kueue_phase phase, const struct json *why) {
    out->phase = phase;
    out->since_ns = time_of(json_get(why, "lastTransitionTime"));
    out->reason = string_of(why, "reason");
    out->message = string_of(why, "message");
}

static void read_phase(const struct json *workload, struct kueue_state *out) {
    const struct json *reserved = condition(workload, "QuotaReserved"), *admitted = condition(workload, "Admitted");
    const struct json *evicted = condition(workload, "Evicted"), *over = condition(workload, "Finished");
    const struct json *pending = check_in(workload, "Pending");
    if (is_true(over))
        set(out, KUEUE_OVER, over);
    else if (!json_bool(json_path(workload, "spec", "active", NULL), true))
        set(out, KUEUE_INACTIVE, is_true(evicted) ? evicted : reserved);
    else if (is_true(admitted))
        set(out, KUEUE_RUNS, admitted);
    else if (is_true(reserved))
        set(out, KUEUE_RESERVED, reserved);
    else
        set(out, KUEUE_PENDING, reserved);
    if (out->phase == KUEUE_RESERVED && pending) {
        out->reason = string_of(pending, "name");
        out->message = string_of(pending, "message");
    }
    if (out->since_ns == 0)
        out->since_ns = time_of(json_path(workload, "metadata", "creationTimestamp", NULL));
}

void kueue_state_read(const struct json *workload, const char *version, struct kueue_state *out) {
    const struct json *evicted = condition(workload, "Evicted"), *rejected = check_in(workload, "Rejected");
    *out = (struct kueue_state){.name = object_name(workload),
                                .uid = object_uid(workload),
                                .version = version,
                                .queue = json_string_or(json_path(workload, "spec", "queueName", NULL), ""),
                                .evicted_ns = is_true(evicted) ? time_of(json_get(evicted, "lastTransitionTime")) : 0,
                                .evicted_reason = string_of(evicted, "reason"),
                                .evicted_message = string_of(evicted, "message"),
                                .check = string_of(rejected, "name"),
                                .check_message = string_of(rejected, "message"),
                                .deactivated = object_annotation(workload, KUEUE_DEACTIVATED)};
    read_phase(workload, out);
}

const char *kueue_state_owner(const struct json *workload) {
    return json_string_or(json_get(object_controller(workload), "uid"), "");
}

// Fields of an admitted object ---------------------------------------------------------------------------------

static const char *const keys[] = {"kueue.x-k8s.io/workload",         "kueue.x-k8s.io/workload-slice-name",
                                   "kueue.x-k8s.io/podset",           "kueue.x-k8s.io/cluster-queue-name",
                                   "kueue.x-k8s.io/local-queue-name", "kueue.x-k8s.io/managed"};
#define GATE "kueue.x-k8s.io/topology" // only the Kueue that sees the pods removes the gate

// Labels or annotations, a member of `parent`.
static bool strip_map(struct json *parent, const char *name, const struct json *there) {
    struct json *map = json_get(parent, name);
    const struct json *present = json_get(there, name);
    bool had = json_first(map);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct json *theirs = json_is(present, JSON_OBJECT) ? json_get(present, keys[i]) : NULL;
        if (!theirs)
            json_remove(map, keys[i]);
        else if (!json_equal(json_get(map, keys[i]), theirs) && !json_set(map, keys[i], json_copy(theirs)))
            return false;
    }
    if (had && !json_first(map) && !present)
        json_remove_child(parent, map);
    return true;
}

static bool strip_gates(struct json *parent, const struct json *there) {
    struct json *gates = json_get(parent, "schedulingGates");
    const struct json *present = json_get(there, "schedulingGates"), *theirs = json_find_item(present, "name", GATE);
    const struct json *ours = json_find_item(gates, "name", GATE);
    if (theirs && !ours)
        return json_append(gates, json_copy(theirs));
    for (struct json *g = json_first(gates), *next; g && ours && !theirs; g = next) {
        next = json_next(g);
        if (g == ours)
            json_remove_child(gates, g);
    }
    if (ours && !json_first(gates) && !present)
        json_remove_child(parent, gates);
    return true;
}

static bool strip(struct json *value, const struct json *there) {
    bool array = json_is(value, JSON_ARRAY), same = array && json_size(value) == json_size(there);
    size_t i = 0;
    for (struct json *m = array || json_is(value, JSON_OBJECT) ? json_first(value) : NULL, *next; m; m = next, i++) {
        next = json_next(m);
        const char *key = array ? "" : json_key(m);
        bool map = json_is(m, JSON_OBJECT) && (strcmp(key, "labels") == 0 || strcmp(key, "annotations") == 0);
        bool gates = json_is(m, JSON_ARRAY) && strcmp(key, "schedulingGates") == 0;
        const struct json *place = array ? (same ? json_at(there, i) : NULL) : json_get(there, key);
        if (!(map ? strip_map(value, key, there) : gates ? strip_gates(value, there) : strip(m, place)))
            return false;
    }
    return true;
}

bool kueue_strip(struct json *mirror, const struct json *present) {
    for (struct json *m = json_first(mirror); m; m = json_next(m))
        if (strcmp(json_key(m), "metadata") != 0 && strcmp(json_key(m), "status") != 0 &&
            !strip(m, json_get(present, json_key(m))))
            return false;
    return true;
}

const struct json *kueue_source(const struct json *workload, struct json **own) {
    if (!object_label(workload, KUEUE_QUEUE_NAME))
        return workload;
    *own = json_copy(workload);
    return *own && kueue_strip(*own, NULL) ? *own : NULL;
}
