// SPDX-License-Identifier: Apache-2.0
// The items of one source of workers: for each, the newest usable version and, if a later version is unusable, the
// reason. Not thread-safe.
#pragma once

#include "core/host/sources/sources.h"

struct source_item {
    char *key;                    // "wharf-system/w1", or the name of a file
    char *origin_text;            // "Secret wharf-system/w1"
    struct worker_spec spec;      // the good version; name NULL: there has been none
    char *problem;                // of the newest version; NULL: the newest version is usable
    struct token_life token_life; // 0: not known
    bool seen;                    // in the list that is being read
    bool held;                    // stays although missing from the list
};

// Zero-initialised, but for `source`.
struct source_items {
    enum worker_source source;
    struct source_item *list; // by key
    size_t count;
    bool changed; // since the last source_items_publish
};

void source_items_free(struct source_items *items);

struct source_item *source_items_find(const struct source_items *items, const char *key); // NULL: none
// Finds or adds the item; NULL: out of memory. Valid until the next call.
struct source_item *source_items_at(struct source_items *items, const char *key, const char *origin_text);
void source_items_remove(struct source_items *items, const char *key);

// Before and after reading a list: removes items that were neither seen nor held.
void source_items_unsee(struct source_items *items);
void source_items_sweep(struct source_items *items);
// Holds the unseen items until seen again; returns their number.
size_t source_items_hold(struct source_items *items);

// Takes the spec and clears it.
void source_item_accept(struct source_items *items, struct source_item *item, struct worker_spec *spec);
// The newest version is unusable: takes the error, and logs any new problem.
void source_item_refuse(struct source_items *items, struct source_item *item, struct error *error);

// Passes all items to `sources`, if anything has changed.
void source_items_publish(struct source_items *items, struct sources *sources);
