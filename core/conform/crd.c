// SPDX-License-Identifier: Apache-2.0
// Compares the data of a kind, and the places that its functions ask for, with the CustomResourceDefinition of the
// kind.
#include "core/conform/child.h"

#include "core/adapter/references.h"
#include "core/json/pointer.h"

#include <strings.h>

// Anything may be there.
static bool is_open(const struct json *schema) {
    const char *type = json_string_or(json_get(schema, "type"), "object");
    bool container = strcmp(type, "object") == 0 || strcmp(type, "array") == 0;
    return json_bool(json_get(schema, "x-kubernetes-preserve-unknown-fields"), false) ||
           (container && !json_get(schema, "properties") && !json_get(schema, "items") &&
            !json_get(schema, "additionalProperties"));
}

static bool find_field(const struct json *schema, const char *pointer, const struct json **out);

// A "*" in a mapping with fixed members: the field of one of them that has such a field.
static bool find_in_members(const struct json *schema, const char *pointer, const struct json **out) {
    const struct json *member = json_first(json_get(schema, "properties"));
    while (member && !find_field(member, pointer, out))
        member = json_next(member);
    return member;
}

// The schema of the field at a pointer. False: the schema has no such field. *out is NULL where anything may be.
static bool find_field(const struct json *schema, const char *pointer, const struct json **out) {
    for (*out = schema; *pointer == '/' && *out;) {
        size_t len = 1 + strcspn(pointer + 1, "/");
        AUTO_TEXT step = strndup(pointer, len);
        pointer += len;
        bool star = step && pointer_has_star(step);
        bool index = star || (step && step[1 + strspn(step + 1, "0123456789")] == '\0');
        const struct json *items = json_get(*out, "items"), *more = json_get(*out, "additionalProperties"), *member;
        if (star && find_in_members(*out, pointer, &member)) {
            *out = member;
            return true;
        }
        const struct json *field = step ? pointer_find(json_get(*out, "properties"), step) : NULL;
        if (!field && items && index)
            field = items;
        if (!field && !items && json_is(more, JSON_OBJECT))
            field = more;
        if (!field && !is_open(*out) && !json_bool(more, false))
            return false;
        *out = field;
    }
    return true;
}

// -- the comparison --

struct crd_check {
    struct run *run;
    const wharf_kind *kind;
    const struct json *crd, *schema; // of one version
    const char *version;
};

static const struct json *version_named(const struct json *crd, const char *name) {
    return json_find_item(json_path(crd, "spec", "versions", NULL), "name", name);
}

static bool has_field(const struct json *schema, const char *pointer, const struct json **field) {
    bool known = text_has_prefix(pointer, "/spec") || text_has_prefix(pointer, "/status");
    *field = NULL;
    return !known || find_field(schema, pointer, field);
}

static bool is_in_a_version(const wharf_kind *kind, const struct json *crd, const char *pointer) {
    bool any = false;
    for (const char *const *version = kind->versions; *version && !any; version++) {
        const struct json *found = version_named(crd, *version), *field = NULL;
        any = found && has_field(json_path(found, "schema", "openAPIV3Schema", NULL), pointer, &field);
    }
    return any;
}

// A field that only some versions of the API have is read as absent in the others.
static void check_pointer(const struct crd_check *check, const char *name, const char *pointer, bool may_lack) {
    const struct json *field = NULL;
    if (!pointer || has_field(check->schema, pointer, &field))
        return;
    if (may_lack || is_in_a_version(check->kind, check->crd, pointer))
        run_warn(check->run, "%s: %s is not in the schema of %s", name, pointer, check->version);
    else
        run_report(check->run, RULE_CRD, CALL_LOAD, pointer, "%s: %s is not in the schema of %s", name, pointer,
                   check->version);
}

static void check_pointers(const struct crd_check *check, const char *name, const char *const *list, bool may_lack) {
    for (; list && *list; list++)
        check_pointer(check, name, *list, may_lack);
}

// Whether a value can be one of a field with a closed set.
static void check_value(const struct crd_check *check, const char *name, const char *pointer, const char *value) {
    const struct json *field = NULL;
    if (!pointer || !value || !has_field(check->schema, pointer, &field))
        return;
    const struct json *allowed = json_get(field, "enum");
    bool any = !json_is(allowed, JSON_ARRAY);
    for (const struct json *item = any ? NULL : json_first(allowed); item && !any; item = json_next(item))
        any = json_is_scalar(item, value);
    if (!any)
        run_report(check->run, RULE_CRD, CALL_LOAD, value, "%s: \"%s\" is no value of %s in the schema of %s", name,
                   value, pointer, check->version);
}

static void check_changes(const struct crd_check *check, const char *name, const wharf_status_change *change) {
    for (; change && change->name; change++)
        if (change->change != WHARF_SET_CONDITION)
            check_pointer(check, name, change->name, false);
}

static void check_patterns(const struct crd_check *check, const wharf_reference *reference) {
    check_pointer(check, "references", reference->name, false);
    check_pointer(check, "references", reference->kind_at, false);
    check_pointer(check, "references", reference->namespace_, false);
    check_pointer(check, "references", reference->optional, false);
}

static void check_data(const struct crd_check *check) {
    const wharf_kind *kind = check->kind;
    check_pointer(check, "managed_by", kind->managed_by, false);
    check_pointer(check, "suspend", kind->suspend, false);
    check_value(check, "suspend_value", kind->suspend, kind->suspend_value);
    for (const wharf_carried *carried = kind->carried; carried && carried->pointer; carried++)
        check_pointer(check, "carried", carried->pointer, false);
    check_pointers(check, "removed", kind->removed, true);
    for (const wharf_pods *pods = kind->pods; pods && pods->templates; pods++) {
        check_pointer(check, "pods.templates", pods->templates, false);
        check_pointers(check, "pods.counts", pods->counts, false);
        check_pointer(check, "pods.fallback", pods->fallback, false);
    }
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer; rule++) {
        check_pointer(check, "phases", rule->pointer, false);
        check_value(check, "phases", rule->pointer, rule->value);
        for (const char *const *value = rule->values; value && *value; value++)
            check_value(check, "phases", rule->pointer, *value);
    }
    for (const wharf_reference *reference = kind->references; reference && reference->name; reference++)
        if (!reference->of)
            check_patterns(check, reference);
    for (const wharf_continuity *value = kind->continuity; value && value->pointer; value++)
        check_pointer(check, "continuity", value->pointer, false);
    check_pointers(check, "status_removed", kind->status_removed, true);
    check_pointer(check, "observed_generation", kind->observed_generation, false);
    check_pointer(check, "finished_at", kind->finished_at, false);
    check_changes(check, "suspended_status", kind->suspended_status);
    check_changes(check, "resumed_status", kind->resumed_status);
    check_changes(check, "gave_up_status", kind->gave_up_status);
}

// -- status fields with a meaning in the worker only --

static bool is_of_worker(const char *name) {
    static const char *const names[] = {"node",  "nodes",  "nodeName", "nodeNames", "hostIP",   "hostIPs",
                                        "podIP", "podIPs", "podName",  "podNames",  "address",  "addresses",
                                        "ip",    "ips",    "uid",      "uids",      "endpoint", "endpoints"};
    bool any = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        any |= strcasecmp(name, names[i]) == 0;
    return any;
}

static bool is_removed(const wharf_kind *kind, const char *pointer) {
    bool any = false;
    for (const char *const *removed = kind->status_removed; removed && *removed; removed++)
        any |= pointer_matches(*removed, pointer);
    return any;
}

static void warn_copied(struct run *run, const wharf_kind *kind, struct buffer *at, const struct json *schema) {
    size_t len = at->len;
    const struct json *items = json_get(schema, "items"), *more = json_get(schema, "additionalProperties");
    const struct json *below = items ? items : more;
    for (const struct json *field = json_first(json_get(schema, "properties")); field; field = json_next(field)) {
        if (!pointer_append(at, json_key(field)))
            return;
        bool removed = is_removed(kind, at->data);
        if (!removed && is_of_worker(json_key(field)))
            run_warn(run, "%s is copied: if it has a meaning in the worker only, name it in `status_removed`",
                     at->data);
        if (!removed)
            warn_copied(run, kind, at, field);
        buffer_truncate(at, len);
    }
    if (json_is(below, JSON_OBJECT) && buffer_text(at, "/*") && !is_removed(kind, at->data))
        warn_copied(run, kind, at, below);
    buffer_truncate(at, len);
}

// -- the definition --

static void check_version(struct run *run, const wharf_kind *kind, const struct json *crd, const char *name) {
    const struct json *version = version_named(crd, name);
    if (!version || !json_bool(json_get(version, "served"), true)) {
        run_report(run, RULE_CRD, CALL_LOAD, name, "versions: %s is %s", name,
                   version ? "not served" : "not in the definition");
        return;
    }
    bool has = json_path(version, "subresources", "status", NULL);
    bool without = (kind->flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) != 0;
    if (has == without)
        run_report(run, RULE_CRD, CALL_LOAD, "flags",
                   has ? "flags: %s has a status subresource, and WHARF_KIND_NO_STATUS_SUBRESOURCE is set"
                       : "flags: %s has no status subresource, and WHARF_KIND_NO_STATUS_SUBRESOURCE is not set",
                   name);
    const struct json *schema = json_path(version, "schema", "openAPIV3Schema", NULL);
    const struct crd_check check = {run, kind, crd, schema, name};
    AUTO_BUFFER(at, 4096);
    check_data(&check);
    if (buffer_text(&at, "/status"))
        warn_copied(run, kind, &at, json_path(schema, "properties", "status", NULL));
}

static bool is_named(const struct json *crd, const char *key, const char *value) {
    return text_equal(json_string(json_path(crd, "spec", "names", key, NULL)), value);
}

// Of the same kind and group, or else of the same kind or plural.
static const struct json *definition_of(const struct documents *crds, const wharf_kind *kind) {
    const struct json *like = NULL;
    for (size_t i = 0; i < crds->count; i++) {
        const struct json *crd = crds->list[i].value;
        bool group = text_equal(json_string(json_path(crd, "spec", "group", NULL)), kind->group);
        if (!text_equal(json_string(json_get(crd, "kind")), "CustomResourceDefinition"))
            continue;
        if (group && is_named(crd, "kind", kind->kind))
            return crd;
        if (is_named(crd, "kind", kind->kind) || is_named(crd, "plural", kind->plural))
            like = crd;
    }
    return like;
}

static void check_name(struct run *run, const char *field, const char *given, const struct json *expected) {
    const char *name = json_string_or(expected, "");
    if (strcmp(given, name) != 0)
        run_report(run, RULE_CRD, CALL_LOAD, field, "%s: found \"%s\", and the definition has \"%s\"", field, given,
                   name);
}

// -- the objects that a workload refers to --

static const struct json *definition_named(const struct documents *crds, const char *resource) {
    for (size_t i = 0; i < crds->count; i++)
        if (text_equal(json_string(json_path(crds->list[i].value, "metadata", "name", NULL)), resource))
            return crds->list[i].value;
    return NULL;
}

static void check_resource(struct run *run, const struct json *crd, const struct reference_resource *resource) {
    bool cluster = text_equal(json_string(json_path(crd, "spec", "scope", NULL)), "Cluster");
    if (!is_named(crd, "kind", resource->kind))
        run_report(run, RULE_CRD, CALL_LOAD, resource->resource, "references: %s is no kind of %s", resource->kind,
                   resource->resource);
    if (!version_named(crd, resource->version))
        run_report(run, RULE_CRD, CALL_LOAD, resource->resource, "references: %s has no version %s", resource->resource,
                   resource->version);
    if (cluster != resource->cluster_scoped)
        run_report(run, RULE_CRD, CALL_LOAD, resource->resource, "references: %s %s", resource->resource,
                   cluster ? "have no namespace, and WHARF_REFERENCE_CLUSTER_SCOPED is not set"
                           : "have a namespace, and WHARF_REFERENCE_CLUSTER_SCOPED is set");
}

// The patterns that apply in objects of this resource.
static void check_other(struct run *run, const struct json *crd, const struct reference_resource *of,
                        const wharf_reference *reference) {
    AUTO_TEXT shown = text_format("%s %s", of->kind, of->version);
    const wharf_kind other = {.versions = (const char *const[]){of->version, NULL}};
    const struct json *version = version_named(crd, of->version);
    const struct crd_check check = {run, &other, crd, json_path(version, "schema", "openAPIV3Schema", NULL), shown};
    if (version && shown)
        check_patterns(&check, reference);
}

static void check_references(struct run *run, const struct documents *crds, const wharf_kind *kind) {
    struct reference_resource named, of;
    for (const wharf_reference *one = kind->references; one && one->name; one++) {
        const struct json *crd = reference_resource(one, &named) ? definition_named(crds, named.resource) : NULL;
        if (crd)
            check_resource(run, crd, &named);
        crd = one->of ? definition_named(crds, one->of) : NULL;
        if (crd && reference_resource_of(kind, one->of, &of))
            check_other(run, crd, &of, one);
    }
}

void crd_check(struct run *run, const struct tested *tested, const struct documents *crds) {
    const wharf_kind *kind = &tested->kind.abi;
    const struct json *crd = definition_of(crds, kind);
    if (!crd) {
        run_warn(run, "--crd has no definition of the kind");
        return;
    }
    check_name(run, "group", kind->group, json_path(crd, "spec", "group", NULL));
    check_name(run, "kind", kind->kind, json_path(crd, "spec", "names", "kind", NULL));
    check_name(run, "plural", kind->plural, json_path(crd, "spec", "names", "plural", NULL));
    if (text_equal(json_string(json_path(crd, "spec", "scope", NULL)), "Cluster"))
        run_report(run, RULE_CRD, CALL_LOAD, "scope", "the objects have no namespace, and workloads have one");
    for (const char *const *version = kind->versions; *version; version++)
        check_version(run, kind, crd, *version);
    check_references(run, crds, kind);
}

// Places that the functions asked for: a version in which the place is suffices.
void crd_check_places(struct run *run, const struct tested *tested, const struct documents *crds) {
    const wharf_kind *kind = &tested->kind.abi;
    const struct board_places *places = &run->board->places[tested->index % BOARD_KINDS];
    const struct json *crd = definition_of(crds, kind);
    for (size_t i = 0; crd && i < places->count; i++)
        if (!is_in_a_version(kind, crd, places->list[i].pointer))
            run_warn(run, "a function asks for %s, which is in the schema of no version", places->list[i].pointer);
}
