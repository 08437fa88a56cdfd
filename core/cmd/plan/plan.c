// SPDX-License-Identifier: Apache-2.0
// `wharf plan`: the loop over the objects, and the output.
#include "core/cmd/plan/plan.h"
#include "core/config/dependencies.h"
#include "core/json/yaml.h"

#define VALUE_MAX 160 // bytes of a value that a comment shows

void plan_comment(struct buffer *out, const char *format, ...) {
    AUTO_BUFFER(text, (size_t)1 << 20);
    va_list args;
    va_start(args, format);
    bool written = buffer_vprintf(&text, format, args);
    va_end(args);
    buffer_text(out, "# ");
    text_show(out, written ? text.data : "(too long to print)");
    buffer_char(out, '\n');
}

// The value as JSON, truncated if long.
static void show(const struct json *value, char out[VALUE_MAX + 4]) {
    AUTO_TEXT text = json_text(value, NULL);
    text_copy(out, VALUE_MAX, !text ? "?" : text);
    if (text && strlen(text) >= VALUE_MAX)
        memcpy(out + strlen(out), "...", sizeof("..."));
}

void plan_comment_change(struct buffer *out, const char *label, const struct plan_change *change, const char *why) {
    char from[VALUE_MAX + 4] = "", to[VALUE_MAX + 4] = "";
    if (change->from)
        show(change->from, from);
    if (change->to)
        show(change->to, to);
    const char *arrow = change->from && change->to ? " -> " : "";
    plan_comment(out, "%s %s: %s%s%s%s%s%s", label, change->pointer, from, arrow, to, why ? " (" : "", why ? why : "",
                 why ? ")" : "");
}

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
    default:
        return object->trouble;
    }
}

void plan_wrong(struct plan_object *object, const char *trouble) {
    object->verdict = PLAN_WRONG;
    if (!object->trouble)
        object->trouble = trouble;
}

// One section of the output: the explanations, the mirror, and further documents.
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
    object->kind = plan_find_kind(object->plan->adapters, object->item->value, &object->version, &object->lines);
    object->verdict = PLAN_NOT_DELEGATED;
    if (!object->kind || !kind_list_has(object->kind->abi.versions, object->version))
        return NULL;
    plan_judge_manager(object);
    plan_check_names(object);
    if (object->verdict != PLAN_DELEGATED)
        return NULL;
    TRY(plan_prepare(object));
    plan_report_phase(object);
    if (object->verdict != PLAN_DELEGATED)
        return NULL;
    report_placement(object);
    plan_report_pods(object);
    TRY(plan_report_references(object));
    TRY(plan_report_scores(object));
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
    if (!plan->status_file)
        return NULL;
    size_t count = 0;
    for (size_t i = 0; i < input->count; i++) {
        const char *version = NULL;
        count += plan_find_kind(plan->adapters, input->items[i].value, &version, NULL) ? 1 : 0;
    }
    if (count > 1)
        return error_new(ERROR_INVALID, "--status: found %zu objects of supported kinds in %s, expected one", count,
                         plan->file);
    return plan_input_status(plan->status_file, &plan->status);
}

// Appends the output to `out`; with an error, the output before the error. Problems of the input go to `problems`. The
// error is that of a file or a cluster that cannot be used, or of memory.
static struct error *plan_all(struct plan *plan, struct plan_input *input, struct problems *problems,
                              struct buffer *out, struct tally *tally) {
    if (plan->cluster)
        TRY(plan_worker_open(plan, problems));
    if (plan->look_up || (plan->cluster && dependency_options_any(&plan->config->engine.dependencies)))
        TRY(plan_management_open(plan));
    plan->input = input;
    TRY(plan_input_read(plan->file, problems, input));
    TRY(read_status(plan, input));
    for (size_t i = 0; i < input->count; i++)
        TRY(plan_one(plan, &input->items[i], out, tally));
    return NULL;
}

#define OUTPUT_MAX ((size_t)1 << 30)
#define EXIT_NOT_DELEGATED 3

static const struct flag flags[] = {
    FLAG_CONFIG,
    FLAG_ADAPTERS,
    FLAG(NULL, 'f', "FILE", "the objects: one or more documents or lists; - is standard input", .required = true),
    FLAG("status", 0, "FILE",
         "also show the status that the workload gets when its mirror has this one: a status, or\n"
         "an object with one"),
    FLAG("cluster", 0, "NAME",
         "also validate the mirror in this worker with a server-side dry run: changes and rejections\n"
         "by its admission; and look up the objects that the workload refers to, there and in the\n"
         "management cluster"),
    SWITCH("look-up", 0, "look up the objects that the workload refers to in the management cluster"),
};

static struct error *plan(struct call *call, struct setup *setup) {
    AUTO_BUFFER(out, OUTPUT_MAX);
    struct plan plan = {.config = setup->config,
                        .adapters = setup->adapters,
                        .file = flags_value(call, "f"),
                        .status_file = flags_value(call, "status"),
                        .cluster = flags_value(call, "cluster"),
                        .look_up = flags_value(call, "look-up"),
                        .now = clock_now()};
    struct plan_input input = {.count = 0};
    struct tally tally = {.wrong = false};
    const struct problems *problems = &setup->problems;
    size_t before = problems->count + problems->lost;
    struct error *error = plan_all(&plan, &input, &setup->problems, &out, &tally);
    if (out.len > 0)
        fwrite(out.data, 1, out.len, stdout);
    call->code = tally.delegated && !tally.left ? EXIT_SUCCESS : EXIT_NOT_DELEGATED;
    if (error || tally.wrong || problems->count + problems->lost > before)
        call->code = EXIT_FAILURE;
    plan_input_free(&input);
    cluster_close(&plan.worker);
    cluster_close(&plan.management);
    free(plan.namespace_map);
    json_free(plan.status);
    return error;
}

static struct error *run_plan(struct call *call) {
    return setup_use(call, plan);
}

SUBCOMMAND(plan, run_plan, "show how the host would handle objects",
           "Reads objects from a file of YAML or JSON and shows how the host would handle each of them in the\n"
           "management cluster: which adapter handles it, whether it is delegated to this host, and the\n"
           "mirror that would be created, as YAML; explanations are comments. Nothing is created. Exits with 0\n"
           "if every object of a known kind would be delegated, with 3 if one would not, with 1 if one is invalid\n"
           "or would be rejected.\n",
           FLAGS(flags));
