// SPDX-License-Identifier: Apache-2.0
#include "tests/world/crd.h"
#include "core/base/text.h"
#include "core/json/yaml.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)16 << 20)
#define VERSIONS 4

struct source {
    const char *path;
    const struct json *document;
};

static struct error *wrong(const struct source *source, const struct json *at, const char *what) {
    size_t line = json_line(at ? at : source->document);
    return error_new(ERROR_INVALID, "%s:%zu: %s", source->path, line, what);
}

const struct json *crd_version(const struct json *document, const char *version) {
    const struct json *item = json_first(json_path(document, "spec", "versions", NULL));
    while (item && !text_equal(json_string(json_get(item, "name")), version))
        item = json_next(item);
    return item;
}

// The version that is stored comes first, as in discovery; those that are not served are left out.
static struct error *read_versions(const struct source *source, struct world_kind *kind) {
    const struct json *list = json_path(source->document, "spec", "versions", NULL);
    size_t count = 0;
    for (int stored = 1; stored >= 0; stored--)
        for (const struct json *item = json_first(list); item; item = json_next(item)) {
            const char *name = json_string(json_get(item, "name"));
            if (!name)
                return wrong(source, item, "a version needs a name");
            if (json_bool(json_get(item, "storage"), false) != stored || !json_bool(json_get(item, "served"), false))
                continue;
            if (count == VERSIONS)
                return wrong(source, item, "found more than 4 served versions, expected at most 4");
            kind->versions[count++] = name;
            if (stored)
                kind->no_status = !json_path(item, "subresources", "status", NULL);
        }
    return count ? NULL : wrong(source, list, "spec.versions: expected at least one that is served");
}

static struct error *read_kind(const struct source *source, struct world_kind *kind) {
    const struct json *names = json_path(source->document, "spec", "names", NULL);
    const char *scope = json_string(json_path(source->document, "spec", "scope", NULL));
    *kind = (struct world_kind){.group = json_string(json_path(source->document, "spec", "group", NULL)),
                                .plural = json_string(json_get(names, "plural")),
                                .kind = json_string(json_get(names, "kind")),
                                .definition = source->document};
    if (!kind->group || !text_is_dns_subdomain(kind->group))
        return wrong(source, NULL, "spec.group: expected a domain");
    if (!kind->plural || !text_is_dns_label(kind->plural) || !kind->kind || !*kind->kind)
        return wrong(source, names, "spec.names: expected plural and kind");
    if (!text_equal(scope, "Namespaced") && !text_equal(scope, "Cluster"))
        return wrong(source, NULL, "spec.scope: expected Namespaced or Cluster");
    kind->cluster_scoped = text_equal(scope, "Cluster");
    return read_versions(source, kind);
}

// The first boolean below `schema` with a name by which workloads are suspended.
static bool find_suspend(const struct json *schema, struct buffer *pointer, int depth) {
    const struct json *properties = json_get(schema, "properties");
    for (const struct json *item = json_first(properties); item; item = json_next(item)) {
        size_t len = pointer->len;
        bool named = text_equal(json_key(item), "suspend") || text_equal(json_key(item), "suspended") ||
                     text_equal(json_key(item), "paused");
        buffer_printf(pointer, "/%s", json_key(item));
        if ((named && text_equal(json_string(json_get(item, "type")), "boolean")) ||
            (depth > 0 && find_suspend(item, pointer, depth - 1)))
            return true;
        buffer_truncate(pointer, len);
    }
    return false;
}

static struct error *guess_fields(struct crd *crd) {
    const struct json *version = crd_version(crd->document, crd->custom.kind.versions[0]);
    const struct json *spec = json_path(version, "schema", "openAPIV3Schema", "properties", "spec", NULL);
    AUTO_BUFFER(pointer, 4096);
    buffer_text(&pointer, "/spec");
    bool found = find_suspend(spec, &pointer, 1);
    if (!found && json_get(spec, "properties"))
        return NULL;
    // The definition keeps the text.
    const char *text = found ? pointer.data : "/spec/suspend";
    if (pointer.failed || !json_set(crd->document, "suspend", json_new_string(text)))
        return error_no_memory();
    crd->custom.suspend = json_string(json_get(crd->document, "suspend"));
    return NULL;
}

static struct error *read_one(const char *path, const struct json *document, struct crd *crd) {
    *crd = (struct crd){.document = json_copy(document)};
    if (!crd->document)
        return error_no_memory();
    struct source source = {.path = path, .document = crd->document};
    struct world_kind kind;
    struct error *error = read_kind(&source, &kind);
    if (error)
        return error;
    const struct custom *known = custom_find(kind.group, kind.plural);
    if (known) {
        crd->custom = *known;
        crd->custom.kind = kind;
        return NULL;
    }
    crd->custom = (struct custom){.kind = kind};
    return guess_fields(crd);
}

static struct error *append(const char *path, const struct json *document, struct crds *crds) {
    struct crd *grown = realloc(crds->items, (crds->count + 1) * sizeof *grown);
    if (!grown)
        return error_no_memory();
    crds->items = grown;
    struct error *error = read_one(path, document, &grown[crds->count++]);
    const struct custom *custom = &grown[crds->count - 1].custom;
    for (size_t i = 0; !error && i + 1 < crds->count; i++)
        if (strcmp(grown[i].custom.kind.plural, custom->kind.plural) == 0 &&
            strcmp(grown[i].custom.kind.group, custom->kind.group) == 0)
            error =
                error_new(ERROR_INVALID, "%s: %s.%s is defined twice", path, custom->kind.plural, custom->kind.group);
    return error;
}

static void shrink(struct crds *crds, size_t count) {
    while (crds->count > count)
        json_free(crds->items[--crds->count].document);
}

struct error *crds_load(const char *path, struct crds *crds) {
    AUTO_BUFFER(text, FILE_MAX);
    __attribute__((cleanup(yaml_cleanup))) struct yaml yaml = {0};
    size_t before = crds->count;
    struct error *error = text_read_file(path, FILE_MAX, &text);
    if (!error)
        error = yaml_parse_all(path, text.data ? text.data : "", text.len, &yaml);
    for (const struct json *d = error ? NULL : json_first(yaml.value); d && !error; d = json_next(d))
        if (text_equal(json_string(json_get(d, "kind")), "CustomResourceDefinition"))
            error = append(path, d, crds);
    if (!error && crds->count == before)
        error = error_new(ERROR_INVALID, "%s: found no CustomResourceDefinition", path);
    if (error)
        shrink(crds, before);
    return error;
}

void crds_free(struct crds *crds) {
    shrink(crds, 0);
    free(crds->items);
    *crds = (struct crds){0};
}

struct crd *crds_find(const struct crds *crds, const char *name) {
    for (size_t i = 0; i < crds->count; i++) {
        const struct world_kind *kind = &crds->items[i].custom.kind;
        size_t len = strlen(kind->plural);
        bool same = strncmp(name, kind->plural, len) == 0;
        if (same && (name[len] == '\0' || (name[len] == '.' && strcmp(name + len + 1, kind->group) == 0)))
            return &crds->items[i];
    }
    return NULL;
}
