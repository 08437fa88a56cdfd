// SPDX-License-Identifier: Apache-2.0
// The wanted workers, merged from all sources: of two with one name the configuration's wins, then the directory's.
// Among Secrets and ClusterProfiles the present holder of the name keeps the name, also after a restart; else the
// oldest wins. Each change of a source passes on the complete set. From any thread.
#pragma once

#include "core/config/config.h"
#include "core/host/reload.h"
#include "core/host/sources/worker_objects.h"

struct sources_options {
    // Takes the specs, an array. Called by the caller that changes a source, never twice at the same time.
    void (*apply)(void *ctx, struct worker_spec *specs, size_t count, enum removal removal);
    // Takes the notes of all sources, also of items that lost a conflict; after each apply.
    void (*tell)(void *ctx, struct source_note *notes, size_t count);
    void *ctx;
    bool silent; // conflicts are not logged
};

struct sources;
struct error *sources_new(const struct sources_options *options, struct sources **out);
void sources_free(struct sources *sources);

// Replaces the workers of a source; takes both arrays.
void sources_set(struct sources *sources, enum worker_source source, struct worker_spec *specs, size_t count,
                 struct source_note *notes, size_t n_notes);

// Replaces the entries of the ConfigMap; takes `list`. Until the first call, all workers are cordoned.
void sources_override(struct sources *sources, struct worker_override *list, size_t count);
// NULL: none. On the thread that calls sources_override; valid until the next call.
const struct worker_override *sources_find_override(const struct sources *sources, const char *name);

// How workers leave that are no longer in the set; for the next change.
void sources_set_removal(struct sources *sources, enum removal removal);

// The workers of a configuration, as sources_set.
struct error *sources_set_config(struct sources *sources, const struct config *config);
