// SPDX-License-Identifier: Apache-2.0
// Other forms of what is stored, made as it is read: events.k8s.io Events as those of the core group, Tables
// (meta.k8s.io/v1), which kubectl asks for to print columns, and metadata alone.
#pragma once

#include "tests/world/model.h"
#include "tests/world/route.h"

enum view_form {
    VIEW_OBJECT,
    VIEW_TABLE,
    VIEW_METADATA,     // PartialObjectMetadata: of an object, and of each event of a watch
    VIEW_METADATA_LIST // PartialObjectMetadataList
};

struct view {
    bool core_event;
    enum view_form form;
};

// A path to core Events becomes one to those that are stored. True if it was one.
bool view_redirect(struct route *route);
// `accept`: of the request; NULL is none.
enum view_form view_form(const char *accept);
// Whether a list, or an object, has that form; otherwise the request is not acceptable.
bool view_fits(enum view_form form, bool list);
bool view_changes(const struct view *view);

// Both take ownership of the value and return it, or its replacement. `version` is that of the path, `now_ns` for ages.
struct json *view_object(const struct view *view, const struct kind *kind, const char *version, struct json *object);
struct json *view_list(const struct view *view, const struct kind *kind, const char *version, struct json *list);

// The PartialObjectMetadata of an object.
struct json *view_metadata(const struct json *object);

// table.c
struct json *table_of_list(const struct kind *kind, const char *version, const struct json *list);
struct json *table_of_object(const struct kind *kind, const char *version, const struct json *object);

// columns.c: what kubectl shows of one object, in a row's cells.
struct column {
    const char *name, *type;
    bool wide; // only with -o wide
};
// How many there are; `columns` has room for COLUMNS_MAX.
#define COLUMNS_MAX 24
size_t columns_of(const struct kind *kind, const char *version, struct column *columns);
// Appends the cells to an array.
void columns_fill(const struct kind *kind, const char *version, const struct json *object, struct json *cells);

// A value at a path as kubectl writes them: .spec.a, .items[0], ['b.c'], [?(@.type=="Ready")]. NULL: nothing there, or
// a path of another form.
const struct json *jsonpath_find(const struct json *root, const char *path);
