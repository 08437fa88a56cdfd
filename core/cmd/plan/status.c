// SPDX-License-Identifier: Apache-2.0
// The pods that an object requests, and the status that is written on the workload: for a given status of the mirror,
// or while there is no mirror.
#include "core/adapter/phase.h"
#include "core/adapter/pods.h"
#include "core/base/memory.h"
#include "core/cmd/plan/plan.h"
#include "core/json/patch.h"
#include "core/json/pointer.h"
#include "core/json/yaml.h"

#include <inttypes.h>

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
    struct adapter_call call;
    AUTO_JSON sets = NULL;
    plan_begin_call(object, object->attempt, WHARF_MIRROR_NONE, &call);
    wharf_result result = pods_of(&call, object->workload, &sets);
    if (result != WHARF_OK)
        plan_comment(&object->lines, "pods: unknown: %s", adapter_answer_message(&call, "no reason given"));
    adapter_call_end(&call);
    for (const struct json *set = json_first(sets); set; set = json_next(set))
        report_set(object, set);
}

static bool is_worker_only(const struct kind *kind, const char *pointer) {
    for (const char *const *p = kind->abi.status_removed; p && *p; p++)
        if (pointer_matches(*p, pointer))
            return true;
    return false;
}

static bool report_difference(void *ctx, const struct plan_change *change) {
    struct plan_object *object = ctx;
    struct buffer *more = &object->more;
    const char *observed = object->kind->abi.observed_generation;
    if (!change->to)
        plan_comment(more, "not copied: %s (%s)", change->pointer,
                     is_worker_only(object->kind, change->pointer) ? "it is meaningful in the worker only"
                                                                   : "the adapter removes it");
    else if (text_equal(observed, change->pointer))
        plan_comment_change(more, "rewritten:", change, "the generation of the workload");
    else
        plan_comment_change(more, !change->from ? "added:" : "changed:", change, "by the adapter");
    return !more->failed;
}

// The workload after the write; NULL when out of memory.
static struct json *written(const struct plan_object *object, const struct json *patch) {
    struct json *after = json_copy(object->workload);
    AUTO_JSON body = json_new_object();
    const struct json *status = json_get(patch, "status");
    bool ok = after && body && (!status || (json_set(body, "status", json_copy(status)) && patch_apply(&after, body)));
    if (ok)
        return after;
    json_free(after);
    return NULL;
}

// The printed part of the workload: name and status. NULL when out of memory.
static struct json *excerpt(const struct json *after) {
    AUTO_JSON shown = json_new_object();
    static const char *const members[] = {"apiVersion", "kind", "status"};
    bool ok = json_set(shown, "metadata", json_new_object());
    struct json *metadata = json_get(shown, "metadata");
    ok = ok && json_set(metadata, "name", json_new_string(object_name(after))) &&
         json_set(metadata, "namespace", json_new_string(object_namespace(after)));
    for (size_t i = 0; ok && i < sizeof(members) / sizeof(members[0]); i++)
        if (json_get(after, members[i]))
            ok = json_set(shown, members[i], json_copy(json_get(after, members[i])));
    if (!ok || !plan_order(&shown))
        return NULL;
    return TAKE(shown);
}

static void report_phase(struct plan_object *object, const struct json *after) {
    wharf_phase_kind phase = plan_comment_phase(object, after, &object->more);
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
    report_phase(object, after);
    if (mirror &&
        !plan_diff(json_get(mirror, "status"), json_get(after, "status"), "/status", report_difference, object))
        return false;
    return yaml_print(shown, &object->more);
}

// The mirror as in the worker, with the given status.
static struct json *running_mirror(const struct plan_object *object) {
    struct json *mirror = json_copy(object->mirror);
    struct json *metadata = json_get(mirror, "metadata");
    if (json_set(mirror, "status", json_copy(object->plan->status)) &&
        json_set(metadata, "uid", json_new_string("UID-OF-THE-MIRROR")) &&
        json_set(metadata, "resourceVersion", json_new_string("1")) &&
        json_set(metadata, "generation", json_new_int64(1)))
        return mirror;
    json_free(mirror);
    return NULL;
}

struct error *plan_report_status(struct plan_object *object) {
    bool given = object->plan->status;
    if (!object->mirror || (!given && !object->suspended))
        return NULL;
    AUTO_JSON mirror = given ? running_mirror(object) : NULL;
    if (given && !mirror)
        return error_no_memory();
    struct adapter_call call;
    AUTO_JSON patch = NULL;
    uint64_t wanted = 0;
    // 0: not placed, suspended before it was
    uint32_t attempt = !given && mirror_attempt(object->workload) == 0 ? 0 : object->attempt;
    plan_begin_call(object, attempt, given ? WHARF_MIRROR_PRESENT : WHARF_MIRROR_NONE, &call);
    struct mirror_context context = {.kind = object->kind,
                                     .origin = plan_origin(object->plan),
                                     .call = &call,
                                     .workload = object->workload,
                                     .mirror = mirror,
                                     .attempt = attempt};
    wharf_result result = mirror_status(&context, &patch, &wanted);
    if (result != WHARF_OK)
        plan_report_refusal(object, result, &call, "status");
    adapter_call_end(&call);
    if (result != WHARF_OK || (!patch && !given))
        return NULL;
    return report_written(object, mirror, patch) ? NULL : error_no_memory();
}
