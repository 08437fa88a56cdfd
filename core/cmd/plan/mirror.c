// SPDX-License-Identifier: Apache-2.0
// The mirror that would be created, and the differences from the workload.

#include "core/adapter/phase.h"
#include "core/cmd/plan/plan.h"
#include "core/json/pointer.h"

#include <string.h>

static bool set_text(struct json *object, const char *key, const char *text) {
    return json_set(object, key, json_new_string(text));
}

// A field that the API server sets when an object is created.
static bool given(struct json *metadata, const char *key, struct json *value) {
    if (!json_get(metadata, key))
        return json_set(metadata, key, value);
    json_free(value);
    return true;
}

static bool set_name(struct plan_object *object, struct json *metadata) {
    const char *prefix = json_string_or(json_get(metadata, "generateName"), "");
    if (object_name(object->workload)[0] == '\0' && prefix[0] != '\0') {
        AUTO_TEXT name = text_format("%sxxxxx", prefix);
        if (!name || !set_text(metadata, "name", name))
            return false;
        plan_comment(&object->lines, "name: %s stands for the name that the API server generates", name);
    }
    if (object_namespace(object->workload)[0] == '\0') {
        plan_comment(&object->lines, "namespace: not set, \"default\" is assumed");
        if (!set_text(metadata, "namespace", "default"))
            return false;
    }
    object->name = text_format("%s/%s", object_namespace(object->workload), object_name(object->workload));
    return object->name;
}

struct error *plan_prepare(struct plan_object *object) {
    object->workload = json_copy(object->item->value);
    struct json *metadata = json_get(object->workload, "metadata");
    if (!object->workload)
        return error_no_memory();
    if (!json_is(metadata, JSON_OBJECT)) {
        json_set(object->workload, "metadata", json_new_object());
        metadata = json_get(object->workload, "metadata");
    }
    bool ok = metadata && set_name(object, metadata) && given(metadata, "uid", json_new_string(PLAN_NO_UID)) &&
              given(metadata, "generation", json_new_int64(1));
    json_remove(metadata, "managedFields");
    return ok ? NULL : error_no_memory();
}

const char *plan_origin(const struct plan *plan) {
    return plan->request->config->origin ? plan->request->config->origin : PLAN_NO_ORIGIN;
}

// The worker of --cluster, or else the first one as an example.
static const char *cluster_name(const struct plan *plan) {
    const struct config *config = plan->request->config;
    if (plan->request->cluster)
        return plan->request->cluster;
    return config->n_workers > 0 ? config->workers[0].settings.name : NULL;
}

void plan_begin_call(const struct plan_object *object, uint32_t attempt, wharf_mirror_state state,
                     struct adapter_call *call) {
    adapter_call_begin(call, &(struct call_context){.kind = &object->kind->abi,
                                                    .given = object->kind->given,
                                                    .adapter = object->kind->adapter->name,
                                                    .now = object->plan->request->now,
                                                    .cluster = attempt > 0 ? cluster_name(object->plan) : NULL,
                                                    .attempt = attempt,
                                                    .version = object->version,
                                                    .object = object->name,
                                                    .mirror_state = state});
}

void plan_report_refusal(struct plan_object *object, wharf_result result, struct adapter_call *call, const char *what) {
    if (result == WHARF_REFUSED)
        plan_comment(&object->lines, "rejected: the adapter creates no %s: %s (%s)", what,
                     adapter_answer_message(call, "no reason given"), adapter_answer_reason(call, "Refused"));
    else
        plan_comment(&object->lines, "no %s: the adapter asks to retry later: %s", what,
                     adapter_answer_message(call, "no reason given"));
    plan_wrong(object, result == WHARF_REFUSED ? "would be rejected by its adapter" : "would have to wait");
}

static const char *phase_text(wharf_phase_kind phase) {
    switch (phase) {
    case WHARF_PENDING:
        return "Pending";
    case WHARF_SUSPENDED:
        return "Suspended";
    case WHARF_SUCCEEDED:
        return "Succeeded";
    case WHARF_FAILED:
        return "Failed";
    case WHARF_ACTIVE:
    default:
        return "Active";
    }
}

wharf_phase_kind plan_comment_phase(const struct plan_object *object, const struct json *value, struct buffer *out) {
    struct adapter_call call;
    wharf_phase phase;
    plan_begin_call(object, object->attempt, WHARF_MIRROR_NONE, &call);
    wharf_result result = adapter_phase(&call, value, &phase);
    wharf_phase_kind known = phase.phase;
    if (result == WHARF_OK)
        plan_comment(out, "phase: %s%s%s%s%s", phase_text(phase.phase), phase.reason ? ", " : "",
                     phase.reason ? phase.reason : "", phase.message ? ": " : "", phase.message ? phase.message : "");
    else
        plan_comment(out, "phase: Active, as the adapter reports none");
    adapter_call_end(&call);
    return known;
}

void plan_report_phase(struct plan_object *object) {
    wharf_phase_kind phase = plan_comment_phase(object, object->workload, &object->lines);
    if (phase_is_final(phase)) {
        plan_comment(&object->lines, "finished: a finished object gets no mirror");
        object->left_alone = true;
    } else if (object_is_being_deleted(object->workload)) {
        plan_comment(&object->lines, "deleted: an object that is being deleted gets no mirror");
        object->left_alone = true;
    } else if (phase_suspend_asked(&object->kind->abi, object->workload)) {
        plan_comment(&object->lines, "suspended: by %s; it is placed once it is resumed", object->kind->abi.suspend);
        object->suspended = true;
    }
    if (object->left_alone)
        object->verdict = PLAN_NOT_DELEGATED;
}

// Why the mirror lacks a field of the workload.
static const char *why_removed(const struct kind *kind, const struct plan_change *change) {
    static const struct {
        const char *pointer, *why;
    } known[] = {
        {"/metadata/ownerReferences",
         "its owner is not in the worker, whose garbage collector would delete the mirror"},
        {"/metadata/finalizers", "no controller in the worker would remove them"},
        {"/metadata/generateName", "the mirror has the workload's name"},
        {"/metadata", "the worker's API server sets its own"},
        {"/status", "the worker's controller writes its own"},
    };
    if (strcmp(change->pointer, kind->abi.managed_by) == 0)
        return "in the worker the kind's own controller runs it";
    for (const char *const *p = kind->abi.removed; p && *p; p++)
        if (pointer_matches(*p, change->pointer))
            return "the adapter removes it from every mirror";
    if (text_has_prefix(change->pointer, "/metadata/labels/") ||
        text_has_prefix(change->pointer, "/metadata/annotations/"))
        return mirror_key_is_private(json_key(change->from)) ? "it concerns the workload only"
                                                             : "the adapter removes it";
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (text_has_prefix(change->pointer, known[i].pointer))
            return known[i].why;
    return "the adapter removes it from this mirror";
}

// The marks that the host adds are not listed.
static bool is_mark(const struct plan_change *change) {
    const char *key = json_key(change->to ? change->to : change->from);
    return key && text_has_prefix(change->pointer, "/metadata/") && text_has_prefix(key, "wharf.dev/");
}

static bool report_difference(void *ctx, const struct plan_change *change) {
    struct plan_object *object = ctx;
    struct buffer *lines = &object->lines;
    if (!change->to) {
        if (pointer_find(object->item->value, change->pointer))
            plan_comment(lines, "not in the mirror: %s (%s)", change->pointer, why_removed(object->kind, change));
    } else if (!is_mark(change)) {
        plan_comment_change(lines, !change->from ? "added in the mirror:" : "changed in the mirror:", change,
                            "by the adapter");
    }
    return !lines->failed;
}

// Both get labels and annotations, for a comparison one by one.
static bool report_differences(struct plan_object *object) {
    AUTO_JSON from = json_copy(object->workload);
    struct json *metadata = json_get(from, "metadata");
    static const char *const maps[] = {"labels", "annotations"};
    for (size_t i = 0; i < 2; i++)
        if (!json_is(json_get(metadata, maps[i]), JSON_OBJECT) && !json_set(metadata, maps[i], json_new_object()))
            return false;
    return plan_diff(from, object->mirror, "", report_difference, object);
}

static wharf_result call_mirror(struct plan_object *object, uint32_t attempt, struct adapter_call *call,
                                struct json **out) {
    plan_begin_call(object, attempt, WHARF_MIRROR_NONE, call);
    struct mirror_context context = {.kind = object->kind,
                                     .origin = plan_origin(object->plan),
                                     .call = call,
                                     .workload = object->workload,
                                     .finalizer = object->plan->request->config->engine.mirror_finalizer,
                                     .attempt = attempt};
    return mirror_make(&context, out);
}

// The engine's checks before the placement of a workload.
static bool is_accepted(struct plan_object *object) {
    struct adapter_call call;
    plan_begin_call(object, 0, WHARF_MIRROR_NONE, &call);
    wharf_result result = adapter_accept(&call, object->workload);
    if (result != WHARF_OK)
        plan_report_refusal(object, result, &call, "mirror");
    adapter_call_end(&call);
    return result == WHARF_OK;
}

static void comment_assumptions(struct plan_object *object) {
    if (!object->plan->request->cluster)
        plan_comment(&object->lines, "not validated without --cluster: no API server has checked this mirror");
    if (!object->plan->request->config->origin)
        plan_comment(&object->lines, "placeholder: " PLAN_NO_ORIGIN " for the origin, which is derived from the "
                                     "management cluster");
    if (object_uid(object->item->value)[0] == '\0')
        plan_comment(&object->lines, "placeholder: " PLAN_NO_UID " for the uid, which the object does not have yet");
}

struct error *plan_make_mirror(struct plan_object *object) {
    struct adapter_call call;
    if (!is_accepted(object))
        return NULL;
    wharf_result result = call_mirror(object, object->attempt, &call, &object->mirror);
    if (result != WHARF_OK)
        plan_report_refusal(object, result, &call, "mirror");
    else if (call.answer.message)
        plan_comment(&object->lines, "remark: %s (%s)",
                     adapter_answer_message(&call, "the adapter's message cannot be shown"),
                     adapter_answer_reason(&call, "FieldsDropped"));
    adapter_call_end(&call);
    if (!object->mirror)
        return NULL;
    comment_assumptions(object);
    return plan_order(&object->mirror) && report_differences(object) ? NULL : error_no_memory();
}
