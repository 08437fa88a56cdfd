// SPDX-License-Identifier: Apache-2.0
// The objects that a workload refers to, directly or through objects that can be read: the host's action for each, and
// the state in the clusters.
#include "core/cmd/plan/references.h"

#include "core/engine/dependencies/dependency.h"

static void needs_clear(struct plan_needs *needs) {
    for (size_t i = 0; i < needs->count; i++) {
        free(needs->list[i].reference);
        free(needs->list[i].from);
        free(needs->list[i].trouble);
        json_free(needs->list[i].source);
    }
    free(needs->list);
}

// "serviceaccounts runner"; of another namespace than the workload's "serviceaccounts other/runner".
static char *name_of(const struct plan_object *object, const struct reference *reference) {
    const char *namespace_ = plan_namespace_of(object, reference);
    bool own = reference->cluster_scoped || strcmp(namespace_, object_namespace(object->workload)) == 0;
    return text_format("%s %s%s%s", reference->resource, own ? "" : namespace_, own ? "" : "/", reference->name);
}

const char *plan_namespace_of(const struct plan_object *object, const struct reference *reference) {
    if (reference->cluster_scoped)
        return "";
    return *reference->namespace_ ? reference->namespace_ : object_namespace(object->workload);
}

// Takes the references that are not known yet. `from` NULL: of the workload.
static struct error *add_all(struct plan_object *object, struct plan_needs *needs, struct references *found,
                             const struct plan_need *from) {
    struct plan_need parent = from ? *from : (struct plan_need){.reference = NULL}; // the list may move
    for (size_t i = 0; i < found->count; i++) {
        struct plan_need *known = NULL;
        for (size_t n = 0; n < needs->count; n++)
            if (reference_compare(needs->list[n].reference, found->list[i]) == 0)
                known = &needs->list[n];
        bool optional = found->list[i]->optional || parent.optional;
        if (known) {
            known->optional &= optional;
            continue;
        }
        struct plan_need *need = array_next(&needs->list, needs->count, sizeof *need);
        if (!need)
            return error_no_memory();
        *need = (struct plan_need){.reference = TAKE(found->list[i]), .depth = parent.depth + 1, .optional = optional};
        needs->count++;
        need->from = parent.reference ? name_of(object, parent.reference) : NULL;
        if (parent.reference && !need->from)
            return error_no_memory();
    }
    return NULL;
}

// A document of the input.
static struct error *find_in_input(const struct plan_object *object, struct plan_need *need) {
    const struct plan_input *input = object->plan->input;
    const struct reference *r = need->reference;
    for (size_t i = 0; i < input->count; i++) {
        const struct json *value = input->items[i].value;
        const char *namespace_ = object_namespace(value), *api = json_string_or(json_get(value, "apiVersion"), "");
        const char *slash = strchr(api, '/'), *group = reference_group(r->resource);
        size_t len = slash ? (size_t)(slash - api) : 0;
        if (strcmp(json_string_or(json_get(value, "kind"), ""), r->kind) != 0 || strlen(group) != len ||
            strncmp(api, group, len) != 0 || strcmp(object_name(value), r->name) != 0 ||
            (!r->cluster_scoped && strcmp(*namespace_ ? namespace_ : "default", plan_namespace_of(object, r)) != 0))
            continue;
        need->in_file = input->items[i].where;
        need->source = json_copy(value);
        return need->source ? NULL : error_no_memory();
    }
    return NULL;
}

enum dependency_use plan_use_of(const struct plan_object *object, const struct plan_need *need) {
    const struct dependency_options *options = &object->plan->config->engine.dependencies;
    return need->reference->is_made ? DEPENDENCY_IGNORED : dependency_use_of(options, need->reference->resource);
}

// The host reads nothing of a resource that is not configured. Without any the list is all that workers must have.
static bool is_followed(const struct plan_object *object, const struct plan_need *need) {
    return plan_use_of(object, need) != DEPENDENCY_IGNORED ||
           !dependency_options_any(&object->plan->config->engine.dependencies);
}

static struct error *find_all(struct plan_object *object, struct plan_needs *needs) {
    const struct adapters *adapters = object->plan->adapters;
    for (size_t i = 0; i < needs->count && i < REFERENCES_MAX; i++) {
        struct plan_need *need = &needs->list[i];
        __attribute__((cleanup(references_clear))) struct references found = {.count = 0};
        if (need->reference->is_made)
            continue;
        TRY(find_in_input(object, need));
        TRY(plan_look_up(object, need));
        if (!need->source || need->depth >= REFERENCES_DEPTH || !is_followed(object, need))
            continue;
        if (!references_of_object(adapters->kinds, adapters->n_kinds, need->reference->resource, need->source, &found))
            return error_no_memory();
        TRY(add_all(object, needs, &found, need));
    }
    return NULL;
}

bool plan_lacks_label(const struct plan_object *object, const struct plan_need *need) {
    return strcmp(need->reference->resource, "secrets") == 0 &&
           object->plan->config->engine.dependencies.secrets == SECRETS_LABELLED &&
           !text_equal(object_label(need->source, MARK_COPY), "true");
}

// The host's action for the object, by the configuration.
static const char *treatment(const struct plan_object *object, const struct plan_need *need) {
    if (need->reference->is_made)
        return "made by the kind's controller in the worker";
    switch (plan_use_of(object, need)) {
    case DEPENDENCY_COPIED:
        return plan_lacks_label(object, need) ? "copied if the Secret has the label " MARK_COPY ": \"true\"" : "copied";
    case DEPENDENCY_CHECKED:
        return need->optional ? "checked, and optional" : "must be in the worker";
    default:
        return "not in dependencies: the host ignores the object";
    }
}

static struct error *report(struct plan_object *object, const struct plan_need *need) {
    AUTO_TEXT name = name_of(object, need->reference);
    AUTO_BUFFER(found, (size_t)64 << 10);
    if (need->in_file)
        buffer_printf(&found, "; in %s", need->in_file);
    TRY(plan_describe_need(object, need, &found));
    if (!name || found.failed)
        return error_no_memory();
    plan_comment(&object->lines, "refers to: %s%s, at %s%s%s: %s%s", name, need->optional ? " (optional)" : "",
                 *need->reference->where ? need->reference->where : "a place that only the adapter knows",
                 need->from ? " of " : "", need->from ? need->from : "", treatment(object, need),
                 found.data ? found.data : "");
    return NULL;
}

// Without dependencies in the configuration the host does not ask.
static void report_trouble(struct plan_object *object, wharf_result result, const char *message) {
    bool asks = dependency_options_any(&object->plan->config->engine.dependencies);
    bool refused = result == WHARF_REFUSED;
    plan_comment(&object->lines, "refers to: %s%s", message,
                 !asks     ? ""
                 : refused ? ": the host does not place the workload"
                           : ": the workload waits");
    if (asks)
        plan_wrong(object, refused ? "would not be placed by the host" : "would have to wait");
}

static struct error *report_all(struct plan_object *object, struct plan_needs *needs) {
    TRY(find_all(object, needs));
    for (size_t i = 0; i < needs->count && i < REFERENCES_MAX; i++)
        TRY(report(object, &needs->list[i]));
    if (needs->count <= REFERENCES_MAX)
        return NULL;
    AUTO_TEXT message = text_format("more than %d objects, directly or through others", REFERENCES_MAX);
    report_trouble(object, WHARF_REFUSED, message ? message : "too many objects");
    return NULL;
}

struct error *plan_report_references(struct plan_object *object) {
    AUTO_CALL call;
    __attribute__((cleanup(references_clear))) struct references found = {.count = 0};
    __attribute__((cleanup(needs_clear))) struct plan_needs needs = {.count = 0};
    plan_begin_call(object, object->attempt, NULL, &call);
    wharf_result result = references_of(&call, object->workload, &found);
    if (result != WHARF_OK) {
        report_trouble(object, result, adapter_answer_message(&call, "an unknown number of objects"));
        return NULL;
    }
    TRY(add_all(object, &needs, &found, NULL));
    return report_all(object, &needs);
}
