// SPDX-License-Identifier: Apache-2.0
// The CRD in a file: YAML or JSON, with several documents or a List.
#include "core/cmd/adapter_new/description.h"

#include "core/base/text.h"
#include "core/cmd/main.h"

#include <strings.h>

#define FILE_MAX ((size_t)64 << 20)
#define PRESERVE "x-kubernetes-preserve-unknown-fields"
#define LISTED 8 // names of kinds in a message

// The CRDs of a file.
struct found {
    const char *kind; // the wanted one; NULL: any
    const struct json *document, *other_version;
    size_t count, matching;
    struct buffer names;
};

static const char *kind_of(const struct json *crd) {
    return json_string_or(json_path(crd, "spec", "names", "kind", NULL), "");
}

static bool is_wanted(const struct json *crd, const char *kind) {
    const struct json *names = json_path(crd, "spec", "names", NULL);
    static const char *const members[] = {"kind", "plural", "singular"};
    for (size_t i = 0; i < COUNT(members); i++) {
        const char *name = json_string(json_get(names, members[i]));
        if (!kind || (name && strcasecmp(name, kind) == 0))
            return true;
    }
    return false;
}

static void look_at(struct found *found, const struct json *document) {
    if (!json_is_scalar(json_get(document, "kind"), "CustomResourceDefinition"))
        return;
    if (!json_is_scalar(json_get(document, "apiVersion"), "apiextensions.k8s.io/v1")) {
        found->other_version = json_get(document, "apiVersion");
        return;
    }
    if (found->count++ < LISTED)
        buffer_printf(&found->names, "%s%s", found->names.len > 0 ? ", " : "", kind_of(document));
    if (!is_wanted(document, found->kind))
        return;
    found->matching++;
    found->document = found->document ? found->document : document;
}

static struct error *choose(const char *path, const struct found *found) {
    const char *names = found->names.data ? found->names.data : "";
    if (found->count == 0 && found->other_version)
        return error_new(ERROR_INVALID, "%s:%zu: found apiVersion \"%s\", expected apiextensions.k8s.io/v1", path,
                         json_line(found->other_version), json_string_or(found->other_version, "?"));
    if (found->count == 0)
        return error_new(ERROR_INVALID, "%s: found no CustomResourceDefinition (apiextensions.k8s.io/v1), expected one",
                         path);
    if (found->matching == 0)
        return error_new(ERROR_NOT_FOUND, "%s: found no CRD of kind %s, expected one of %s%s", path, found->kind, names,
                         found->count > LISTED ? ", ..." : "");
    if (found->matching > 1)
        return error_new(ERROR_INVALID, "%s: found %zu CRDs (%s%s), expected one: --kind names its kind", path,
                         found->matching, names, found->count > LISTED ? ", ..." : "");
    return NULL;
}

static struct error *read_file(const char *path, const char *kind, struct description *out) {
    AUTO_BUFFER(text, FILE_MAX);
    struct found found = {.kind = kind, .names = {.max = 65536}};
    TRY(text_read_regular_file(path, FILE_MAX, &text));
    TRY(yaml_parse_all(path, text.data ? text.data : "", text.len, &out->file));
    for (const struct json *d = json_first(out->file.value); d; d = json_next(d)) {
        const struct json *items = json_get(d, "items");
        if (!json_is(items, JSON_ARRAY))
            look_at(&found, d);
        for (const struct json *item = json_first(items); item; item = json_next(item))
            look_at(&found, item);
    }
    struct error *error = choose(path, &found);
    buffer_free(&found.names);
    out->document = found.document;
    return error;
}

const char *crd_version_name(const struct json *version) {
    return json_string_or(json_get(version, "name"), "");
}

bool crd_is_served(const struct json *version) {
    return json_bool(json_get(version, "served"), false);
}

static const struct json *schema_of(const struct json *version) {
    return json_path(version, "schema", "openAPIV3Schema", NULL);
}

bool crd_has(const struct json *version, const char *pointer) {
    const struct json *schema = schema_of(version);
    while (schema && *pointer)
        schema = schema_step(schema, &pointer);
    return schema;
}

// The storage version, if it is served; else the first one that is.
static const struct json *main_version(const struct json *crd) {
    const struct json *first = NULL, *versions = json_path(crd, "spec", "versions", NULL);
    for (const struct json *v = json_first(versions); v; v = json_next(v)) {
        if (!crd_is_served(v))
            continue;
        if (json_bool(json_get(v, "storage"), false))
            return v;
        first = first ? first : v;
    }
    return first;
}

static struct error *wrong(const char *path, const struct description *d, const char *where, const char *sentence) {
    return error_new(ERROR_INVALID, "%s:%zu: %s: %s: %s", path, json_line(d->document), d->kind, where, sentence);
}

struct error *crd_read(const char *path, const char *kind, struct description *out) {
    TRY(read_file(path, kind, out));
    const struct json *spec = json_get(out->document, "spec");
    out->kind = kind_of(out->document);
    out->group = json_string_or(json_get(spec, "group"), "");
    out->plural = json_string_or(json_path(spec, "names", "plural", NULL), "");
    out->singular = json_string_or(json_path(spec, "names", "singular", NULL), "");
    if (!*out->kind || !*out->group || !*out->plural)
        return wrong(path, out, "spec", "expected group, names.kind and names.plural");
    if (json_is_scalar(json_get(spec, "scope"), "Cluster"))
        return wrong(path, out, "spec.scope",
                     "found Cluster, expected Namespaced: a mirror has the workload's namespace");
    out->version = main_version(out->document);
    if (!out->version)
        return wrong(path, out, "spec.versions", "found no served version, expected one");
    out->main_version = crd_version_name(out->version);
    out->schema = schema_of(out->version);
    if (!json_is(json_get(out->schema, "properties"), JSON_OBJECT))
        return wrong(path, out, "spec.versions",
                     description_text(out,
                                      "%s: found no schema with properties, expected one: the guesses come from it",
                                      out->main_version));
    if (!schema_property(out->schema, "spec"))
        return wrong(path, out, "spec.versions",
                     description_text(out, "%s: found no spec in the schema, expected one", out->main_version));
    if (!schema_property(out->schema, "status") && !json_bool(json_get(out->schema, PRESERVE), false))
        return wrong(path, out, "spec.versions",
                     description_text(out, "%s: found no status in the schema, expected one: the host copies it",
                                      out->main_version));
    out->has_subresource = json_is(json_path(out->version, "subresources", "status", NULL), JSON_OBJECT);
    TRY(places_find(out, "spec", &out->spec));
    return places_find(out, "status", &out->status);
}
