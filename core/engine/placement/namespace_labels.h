// SPDX-License-Identifier: Apache-2.0
// The labels of the management cluster's namespaces, as far as something in the configuration selects by them.
#ifndef WHARF_ENGINE_NAMESPACE_LABELS_H
#define WHARF_ENGINE_NAMESPACE_LABELS_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct namespace_labels;
struct error *namespace_labels_new(uint64_t seed, struct namespace_labels **out);
void namespace_labels_free(struct namespace_labels *table); // NULL is allowed

// True if they are known: *labels is "key=value,key=value", or NULL for none. A namespace that a complete list lacks
// has none.
bool namespace_labels_of(const struct namespace_labels *table, const char *name, const char **labels);

struct engine;
struct engine_event;
void namespace_labels_take(struct engine *engine, const struct engine_event *event); // EVENT_NAMESPACE
// What waits is decided anew, at most once a second, after labels have changed. Returns when to call it next.
int64_t namespace_labels_tick(struct engine *engine);

#endif
