// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/references.h"

#include "core/adapter/pods.h"
#include "core/adapter/references_built_in.h"
#include "core/adapter/services/services_memory.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#define NAME_LONGEST 253 // apimachinery validation.DNS1123SubdomainMaxLength
#define POINTER_MAX (SIZE_MAX / 4)
#define OBJECT_MAX (REFERENCES_MAX + 1) // references of an object by one kind: more than a workload may have
#define PROBLEM_MAX ((size_t)64 << 10)

// What goes wrong while references are collected.
enum trouble { FINE, NO_MEMORY, TOO_MANY };

struct collector {
    struct references *out;
    const char *namespace_; // of references without one
    size_t most;
    bool of_kinds; // what is added are the references by each of several kinds
    enum trouble trouble;
};

// One row of a table in one value.
struct matched_row {
    struct collector *collector;
    const wharf_reference *is;
    const struct json *root; // in which the patterns of the row apply
    const char *prefix;      // the pointer to `root`
};

void references_clear(struct references *references) {
    for (size_t i = 0; i < references->count; i++)
        free(references->list[i]);
    free(references->list);
    *references = (struct references){.list = NULL};
}

// Whether an object can have this name: a variable cannot, nor anything that means something else in a path. Some kinds
// have names with colons (ClusterRole, ClusterTrustBundle).
bool reference_is_name(const char *name) {
    static const char ends[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t len = name ? strlen(name) : 0;
    return len > 0 && len <= NAME_LONGEST && strchr(ends, name[0]) && strchr(ends, name[len - 1]) &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.:")] == '\0';
}

static bool is_everywhere(const struct reference *reference) {
    const struct everywhere *one = references_everywhere;
    while (one->resource &&
           (strcmp(one->resource, reference->resource) != 0 || strcmp(one->name, reference->name) != 0))
        one++;
    return one->resource;
}

int reference_compare(const struct reference *a, const struct reference *b) {
    int order = strcmp(a->resource, b->resource);
    order = order != 0 ? order : strcmp(a->namespace_, b->namespace_);
    return order != 0 ? order : strcmp(a->name, b->name);
}

// The first trouble counts.
static bool fails(struct collector *collector, enum trouble trouble) {
    collector->trouble = collector->trouble == FINE ? trouble : collector->trouble;
    return false;
}

// Adds a copy, or merges it with the same object's reference of another place.
static bool add(struct collector *collector, const struct reference *reference) {
    struct references *out = collector->out;
    size_t at = 0;
    int order = 1;
    while (at < out->count && (order = reference_compare(out->list[at], reference)) < 0)
        at++;
    struct reference *known = order == 0 ? out->list[at] : NULL;
    if (known) {
        known->optional &= reference->optional;
        if (collector->of_kinds) // the workloads of other kinds need it
            known->is_made &= reference->is_made;
        else
            known->is_made |= reference->is_made;
        return true;
    }
    if (is_everywhere(reference))
        return true;
    if (out->count == collector->most)
        return fails(collector, TOO_MANY);
    struct reference *copy = struct_copy_with_texts(reference, sizeof *copy, REFERENCE_TEXTS);
    if (!copy || !array_next(&out->list, out->count, sizeof(struct reference *))) {
        free(copy);
        return fails(collector, NO_MEMORY);
    }
    memmove(out->list + at + 1, out->list + at, (out->count++ - at) * sizeof(struct reference *));
    out->list[at] = copy;
    return true;
}

// `reference` has no resource yet, and the namespace, or "", that is said beside the name.
static bool add_of(struct collector *collector, const struct reference_resource *of, struct reference reference) {
    reference.resource = of->resource;
    reference.version = of->version;
    reference.kind = of->kind;
    reference.cluster_scoped = of->cluster_scoped;
    if (of->cluster_scoped)
        reference.namespace_ = "";
    else if (!*reference.namespace_)
        reference.namespace_ = collector->namespace_;
    return add(collector, &reference);
}

// The value at the place of `pattern` that belongs to the match `found` of the row. False: out of memory.
static bool paired(const struct matched_row *row, const char *pattern, const char *found, const struct json **out) {
    AUTO_BUFFER(pointer, POINTER_MAX);
    *out = NULL;
    if (!pattern)
        return true;
    if (!pointer_pair(pattern, found, &pointer))
        return fails(row->collector, NO_MEMORY);
    *out = pointer.data ? pointer_find(row->root, pointer.data) : NULL;
    return true;
}

// Whether the row applies, by the kind that is named beside the name.
static bool is_of_kind(const wharf_reference *row, const struct json *kind) {
    const char *text = json_string(kind);
    if (!row->kind_at)
        return true;
    return text ? strcmp(text, row->kind) == 0 : !kind && (row->flags & WHARF_REFERENCE_KIND_DEFAULT) != 0;
}

static bool add_match(void *ctx, const char *found, struct json *value) {
    const struct matched_row *row = ctx;
    const char *name = json_string(value);
    const struct json *kind, *namespace_, *optional;
    struct reference_resource resource;
    if (!reference_is_name(name) || !reference_resource(row->is, &resource))
        return true;
    if (!paired(row, row->is->kind_at, found, &kind) || !paired(row, row->is->namespace_, found, &namespace_) ||
        !paired(row, row->is->optional, found, &optional))
        return false;
    const char *elsewhere = json_string_or(namespace_, "");
    if (!is_of_kind(row->is, kind) || (!resource.cluster_scoped && *elsewhere && !text_is_dns_label(elsewhere)))
        return true;
    AUTO_TEXT where = text_format("%s%s", row->prefix, found);
    if (!where)
        return fails(row->collector, NO_MEMORY);
    const struct reference reference = {
        .namespace_ = elsewhere,
        .name = name,
        .where = where,
        .optional = (row->is->flags & WHARF_REFERENCE_OPTIONAL) != 0 || json_bool(optional, false),
        .is_made = (row->is->flags & WHARF_REFERENCE_MADE) != 0,
    };
    return add_of(row->collector, &resource, reference);
}

// The rows of a table for values of one kind: `of` as in wharf_reference.
static bool collect(struct collector *collector, const wharf_reference *rows, const char *of, const struct json *root,
                    const char *prefix);

static const char *part_of(const wharf_reference *row) {
    return (row->flags & WHARF_REFERENCE_PODS) != 0         ? REFERENCES_OF_POD
           : (row->flags & WHARF_REFERENCE_CONTAINERS) != 0 ? REFERENCES_OF_CONTAINER
           : (row->flags & WHARF_REFERENCE_VOLUMES) != 0    ? REFERENCES_OF_VOLUME
                                                            : REFERENCES_OF_POD_SPEC;
}

// The references of a part with the fields that Kubernetes defines.
static bool add_part(void *ctx, const char *found, struct json *value) {
    const struct matched_row *row = ctx;
    AUTO_TEXT prefix = text_format("%s%s", row->prefix, found);
    if (!prefix)
        return fails(row->collector, NO_MEMORY);
    return collect(row->collector, references_built_in, part_of(row->is), value, prefix);
}

static bool collect(struct collector *collector, const wharf_reference *rows, const char *of, const struct json *root,
                    const char *prefix) {
    bool going = true;
    for (; going && root && rows && rows->name; rows++) {
        struct matched_row row = {collector, rows, root, prefix};
        bool part = (rows->flags & REFERENCE_PARTS) != 0;
        if (text_equal(rows->of, of) && !pointer_each(root, rows->name, part ? add_part : add_match, &row))
            going = fails(collector, NO_MEMORY);
    }
    return going;
}

// Pods -----------------------------------------------------------------------------------------------------------

// The pods of the kind's data.
static bool collect_pods(struct collector *collector, const wharf_kind *kind, const struct json *workload) {
    for (const wharf_pods *pods = kind->pods; pods && pods->templates; pods++) {
        bool specs = (pods->flags & WHARF_PODS_ARE_SPECS) != 0;
        const wharf_reference is = {.flags = specs ? WHARF_REFERENCE_POD_SPECS : WHARF_REFERENCE_PODS};
        struct matched_row row = {collector, &is, workload, ""};
        if (!pods_each(pods, workload, add_part, &row))
            return fails(collector, NO_MEMORY);
    }
    return true;
}

// The pods that only the adapter's function knows.
static wharf_result collect_pod_sets(struct collector *collector, struct adapter_call *call,
                                     const struct json *workload) {
    AUTO_JSON sets = NULL;
    wharf_result result = adapter_has(call->kind, FUNCTION_POD_SETS) ? pods_of(call, workload, &sets) : WHARF_OK;
    size_t number = 0;
    for (const struct json *set = json_first(sets); set && collector->trouble == FINE; set = json_next(set)) {
        AUTO_TEXT prefix = text_format("pods/%zu/template", number++);
        if (!prefix)
            fails(collector, NO_MEMORY);
        else
            collect(collector, references_built_in, REFERENCES_OF_POD, json_get(set, "template"), prefix);
    }
    return result;
}

// The adapter's function ---------------------------------------------------------------------------------------------

static struct json *to_item(const struct reference *reference) {
    AUTO_JSON item = json_new_object();
    bool made = json_set(item, "resource", json_new_string(reference->resource)) &&
                (reference->cluster_scoped || json_set(item, "namespace", json_new_string(reference->namespace_))) &&
                json_set(item, "name", json_new_string(reference->name)) &&
                json_set(item, "where", json_new_string(reference->where)) &&
                json_set(item, "optional", json_new_bool(reference->optional)) &&
                json_set(item, "made", json_new_bool(reference->is_made));
    return made ? TAKE(item) : NULL;
}

struct json *references_list(const struct references *references) {
    AUTO_JSON list = json_new_array();
    bool made = list;
    for (size_t i = 0; made && i < references->count; i++)
        made = json_append(list, to_item(references->list[i]));
    return made ? TAKE(list) : NULL;
}

bool reference_item_problem(const wharf_kind *kind, const struct json *item, size_t number, const char *namespace_,
                            struct buffer *out) {
    struct reference_resource known;
    const char *resource = json_string_or(json_get(item, "resource"), ""), *name = json_string(json_get(item, "name"));
    namespace_ = json_string_or(json_get(item, "namespace"), namespace_);
    bool is_known = reference_resource_of(kind, resource, &known);
    if (!is_known)
        buffer_printf(out,
                      "dependencies: item %zu has the resource \"%s\", expected one that pods can refer to, or one of "
                      "`references`",
                      number, resource);
    else if (!reference_is_name(name))
        buffer_printf(out, "dependencies: item %zu has the name \"%s\", expected that of an object", number,
                      name ? name : "");
    else if (!known.cluster_scoped && !text_is_dns_label(namespace_))
        buffer_printf(out, "dependencies: item %zu has the namespace \"%s\", expected that of an object", number,
                      namespace_);
    else
        return false;
    return true;
}

// An item of the list after the function. False: the call has the reason.
static bool add_item(struct collector *collector, struct adapter_call *call, const struct json *item, size_t number) {
    AUTO_BUFFER(problem, PROBLEM_MAX);
    if (reference_item_problem(call->kind, item, number, collector->namespace_, &problem))
        return services_refuse(call, "%s", problem.data ? problem.data : "dependencies: a wrong item");
    struct reference_resource resource;
    reference_resource_of(call->kind, json_string(json_get(item, "resource")), &resource);
    const struct reference reference = {
        .namespace_ = json_string_or(json_get(item, "namespace"), ""),
        .name = json_string(json_get(item, "name")),
        .where = json_string_or(json_get(item, "where"), ""),
        .optional = json_bool(json_get(item, "optional"), false),
        .is_made = json_bool(json_get(item, "made"), false),
    };
    return add_of(collector, &resource, reference);
}

// Replaces what was collected by what the function makes of it.
static wharf_result ask_adapter(struct collector *collector, struct adapter_call *call, const struct json *workload) {
    AUTO_JSON list = references_list(collector->out);
    references_clear(collector->out);
    if (!list)
        return WHARF_RETRY;
    wharf_result result = adapter_dependencies(call, workload, list);
    size_t number = 0;
    for (const struct json *item = json_first(list); item && result == WHARF_OK; item = json_next(item))
        if (!add_item(collector, call, item, ++number))
            result = services_conclude(call, WHARF_RETRY);
    return result;
}

// All --------------------------------------------------------------------------------------------------------------

static wharf_result conclude(struct adapter_call *call, const struct collector *collector, wharf_result result) {
    if (collector->trouble == TOO_MANY)
        services_refuse(call, "found references to more than %d objects, expected at most that many of a workload",
                        REFERENCES_MAX);
    else if (collector->trouble == NO_MEMORY)
        services_no_memory(call);
    result = collector->trouble == FINE ? result : services_conclude(call, result);
    if (collector->trouble == TOO_MANY)
        call->answer.reason = "TooManyDependencies";
    return result;
}

static const char *namespace_of(const struct json *object) {
    const char *text = json_string_or(json_path(object, "metadata", "namespace", NULL), "");
    return text_is_dns_label(text) ? text : "";
}

wharf_result references_of(struct adapter_call *call, const struct json *workload, struct references *out) {
    *out = (struct references){.list = NULL};
    struct collector collector = {out, namespace_of(workload), REFERENCES_MAX, .trouble = FINE};
    wharf_result result = WHARF_OK;
    services_prepare(call, workload);
    if (collect_pods(&collector, call->kind, workload) &&
        collect(&collector, call->kind->references, NULL, workload, ""))
        result = collect_pod_sets(&collector, call, workload);
    if (result == WHARF_OK && collector.trouble == FINE && adapter_has(call->kind, FUNCTION_DEPENDENCIES))
        result = ask_adapter(&collector, call, workload);
    result = conclude(call, &collector, result);
    if (result != WHARF_OK)
        references_clear(out);
    return result;
}

bool references_of_object(struct kind *const *kinds, size_t n_kinds, const char *resource, const struct json *object,
                          struct references *out) {
    *out = (struct references){.list = NULL};
    struct collector all = {out, namespace_of(object), n_kinds * OBJECT_MAX, .of_kinds = true, .trouble = FINE};
    for (size_t k = 0; k < n_kinds && all.trouble == FINE; k++) {
        __attribute__((cleanup(references_clear))) struct references own = {.list = NULL};
        struct collector one = {&own, all.namespace_, OBJECT_MAX, .trouble = FINE};
        if (collect(&one, kinds[k]->abi.references, resource, object, ""))
            collect(&one, references_built_in, resource, object, "");
        all.trouble = one.trouble == NO_MEMORY ? NO_MEMORY : FINE;
        for (size_t i = 0; i < own.count && all.trouble == FINE; i++)
            add(&all, own.list[i]);
    }
    if (all.trouble == NO_MEMORY)
        references_clear(out);
    return all.trouble != NO_MEMORY;
}
