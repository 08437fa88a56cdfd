// SPDX-License-Identifier: Apache-2.0
// Guesses about the objects that an object refers to outside of its pods: by the names of fields.
#include "core/cmd/adapter_new/description.h"

#include "core/adapter/references_built_in.h"
#include "core/base/text.h"
#include "core/cmd/main.h"

#include <strings.h>

// The ends of names of strings that name an object, and of objects with a member `name` that does.
static const struct {
    const char *end;
    const char *kind;
    bool is_parent;
} names[] = {
    {"secretName", "Secret", false},
    {"configMapName", "ConfigMap", false},
    {"configMap", "ConfigMap", false},
    {"serviceAccountName", "ServiceAccount", false},
    {"serviceAccount", "ServiceAccount", false},
    {"claimName", "PersistentVolumeClaim", false},
    {"priorityClassName", "PriorityClass", false},
    {"priorityClass", "PriorityClass", false},
    {"storageClassName", "StorageClass", false},
    {"secretRef", "Secret", true},
    {"secretKeyRef", "Secret", true},
    {"secrets", "Secret", true},
    {"configMapRef", "ConfigMap", true},
    {"configMapKeyRef", "ConfigMap", true},
    {"configMaps", "ConfigMap", true},
};

static bool ends_with(const char *text, const char *end) {
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcasecmp(text + len - end_len, end) == 0;
}

// A row of PodSpecs that names objects of the kind.
static const wharf_reference *row_of(const char *kind) {
    const wharf_reference *row = references_built_in;
    while (kind && row->name && !text_equal(row->kind, kind))
        row++;
    return kind && row->name ? row : NULL;
}

static const wharf_reference *kind_of(const struct schema_place *place) {
    const struct schema_place *parent = place->up;
    while (parent && strcmp(parent->name, "*") == 0)
        parent = parent->up;
    bool by_parent = parent && strcmp(place->name, "name") == 0;
    const char *kind = NULL;
    for (size_t i = 0; i < COUNT(names) && !kind && schema_is(place->schema, "string"); i++)
        if (names[i].is_parent ? by_parent && ends_with(parent->name, names[i].end)
                               : ends_with(place->name, names[i].end))
            kind = names[i].kind;
    return row_of(kind);
}

static struct guess_row *add(struct description *d, const char *pointer, const char *why) {
    return description_add(d, REFERENCES, pointer, why);
}

// Lists with the fields that Kubernetes defines: an environment, whose parent is then like a container, or volumes.
static bool guess_part(struct description *d, const struct schema_place *place) {
    const struct json *item = json_get(place->schema, "items");
    bool environment = strcmp(place->name, "env") == 0 || strcmp(place->name, "envFrom") == 0;
    bool volumes = strcmp(place->name, "volumes") == 0 && schema_property(item, "persistentVolumeClaim");
    if (!item || !place->up || (!environment && !volumes))
        return false;
    const struct guess_rows *rows = &d->members[REFERENCES];
    const char *pointer = volumes ? description_text(d, "%s/*", place->pointer) : place->up->pointer;
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->list[i].text, pointer) == 0) // env and envFrom are beside each other
            return true;
    struct guess_row *row = add(d, pointer, volumes ? "From the schema: volumes." : "From the schema: an environment.");
    row->flags = volumes ? WHARF_REFERENCE_VOLUMES : WHARF_REFERENCE_CONTAINERS;
    return true;
}

static bool is_below(const struct schema_place *place, const struct schema_place *const *parts, size_t count) {
    bool below = false;
    for (const struct schema_place *at = place; at && !below; at = at->up)
        for (size_t i = 0; i < count; i++)
            below |= at == parts[i];
    return below;
}

static void guess_name(struct description *d, const struct schema_place *place) {
    const wharf_reference *kind = kind_of(place);
    if (!kind)
        return;
    const char *why = description_text(d, "By its name a %s: must it be in the worker?", kind->kind);
    struct guess_row *row = add(d, place->pointer, why);
    row->refers = kind;
    if (place->up && schema_is(schema_property(place->up->schema, "optional"), "boolean"))
        row->value = description_text(d, "%s/optional", place->up->pointer);
}

void guess_references(struct description *d) {
    const struct schema_place **parts = calloc(d->spec.count + 1, sizeof(*parts));
    size_t count = 0;
    d->failed |= !parts;
    for (size_t i = 0; parts && i < d->spec.count; i++)
        if (!is_below(d->spec.list[i], parts, count) && guess_part(d, d->spec.list[i]))
            parts[count++] = d->spec.list[i];
    for (size_t i = 0; parts && i < d->spec.count; i++)
        if (!is_below(d->spec.list[i], parts, count))
            guess_name(d, d->spec.list[i]);
    free(parts);
}
