// SPDX-License-Identifier: Apache-2.0
// The resources that references name.
#include "core/adapter/references.h"
#include "core/adapter/references_built_in.h"

#include <stdio.h>

struct cursor { // over the rows of the built-in table and of all kinds
    struct kind *const *kinds;
    size_t n_kinds, table;
    const wharf_reference *row; // NULL: before the first row of the table
};

bool reference_resource(const wharf_reference *row, struct reference_resource *out) {
    if (!row->resource)
        return false;
    *out = (struct reference_resource){
        .version = row->version,
        .kind = row->kind,
        .cluster_scoped = (row->flags & WHARF_REFERENCE_CLUSTER_SCOPED) != 0,
    };
    snprintf(out->resource, sizeof out->resource, "%s%s%s", row->resource, *row->group ? "." : "", row->group);
    return true;
}

static const wharf_reference *next_row(struct cursor *at) {
    for (; at->table <= at->n_kinds; at->table++, at->row = NULL) {
        const wharf_reference *rows = at->table > 0 ? at->kinds[at->table - 1]->abi.references : references_built_in;
        at->row = at->row ? at->row + 1 : rows;
        if (at->row && at->row->name)
            return at->row;
    }
    return NULL;
}

// The next row that names the objects of a resource, also one that an earlier row names.
static const wharf_reference *next_resource(struct cursor *at) {
    const wharf_reference *row = next_row(at);
    while (row && !row->resource)
        row = next_row(at);
    return row;
}

// The first row that names the objects of the resource.
static const wharf_reference *find(struct kind *const *kinds, size_t n_kinds, const char *resource,
                                   struct reference_resource *out) {
    struct cursor at = {kinds, n_kinds, 0, NULL};
    const wharf_reference *row = next_resource(&at);
    while (row && reference_resource(row, out) && strcmp(out->resource, resource) != 0)
        row = next_resource(&at);
    return row;
}

bool reference_resource_find(struct kind *const *kinds, size_t n_kinds, const char *resource,
                             struct reference_resource *out) {
    return find(kinds, n_kinds, resource, out);
}

bool reference_resource_at(struct kind *const *kinds, size_t n_kinds, size_t number, struct reference_resource *out) {
    struct cursor at = {kinds, n_kinds, 0, NULL};
    struct reference_resource same;
    for (const wharf_reference *row; (row = next_resource(&at)) && reference_resource(row, out);)
        if (find(kinds, n_kinds, out->resource, &same) == row && number-- == 0)
            return true;
    return false;
}

bool reference_resource_refers(struct kind *const *kinds, size_t n_kinds, const char *resource) {
    struct cursor at = {kinds, n_kinds, 0, NULL};
    const wharf_reference *row = next_row(&at);
    while (row && (!row->of || strcmp(row->of, resource) != 0))
        row = next_row(&at);
    return row;
}

bool reference_resource_of(const wharf_kind *kind, const char *resource, struct reference_resource *out) {
    struct kind own = {.abi = *kind};
    struct kind *const kinds[] = {&own};
    return reference_resource_find(kinds, 1, resource, out);
}
