// SPDX-License-Identifier: Apache-2.0
// The mirror that would be created, and the differences from the workload; the pods that an object requests; and the
// status that is written on the workload, for a given status of the mirror, or while there is no mirror.
#include "core/adapter/phase.h"
#include "core/adapter/pods.h"
#include "core/cmd/plan/plan.h"
#include "core/engine/continuity/values.h"
#include "core/json/pointer.h"
#include "core/json/yaml.h"

#include <inttypes.h>

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

// The worker of --cluster, or else the first one as an example.
static const char *cluster_name(const struct plan *plan) {
    const struct config *config = plan->config;
    if (plan->cluster)
        return plan->cluster;
    return config->n_workers > 0 ? config->workers[0].settings.name : NULL;
}

struct mirror_context plan_begin_call(const struct plan_object *object, uint32_t attempt, const struct json *mirror,
                                      struct adapter_call *call) {
    const struct plan *plan = object->plan;
    adapter_call_begin(call, &(struct call_context){.kind = &object->kind->abi,
                                                    .given = object->kind->given,
                                                    .adapter = object->kind->adapter->name,
                                                    .now = plan->now,
                                                    .cluster = attempt > 0 ? cluster_name(plan) : NULL,
                                                    .attempt = attempt,
                                                    .version = object->version,
                                                    .object = object->name,
                                                    .mirror_state = mirror ? WHARF_MIRROR_PRESENT : WHARF_MIRROR_NONE});
    return (struct mirror_context){.kind = object->kind,
                                   .origin = plan->config->origin ? plan->config->origin : PLAN_NO_ORIGIN,
                                   .call = call,
                                   .workload = object->workload,
                                   .mirror = mirror,
                                   .attempt = attempt};
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

// Reports the phase of the workload in `value`.
static wharf_phase_kind comment_phase(const struct plan_object *object, const struct json *value, struct buffer *out) {
    AUTO_CALL call;
    wharf_phase phase;
    plan_begin_call(object, object->attempt, NULL, &call);
    if (adapter_phase(&call, value, &phase) == WHARF_OK)
        plan_comment(out, "phase: %s%s%s%s%s", phase_word(phase.phase), phase.reason ? ", " : "",
                     phase.reason ? phase.reason : "", phase.message ? ": " : "", phase.message ? phase.message : "");
    else
        plan_comment(out, "phase: Active, as the adapter reports none");
    return phase.phase;
}

void plan_report_phase(struct plan_object *object) {
    wharf_phase_kind phase = comment_phase(object, object->workload, &object->lines);
    if (phase_is_final(phase)) {
        plan_comment(&object->lines, "finished: a finished object gets no mirror");
        object->verdict = PLAN_NOT_DELEGATED;
    } else if (object_is_being_deleted(object->workload)) {
        plan_comment(&object->lines, "deleted: an object that is being deleted gets no mirror");
        object->verdict = PLAN_NOT_DELEGATED;
    } else if (phase_suspend_asked(&object->kind->abi, object->workload)) {
        plan_comment(&object->lines, "suspended: by %s; it is placed once it is resumed", object->kind->abi.suspend);
        object->suspended = true;
    }
}

static bool matches_any(const char *const *patterns, const char *pointer) {
    while (patterns && *patterns && !pointer_matches(*patterns, pointer))
        patterns++;
    return patterns && *patterns;
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
    if (matches_any(kind->abi.removed, change->pointer))
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

// The engine's checks before the placement of a workload.
static bool is_accepted(struct plan_object *object) {
    AUTO_CALL call;
    plan_begin_call(object, 0, NULL, &call);
    wharf_result result = adapter_accept(&call, object->workload);
    if (result != WHARF_OK)
        plan_report_refusal(object, result, &call, "mirror");
    return result == WHARF_OK;
}

static void comment_assumptions(struct plan_object *object) {
    if (!object->plan->cluster)
        plan_comment(&object->lines, "not validated without --cluster: no API server has checked this mirror");
    if (!object->plan->config->origin)
        plan_comment(&object->lines,
                     "placeholder: " PLAN_NO_ORIGIN " for the origin, which is derived from the management cluster");
    if (object_uid(object->item->value)[0] == '\0')
        plan_comment(&object->lines, "placeholder: " PLAN_NO_UID " for the uid, which the object does not have yet");
}

static void comment_ignored(struct plan_object *object) {
    struct values_ignored ignored;
    for (size_t i = 0; values_next_ignored(object->workload, &i, &ignored);)
        plan_comment(&object->lines, "ignored: annotation %s: found \"%s\", expected \"%s\"", ignored.key,
                     ignored.value, ignored.expected);
}

// Puts the members of an object into the usual order.
static bool order_members(struct json *value) {
    AUTO_JSON ordered = document_make("{'apiVersion':%j,'kind':%j,'metadata':%j}", json_get(value, "apiVersion"),
                                      json_get(value, "kind"), json_get(value, "metadata"));
    bool ok = ordered;
    for (const struct json *member = json_first(value); ok && member; member = json_next(member))
        ok = json_get(ordered, json_key(member)) || json_set(ordered, json_key(member), json_copy(member));
    return ok && json_take_content(value, ordered);
}

struct error *plan_make_mirror(struct plan_object *object) {
    if (!is_accepted(object))
        return NULL;
    AUTO_CALL call;
    struct mirror_context context = plan_begin_call(object, object->attempt, NULL, &call);
    context.finalizer = object->plan->config->engine.mirror_finalizer;
    wharf_result result = mirror_make(&context, &object->mirror);
    if (result != WHARF_OK)
        plan_report_refusal(object, result, &call, "mirror");
    else if (call.answer.message)
        plan_comment(&object->lines, "remark: %s (%s)",
                     adapter_answer_message(&call, "the adapter's message cannot be shown"),
                     adapter_answer_reason(&call, "FieldsDropped"));
    if (!object->mirror)
        return NULL;
    comment_assumptions(object);
    comment_ignored(object);
    return order_members(object->mirror) && report_differences(object) ? NULL : error_no_memory();
}

// Pods ------------------------------------------------------------------------------------------------------------

static void add_requests(const struct json *container, struct buffer *text) {
    static const char *const maps[] = {"requests", "limits"};
    const struct json *requests = json_path(container, "resources", "requests", NULL);
    bool any = false;
    for (size_t i = 0; i < 2; i++) {
        const struct json *map = json_path(container, "resources", maps[i], NULL);
        for (const struct json *member = json_first(map); json_key(member); member = json_next(member)) {
            if (i == 1 && json_get(requests, json_key(member)))
                continue;
            const char *number = json_number_text(member);
            buffer_printf(text, "%s%s %s", any ? ", " : " with ", json_key(member),
                          number ? number : json_string_or(member, "?"));
            any = true;
        }
    }
}

static void report_set(struct plan_object *object, const struct json *set) {
    AUTO_BUFFER(text, 65536);
    const struct json *containers = json_path(set, "template", "spec", "containers", NULL);
    for (const struct json *item = json_first(containers); item; item = json_next(item)) {
        const char *image = json_string(json_get(item, "image"));
        buffer_printf(&text, "%s%s", text.len > 0 ? "; " : ": ", json_string_or(json_get(item, "name"), "?"));
        if (image)
            buffer_printf(&text, " (%s)", image);
        add_requests(item, &text);
    }
    plan_comment(&object->lines, "pods: %" PRId64 "%s", json_int64(json_get(set, "count"), 0),
                 text.data ? text.data : "");
}

void plan_report_pods(struct plan_object *object) {
    AUTO_CALL call;
    AUTO_JSON sets = NULL;
    plan_begin_call(object, object->attempt, NULL, &call);
    if (pods_of(&call, object->workload, &sets) != WHARF_OK)
        plan_comment(&object->lines, "pods: unknown: %s", adapter_answer_message(&call, "no reason given"));
    for (const struct json *set = json_first(sets); set; set = json_next(set))
        report_set(object, set);
}

// Status ----------------------------------------------------------------------------------------------------------

static bool report_status_difference(void *ctx, const struct plan_change *change) {
    struct plan_object *object = ctx;
    struct buffer *more = &object->more;
    const char *observed = object->kind->abi.observed_generation;
    if (!change->to)
        plan_comment(more, "not copied: %s (%s)", change->pointer,
                     matches_any(object->kind->abi.status_removed, change->pointer)
                         ? "it is meaningful in the worker only"
                         : "the adapter removes it");
    else if (text_equal(observed, change->pointer))
        plan_comment_change(more, "rewritten:", change, "the generation of the workload");
    else
        plan_comment_change(more, !change->from ? "added:" : "changed:", change, "by the adapter");
    return !more->failed;
}

// The workload after the write; NULL when out of memory.
static struct json *written(const struct plan_object *object, const struct json *patch) {
    AUTO_JSON after = json_copy(object->workload);
    AUTO_JSON body = json_new_object();
    const struct json *status = json_get(patch, "status");
    bool ok = after && body && (!status || (json_set(body, "status", json_copy(status)) && patch_apply(&after, body)));
    return ok ? TAKE(after) : NULL;
}

// The printed part of the workload: name and status. NULL when out of memory.
static struct json *excerpt(const struct json *after) {
    AUTO_JSON shown = document_make("{'apiVersion':%j,'kind':%j,'metadata':{'name':%s,'namespace':%s},'status':%j}",
                                    json_get(after, "apiVersion"), json_get(after, "kind"), object_name(after),
                                    object_namespace(after), json_get(after, "status"));
    if (!json_get(after, "status"))
        json_remove(shown, "status");
    return TAKE(shown);
}

static void report_written_phase(struct plan_object *object, const struct json *after) {
    wharf_phase_kind phase = comment_phase(object, after, &object->more);
    if (phase_is_final(phase) && object->mirror)
        plan_comment(&object->more, "finished: the mirror is kept for mirrorRetention, then deleted");
}

static bool report_written(struct plan_object *object, const struct json *mirror, const struct json *patch) {
    AUTO_JSON after = written(object, patch);
    AUTO_JSON shown = !after ? NULL : excerpt(after);
    if (!shown)
        return false;
    plan_comment(&object->more,
                 mirror ? "status written on %s %s for this status of its mirror"
                        : "status written on %s %s while it has no mirror",
                 object->kind->abi.kind, object->name);
    if (!patch)
        plan_comment(&object->more, "nothing is written: the status is up to date");
    report_written_phase(object, after);
    if (mirror &&
        !plan_diff(json_get(mirror, "status"), json_get(after, "status"), "/status", report_status_difference, object))
        return false;
    return yaml_print(shown, &object->more);
}

// The mirror as in the worker, with the given status.
static struct json *running_mirror(const struct plan_object *object) {
    AUTO_JSON mirror = json_copy(object->mirror);
    struct json *metadata = json_get(mirror, "metadata");
    bool ok = json_set(mirror, "status", json_copy(object->plan->status)) &&
              set_text(metadata, "uid", "UID-OF-THE-MIRROR") && set_text(metadata, "resourceVersion", "1") &&
              json_set(metadata, "generation", json_new_int64(1));
    return ok ? TAKE(mirror) : NULL;
}

struct error *plan_report_status(struct plan_object *object) {
    bool given = object->plan->status;
    if (!object->mirror || (!given && !object->suspended))
        return NULL;
    AUTO_JSON mirror = given ? running_mirror(object) : NULL;
    if (given && !mirror)
        return error_no_memory();
    AUTO_CALL call;
    AUTO_JSON patch = NULL;
    uint64_t wanted = 0;
    // 0: not placed, suspended before it was
    uint32_t attempt = !given && mirror_attempt(object->workload) == 0 ? 0 : object->attempt;
    struct mirror_context context = plan_begin_call(object, attempt, mirror, &call);
    wharf_result result = mirror_status(&context, &patch, &wanted);
    if (result != WHARF_OK)
        plan_report_refusal(object, result, &call, "status");
    if (result != WHARF_OK || (!patch && !given))
        return NULL;
    return report_written(object, mirror, patch) ? NULL : error_no_memory();
}
