// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/plan/plan.h"

#include "core/cmd/plan/plan_internal.h"
#include "core/json/yaml.h"

#include <stdlib.h>
#include <string.h>

#define LINES_MAX ((size_t)16 << 20)
#define MORE_MAX ((size_t)256 << 20)

static void object_cleanup(struct plan_object *object) {
    json_free(object->workload);
    json_free(object->mirror);
    free(object->name);
    buffer_free(&object->lines);
    buffer_free(&object->more);
}

static const char *verdict_text(const struct plan_object *object) {
    switch (object->verdict) {
    case PLAN_DELEGATED:
        return object->suspended ? "would be delegated once it is resumed" : "would be delegated";
    case PLAN_NOT_DELEGATED:
        return "would not be delegated";
    case PLAN_WRONG:
    default:
        return object->trouble;
    }
}

void plan_wrong(struct plan_object *object, const char *trouble) {
    object->verdict = PLAN_WRONG;
    if (!object->trouble)
        object->trouble = trouble;
}

// One section of the output: the explanations, the mirror, and what follows it.
static struct error *write_object(const struct plan_object *object, struct buffer *out) {
    buffer_text(out, "---\n");
    const char *name = object->name ? object->name : object_name(object->item->value);
    plan_comment(out, "%s %s (%s): %s", json_string_or(json_get(object->item->value, "kind"), "?"),
                 name[0] != '\0' ? name : "unnamed", object->item->where, verdict_text(object));
    bool ok = !object->lines.failed && !object->more.failed &&
              buffer_append(out, object->lines.data, object->lines.len) &&
              (!object->mirror || yaml_print(object->mirror, out));
    if (ok && object->more.len > 0)
        ok = buffer_text(out, "---\n") && buffer_append(out, object->more.data, object->more.len);
    return ok && !out->failed ? NULL : error_no_memory();
}

// The annotations of an earlier placement; a new object has none.
static void report_placement(struct plan_object *object) {
    const char *cluster = object_annotation(object->workload, MARK_CLUSTER);
    uint32_t attempt = mirror_attempt(object->workload);
    object->attempt = cluster && attempt > 0 ? attempt : 1;
    if (cluster && attempt > 0)
        plan_comment(&object->lines, "placed: in %s according to its annotations, attempt %u", cluster, attempt);
}

static struct error *plan_object(struct plan_object *object) {
    object->kind =
        plan_find_kind(object->plan->request->adapters, object->item->value, &object->version, &object->lines);
    object->verdict = PLAN_NOT_DELEGATED;
    if (!object->kind || !plan_understands(object->kind, object->version))
        return NULL;
    object->verdict = PLAN_DELEGATED;
    plan_judge_manager(object);
    if (!plan_check_names(object) || object->left_alone)
        return NULL;
    TRY(plan_prepare(object));
    plan_report_phase(object);
    if (object->left_alone)
        return NULL;
    report_placement(object);
    plan_report_pods(object);
    TRY(plan_make_mirror(object));
    TRY(plan_report_status(object));
    return plan_try_mirror(object);
}

// The overall verdict: the worst of all. An object that no adapter supports does not count if there are others.
struct tally {
    bool wrong, delegated, left;
};

static struct error *plan_one(const struct plan *plan, const struct plan_item *item, struct buffer *out,
                              struct tally *tally) {
    __attribute__((cleanup(object_cleanup))) struct plan_object object = {.plan = plan, .item = item};
    buffer_init(&object.lines, LINES_MAX);
    buffer_init(&object.more, MORE_MAX);
    struct error *error = plan_object(&object);
    if (!error)
        error = write_object(&object, out);
    tally->wrong |= object.verdict == PLAN_WRONG;
    tally->delegated |= object.verdict == PLAN_DELEGATED;
    tally->left |= object.verdict == PLAN_NOT_DELEGATED && object.kind;
    return error_wrap(error, "%s", item->where);
}

// --status applies to one object.
static struct error *read_status(struct plan *plan, const struct plan_input *input) {
    if (!plan->request->status)
        return NULL;
    size_t count = 0;
    for (size_t i = 0; i < input->count; i++) {
        const char *version = NULL;
        count += plan_find_kind(plan->request->adapters, input->items[i].value, &version, NULL) ? 1 : 0;
    }
    if (count > 1)
        return error_new(ERROR_INVALID, "--status: found %zu objects of supported kinds in %s, expected one", count,
                         plan->request->file);
    return plan_input_status(plan->request->status, &plan->status);
}

static struct error *plan_all(struct plan *plan, const struct plan_input *input, struct buffer *out,
                              struct tally *tally) {
    TRY(read_status(plan, input));
    for (size_t i = 0; i < input->count; i++)
        TRY(plan_one(plan, &input->items[i], out, tally));
    return NULL;
}

struct error *plan_run(const struct plan_request *request, struct buffer *out, struct problems *problems,
                       enum plan_verdict *verdict) {
    struct plan plan = {.request = request};
    struct plan_input input = {.count = 0};
    struct tally tally = {.wrong = false};
    size_t before = problems->count + problems->lost;
    struct error *error = request->cluster ? plan_worker_open(request, problems, &plan.worker) : NULL;
    if (!error)
        error = plan_input_read(request->file, problems, &input);
    if (!error)
        error = plan_all(&plan, &input, out, &tally);
    *verdict = tally.delegated && !tally.left ? PLAN_DELEGATED : PLAN_NOT_DELEGATED;
    if (error || tally.wrong || problems->count + problems->lost > before)
        *verdict = PLAN_WRONG;
    plan_input_free(&input);
    plan_worker_close(&plan.worker);
    json_free(plan.status);
    return error;
}
