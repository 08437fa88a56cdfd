// SPDX-License-Identifier: Apache-2.0
// Which workloads `wharf status` shows and counts.
#ifndef WHARF_CMD_STATUS_FILTER_H
#define WHARF_CMD_STATUS_FILTER_H

#include "core/cmd/remote/remote.h"

struct status_filter { // NULL: any
    const char *namespace_, *kind, *name, *cluster, *phase, *selector;
};

// Whether there is more than a namespace.
bool status_filter_narrows(const struct status_filter *filter);
// Appends the parameters of /api/v1/workloads.
void status_filter_query(const struct status_filter *filter, struct buffer *path);
// Removes the items that the selector does not choose: the host has no labels, so the management cluster is asked, with
// the caller's rights.
struct error *status_filter_select(const struct status_filter *filter, struct remote *remote, struct json *items);

// The counts of a namespace, as "workloads" of /api/v1/status.
struct error *status_count(const char *namespace_, const struct json *items, struct json **out);

#endif
