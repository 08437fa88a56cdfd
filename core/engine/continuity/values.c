// SPDX-License-Identifier: Apache-2.0
#include "core/engine/continuity/values.h"

#include "core/adapter/pods.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#define ANNOTATIONS_MAX ((size_t)128 * 1024) // of the workload with the values: half of an API server's limit
#define CONTAINERS_AT (WHARF_REFERENCE_PODS | WHARF_REFERENCE_POD_SPECS | WHARF_REFERENCE_CONTAINERS)
#define TEXT_MAX (SIZE_MAX / 4)

// The variables of one mirror.
struct variables {
    struct json *values; // an object, name: value; NULL: none
    bool attempt;        // VALUES_ATTEMPT
};

static void variables_cleanup(struct variables *variables) {
    json_free(variables->values);
}

#define AUTO_VARIABLES __attribute__((cleanup(variables_cleanup))) struct variables

static bool is_marked(const struct json *object, const char *mark, const char *text) {
    return text_equal(object_annotation(object, mark), text);
}

// The text of a value; NULL: the value cannot be a variable.
static const char *text_of(const struct json *value) {
    const char *text = json_is(value, JSON_BOOL)     ? json_bool(value, false) ? "true" : "false"
                       : json_is(value, JSON_NUMBER) ? json_number_text(value)
                                                     : json_string(value);
    // A controller with templates like Argo's would replace "{{...}}" in an environment.
    return text && text_is_within(text, VALUES_ONE_MAX) && !strstr(text, "{{") ? text : NULL;
}

// The object in the annotation; empty without one. NULL: out of memory.
static struct json *parse_annotation(const struct json *object) {
    const char *text = object_annotation(object, MARK_PREVIOUS);
    struct json *values = NULL;
    struct error *error = text ? json_parse(text, strlen(text), &values) : NULL;
    bool is_object = !error && json_is(values, JSON_OBJECT);
    error_free(error);
    if (is_object)
        return values;
    json_free(values);
    return json_new_object();
}

// The kind's values in the annotation; none in a copy of another workload.
static struct json *read_previous(const struct kind *kind, const struct json *workload) {
    AUTO_JSON all = parse_annotation(workload);
    AUTO_JSON values = json_new_object();
    const char *uid = json_string(json_get(all, VALUES_UID));
    bool ok = all && values, own = !uid || text_equal(uid, object_uid(workload));
    for (const wharf_continuity *c = own ? kind->abi.continuity : NULL; ok && c && c->pointer; c++) {
        const struct json *value = json_get(all, c->name);
        ok = !text_of(value) || json_set(values, c->name, json_copy(value));
    }
    return ok ? TAKE(values) : NULL;
}

static bool has_continuity(const struct kind *kind) {
    return kind->abi.continuity && kind->abi.continuity->pointer;
}

bool continuity_is_wanted(const struct kind *kind, const struct json *workload) {
    return !kind->starts_anew && !text_equal(object_annotation(workload, MARK_CONTINUE), "false");
}

const char *continuity_off(const struct kind *kind, const struct json *workload) {
    bool can = kind->abi.progress || kind->abi.children || has_continuity(kind);
    if (!can || continuity_is_wanted(kind, workload))
        return NULL;
    return kind->starts_anew ? "continue: false of the adapter in the host's configuration"
                             : "annotation " MARK_CONTINUE ": \"false\"";
}

bool values_next_ignored(const struct json *workload, size_t *index, struct values_ignored *out) {
    static const struct {
        const char *key, *expected, *default_; // the values that say something, and that say nothing new
    } known[] = {{MARK_CONTINUE, "false", "true"}, {MARK_ATTEMPT_ENV, "true", "false"}};
    while (*index < sizeof known / sizeof known[0]) {
        size_t i = (*index)++;
        const char *value = object_annotation(workload, known[i].key);
        if (!value || strcmp(value, known[i].expected) == 0 || strcmp(value, known[i].default_) == 0)
            continue;
        *out = (struct values_ignored){known[i].key, value, known[i].expected};
        return true;
    }
    return false;
}

static bool may_go_on(const struct kind *kind, const struct json *workload, uint32_t attempt) {
    return attempt > 1 && has_continuity(kind) && continuity_is_wanted(kind, workload);
}

static bool is_wanted(const struct kind *kind, const struct json *workload) {
    return has_continuity(kind) || is_marked(workload, MARK_ATTEMPT_ENV, "true");
}

// `mirror` NULL: the variables of a new mirror.
static bool find_variables(const struct kind *kind, const struct json *workload, const struct json *mirror,
                           uint32_t attempt, struct variables *out) {
    if (mirror) {
        bool any = object_annotation(mirror, MARK_PREVIOUS);
        out->attempt = is_marked(mirror, MARK_ATTEMPT_ENV, "true");
        out->values = any ? parse_annotation(mirror) : NULL;
        return !any || out->values;
    }
    out->attempt = is_wanted(kind, workload);
    bool any = may_go_on(kind, workload, attempt) && object_annotation(workload, MARK_PREVIOUS);
    out->values = any ? read_previous(kind, workload) : NULL;
    return !any || out->values;
}

// In a pod --------------------------------------------------------------------------------------------------------

// Appends a variable unless the container has one of this name. Kubernetes replaces "$(NAME)" in a value, and "$$" by
// "$".
static bool add_variable(struct json *list, const struct json *own, const char *name, const char *text) {
    if (json_find_item(own, "name", name))
        return true;
    AUTO_BUFFER(value, TEXT_MAX);
    bool ok = true;
    for (const char *c = text; ok && *c; c++)
        ok = (*c != '$' || buffer_char(&value, '$')) && buffer_char(&value, *c);
    AUTO_JSON item = ok ? json_new_object() : NULL;
    return item && json_set(item, "name", json_new_string(name)) &&
           json_set(item, "value", json_new_string(value.data ? value.data : "")) && json_append(list, TAKE(item));
}

// The host's variables come first: those of the container may refer to them.
static bool fill_container(const struct variables *variables, uint32_t attempt, struct json *container) {
    const struct json *own = json_get(container, "env");
    if (!json_is(container, JSON_OBJECT) || (own && !json_is(own, JSON_ARRAY) && !json_is(own, JSON_NULL)))
        return true;
    AUTO_JSON list = json_new_array();
    char number[16];
    snprintf(number, sizeof number, "%u", attempt);
    bool ok = list && (!variables->attempt || add_variable(list, own, VALUES_ATTEMPT, number));
    for (const struct json *value = json_first(variables->values); ok && value; value = json_next(value)) {
        AUTO_TEXT name = text_format(VALUES_PREFIX "%s", json_key(value));
        const char *text = text_of(value);
        ok = name && (!text || add_variable(list, own, name, text));
    }
    for (const struct json *item = json_is(own, JSON_ARRAY) ? json_first(own) : NULL; ok && item;
         item = json_next(item))
        ok = json_append(list, json_copy(item));
    return ok && (json_size(list) == json_size(own) || json_set(container, "env", TAKE(list)));
}

struct filling {
    const struct variables *variables;
    uint32_t attempt;
    uint32_t shape; // of a match: WHARF_REFERENCE_PODS, WHARF_REFERENCE_POD_SPECS or WHARF_REFERENCE_CONTAINERS
};

static bool fill_match(void *ctx, const char *pointer, struct json *match) {
    (void)pointer;
    const struct filling *filling = ctx;
    static const char *const lists[] = {"initContainers", "containers"};
    if (filling->shape == WHARF_REFERENCE_CONTAINERS && json_get(match, "ref"))
        return true; // a Tekton step that is in another object may not have an environment
    if (filling->shape == WHARF_REFERENCE_CONTAINERS)
        return fill_container(filling->variables, filling->attempt, match);
    const struct json *spec = filling->shape == WHARF_REFERENCE_POD_SPECS ? match : json_get(match, "spec");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct json *list = json_get(spec, lists[i]);
        for (struct json *c = json_is(list, JSON_ARRAY) ? json_first(list) : NULL; c; c = json_next(c))
            if (!fill_container(filling->variables, filling->attempt, c))
                return false;
    }
    return true;
}

// Pods, and containers of the workload that only `references` names.
static bool fill(const struct kind *kind, struct filling *filling, struct json *workload) {
    bool ok = true;
    for (const wharf_pods *pods = kind->abi.pods; ok && pods && pods->templates; pods++) {
        bool specs = (pods->flags & WHARF_PODS_ARE_SPECS) != 0;
        filling->shape = specs ? WHARF_REFERENCE_POD_SPECS : WHARF_REFERENCE_PODS;
        ok = pods_each(pods, workload, fill_match, filling);
    }
    for (const wharf_reference *row = kind->abi.references; ok && row && row->name; row++) {
        filling->shape = row->of ? 0 : row->flags & CONTAINERS_AT;
        ok = !filling->shape || pointer_each(workload, row->name, fill_match, filling);
    }
    return ok;
}

const struct json *values_source(const struct kind *kind, const struct json *workload, const struct json *mirror,
                                 uint32_t attempt, struct json **own) {
    AUTO_VARIABLES variables = {0};
    if (!find_variables(kind, workload, mirror, attempt, &variables))
        return NULL;
    if (!variables.attempt && json_size(variables.values) == 0)
        return workload;
    *own = json_copy(workload);
    return *own && fill(kind, &(struct filling){&variables, attempt, 0}, *own) ? *own : NULL;
}

// Marks -----------------------------------------------------------------------------------------------------------

static bool set_annotation(struct json *object, const char *mark, struct json *value) {
    AUTO_BUFFER(pointer, TEXT_MAX);
    bool ok = buffer_text(&pointer, "/metadata/annotations") && pointer_append_child(&pointer, mark, 0);
    if (!ok)
        json_free(value);
    return ok && pointer_set(object, pointer.data, value);
}

bool values_mark(const struct kind *kind, const struct json *workload, uint32_t attempt, struct json *mirror) {
    AUTO_VARIABLES variables = {0};
    if (!find_variables(kind, workload, NULL, attempt, &variables))
        return false;
    if (variables.attempt && !set_annotation(mirror, MARK_ATTEMPT_ENV, json_new_string("true")))
        return false;
    if (json_size(variables.values) == 0)
        return true;
    AUTO_TEXT text = json_text(variables.values, NULL);
    return text && set_annotation(mirror, MARK_PREVIOUS, json_new_string(text));
}

static size_t annotations_size(const struct json *object) {
    size_t size = 0;
    const struct json *all = json_path(object, "metadata", "annotations", NULL);
    for (const struct json *m = json_is(all, JSON_OBJECT) ? json_first(all) : NULL; m; m = json_next(m))
        size += strcmp(json_key(m), MARK_PREVIOUS) == 0 ? 0 : strlen(json_key(m)) + strlen(json_string_or(m, ""));
    return size;
}

// Servers and clients leave out "", 0 and false: such a value, like an absent one, reports nothing.
static bool take_values(const struct kind *kind, const struct json *workload, struct json *values,
                        struct buffer *left_out) {
    bool ok = true;
    for (const wharf_continuity *c = kind->abi.continuity; ok && c->pointer; c++) {
        const struct json *value = pointer_find(workload, c->pointer);
        if (!value || json_is_zero(value))
            continue;
        if (text_of(value)) {
            ok = json_set(values, c->name, json_copy(value));
            continue;
        }
        json_remove(values, c->name);
        buffer_printf(left_out, "%s%s", left_out->len > 0 ? ", " : "", c->name);
    }
    return ok;
}

static char *print(const struct json *values, const char *uid) {
    AUTO_JSON all = json_copy(values);
    return all && json_set(all, VALUES_UID, json_new_string(uid)) ? json_text(all, NULL) : NULL;
}

bool values_keep(const struct kind *kind, const struct json *workload, uint32_t attempt, struct buffer *out,
                 struct buffer *left_out) {
    if (!may_go_on(kind, workload, attempt))
        return true;
    AUTO_JSON values = read_previous(kind, workload);
    bool taken = values && take_values(kind, workload, values, left_out);
    AUTO_TEXT text = taken ? print(values, object_uid(workload)) : NULL;
    const char *present = object_annotation(workload, MARK_PREVIOUS);
    if (!text)
        return false;
    if (json_size(values) > 0 && annotations_size(workload) + strlen(text) > ANNOTATIONS_MAX) {
        buffer_reset(left_out);
        buffer_text(left_out, "all, since the workload's annotations are large");
        json_free(TAKE(values));
    }
    if (json_size(values) == 0)
        return !present || buffer_text(out, ",\"" MARK_PREVIOUS "\":null");
    return text_equal(present, text) ||
           (buffer_text(out, ",\"" MARK_PREVIOUS "\":") && buffer_json_string(out, text, strlen(text)));
}
