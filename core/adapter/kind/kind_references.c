// SPDX-License-Identifier: Apache-2.0
// The checks of a kind's list of references.
#include "core/adapter/kind/kind_check.h"
#include "core/adapter/references_built_in.h"
#include "core/base/text.h"

#define KNOWN_FLAGS                                                                                                    \
    (WHARF_REFERENCE_CLUSTER_SCOPED | WHARF_REFERENCE_MADE | WHARF_REFERENCE_KIND_DEFAULT | WHARF_REFERENCE_OPTIONAL | \
     REFERENCE_PARTS)
#define PLACES (PLACE_SPEC | PLACE_LABELS | PLACE_PATTERN)

static bool is_set(const wharf_reference *reference, uint32_t flags) {
    return (reference->flags & flags) != 0;
}

static struct error *wrong_row(const wharf_reference *reference, const char *found, const char *expected) {
    return kind_error(reference->name, "references: %s: found %s, expected %s", reference->name, found, expected);
}

// A row for pods, containers or volumes names no resource.
static struct error *check_part(const wharf_reference *reference) {
    if ((reference->flags & (reference->flags - 1)) != 0)
        return wrong_row(reference, "several flags", "one, for what has the fields of pods, containers or volumes");
    if (reference->group || reference->version || reference->resource || reference->kind || reference->kind_at ||
        reference->namespace_ || reference->optional)
        return wrong_row(reference, "other fields with a flag for parts of objects", "only `name` and `of`");
    return NULL;
}

static struct error *check_paired(const char *field, const char *pattern, const char *name) {
    if (!pattern)
        return NULL;
    TRY(kind_check_pointer(field, pattern, PLACES));
    return kind_check_path(field, pattern, name, pattern);
}

static struct error *check_resource(const wharf_reference *reference) {
    TRY(kind_check_group("references.group", reference->group));
    TRY(kind_check_version("references.version", reference->version));
    TRY(kind_check_plural("references.resource", reference->resource));
    return kind_check_kind("references.kind", reference->kind);
}

static struct error *check_patterns(const wharf_reference *reference) {
    TRY(check_paired("references.kind_at", reference->kind_at, reference->name));
    TRY(check_paired("references.namespace_", reference->namespace_, reference->name));
    TRY(check_paired("references.optional", reference->optional, reference->name));
    if (is_set(reference, WHARF_REFERENCE_KIND_DEFAULT) && !reference->kind_at)
        return wrong_row(reference, "WHARF_REFERENCE_KIND_DEFAULT without kind_at", "a pattern of the kind");
    if (is_set(reference, WHARF_REFERENCE_CLUSTER_SCOPED) && reference->namespace_)
        return wrong_row(reference, "namespace_ with WHARF_REFERENCE_CLUSTER_SCOPED", "one of them");
    if (is_set(reference, WHARF_REFERENCE_OPTIONAL) && reference->optional)
        return wrong_row(reference, "optional with WHARF_REFERENCE_OPTIONAL", "one of them");
    return NULL;
}

// A resource has one version, kind and scope: those of the built-in row, or of the first one in the list.
static struct error *check_same(const wharf_kind *kind, const wharf_reference *reference) {
    struct reference_resource own, known;
    if (!reference_resource(reference, &own) || !reference_resource_of(kind, own.resource, &known) ||
        (strcmp(known.version, own.version) == 0 && strcmp(known.kind, own.kind) == 0 &&
         known.cluster_scoped == own.cluster_scoped))
        return NULL;
    return kind_error(reference->name,
                      "references: %s: found %s %s%s for %s, expected %s %s%s as everywhere in wharf or in the list",
                      reference->name, own.version, own.kind, own.cluster_scoped ? " of the cluster" : "", own.resource,
                      known.version, known.kind, known.cluster_scoped ? " of the cluster" : "");
}

static struct error *check_of(const wharf_kind *kind, const wharf_reference *reference) {
    struct reference_resource known;
    if (text_equal(reference->of, "secrets")) // names are shown
        return kind_wrong("references.of", reference->of, "a resource without secret contents");
    if (!reference->of || reference_resource_of(kind, reference->of, &known))
        return NULL;
    return kind_wrong("references.of", reference->of,
                      "a resource that another row names, or that pods can refer to, like \"configmaps\"");
}

static struct error *check_row(const wharf_reference *reference) {
    TRY(kind_check_pointer("references.name", reference->name, PLACES));
    if ((reference->flags & ~KNOWN_FLAGS) != 0)
        return error_new(ERROR_REFUSED,
                         "references: %s: found unknown flags 0x%x, expected only 0x%x: it needs a newer host",
                         reference->name, reference->flags & ~KNOWN_FLAGS, KNOWN_FLAGS);
    if (is_set(reference, REFERENCE_PARTS))
        return check_part(reference);
    TRY(check_resource(reference));
    return check_patterns(reference);
}

struct error *kind_check_references(const wharf_kind *kind) {
    const wharf_reference *first = kind->references;
    for (const wharf_reference *one = first; one && one->name; one++)
        TRY(check_row(one));
    for (const wharf_reference *one = first; one && one->name; one++) {
        TRY(check_same(kind, one));
        TRY(check_of(kind, one));
    }
    return NULL;
}
