// SPDX-License-Identifier: Apache-2.0
// `wharf status`: columns (views.c) and output (status.c). `wharf explain` has the same tables.
#pragma once

#include "core/cmd/main.h"

struct status_column {
    const char *title;
    bool wide; // with -o wide only
    // Appends the text of an item's cell.
    void (*put)(const struct json *item, const char *key, struct buffer *cell);
    const char *key; // the member of the item, for `put`
};

struct status_view {
    const char *name; // "workers": of the operand and of the path
    const struct status_column *columns;
    size_t n_columns;
    const char *key; // of items, for -w: items with the same value are one item
};

extern const struct status_view status_workers, status_workloads, status_adapters, status_attempts, status_fits,
    status_dependencies, status_events;

// The titles and a row for each item.
void status_fill(const struct status_view *view, bool wide, const struct json *items, struct text_table *table);
// A row; `item` NULL: the titles.
void status_add_row(const struct status_view *view, bool wide, const struct json *item, struct text_table *table);

// The lines above the tables: the host, and the workloads by phase.
void status_print_summary(const struct json *status);

// A member that is a text, else "".
static inline const char *status_text(const struct json *item, const char *key) {
    return json_string_or(json_get(item, key), "");
}
