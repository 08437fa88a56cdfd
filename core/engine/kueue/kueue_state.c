// SPDX-License-Identifier: Apache-2.0
#include "core/engine/kueue/kueue_state.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/kube/object/object.h"

static const struct json *condition(const struct json *workload, const char *type) {
    const struct json *all = json_path(workload, "status", "conditions", NULL);
    for (const struct json *c = json_is(all, JSON_ARRAY) ? json_first(all) : NULL; c; c = json_next(c))
        if (text_equal(json_string(json_get(c, "type")), type))
            return c;
    return NULL;
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

// The first admission check in this state, or NULL.
static const struct json *check_in(const struct json *workload, const char *state) {
    const struct json *all = json_path(workload, "status", "admissionChecks", NULL);
    for (const struct json *c = json_is(all, JSON_ARRAY) ? json_first(all) : NULL; c; c = json_next(c))
        if (text_equal(json_string(json_get(c, "state")), state))
            return c;
    return NULL;
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

void kueue_state_strings(struct kueue_state *state, const char **out[KUEUE_STATE_STRINGS]) {
    const char **all[KUEUE_STATE_STRINGS] = {
        &state->name,   &state->uid,          &state->version,        &state->queue,
        &state->reason, &state->message,      &state->evicted_reason, &state->evicted_message,
        &state->check,  &state->check_message};
    for (size_t i = 0; i < KUEUE_STATE_STRINGS; i++)
        out[i] = all[i];
}

const char *kueue_state_owner(const struct json *workload) {
    return json_string_or(json_get(object_controller(workload), "uid"), "");
}
