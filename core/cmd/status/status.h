// SPDX-License-Identifier: Apache-2.0
// `wharf status`: columns (views.c) and output (status.c), for selected workloads, at once or when the host or the
// workers are ready (filter.c).
#pragma once

#include "core/base/error.h"
#include "core/cmd/line/text_table.h"
#include "core/cmd/remote/remote.h"
#include "core/json/json.h"

#define STATUS_CELL_MAX 256

struct status_column {
    const char *title;
    bool wide; // with -o wide only
    // The text of an item's cell, in `cell`, static, or a part of the item.
    const char *(*text)(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]);
    const char *key; // the member of the item, for `text`
};

struct status_view {
    const char *name; // "workers": of the operand and of the path
    const struct status_column *columns;
    size_t n_columns;
    const char *key; // of items, for -w: items with the same value are one item
};

extern const struct status_view status_workers, status_workloads, status_adapters, status_attempts, status_fits,
    status_events;

// The titles and a row for each item.
void status_fill(const struct status_view *view, bool wide, const struct json *items, struct text_table *table);
void status_add_titles(const struct status_view *view, bool wide, struct text_table *table);
void status_add_row(const struct status_view *view, bool wide, const struct json *item, struct text_table *table);

// The lines above the tables: the host, and the workloads by phase.
void status_print_summary(const struct json *status);

struct status_wait {
    bool workers;       // for the workers, not for the host itself
    const char *worker; // for this worker only; NULL: all
    bool wait;          // until ready, else one request
    int64_t timeout_ns; // 0: without limit
};
// *obstacle: why the host or a worker is not ready (free()); NULL: ready.
struct error *status_await(const struct status_wait *wait, struct remote *remote, char **obstacle);

struct status_filter { // NULL: any
    const char *namespace_, *kind, *name, *cluster, *phase, *selector;
};

// Whether there is more than a namespace.
bool status_filter_narrows(const struct status_filter *filter);
// Appends the parameters of /api/v1/workloads.
void status_filter_query(const struct status_filter *filter, struct buffer *path);
// Removes the items that the selector does not match. The host has no labels: labels come from the management cluster,
// with the caller's rights.
struct error *status_filter_select(const struct status_filter *filter, struct remote *remote, struct json *items);

// The counts of a namespace, as "workloads" of /api/v1/status.
struct error *status_count(const char *namespace_, const struct json *items, struct json **out);
