// SPDX-License-Identifier: Apache-2.0
// The labels of the management cluster's namespaces, if a selector in the configuration needs labels.
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct namespace_labels;
struct error *namespace_labels_new(uint64_t seed, struct namespace_labels **out);
void namespace_labels_free(struct namespace_labels *table); // NULL is allowed

// True: *labels is "key=value,key=value", or NULL for none. False: the labels are unknown. A namespace that a complete
// list lacks has none.
bool namespace_labels_of(const struct namespace_labels *table, const char *name, const char **labels);

struct engine;
struct engine_event;
void namespace_labels_take(struct engine *engine, const struct engine_event *event); // EVENT_NAMESPACE
// What waits is decided anew, at most once a second, after labels have changed.
void namespace_labels_tick(struct engine *engine);
int64_t namespace_labels_due_ns(const struct engine *engine);
