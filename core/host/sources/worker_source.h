// SPDX-License-Identifier: Apache-2.0
// The sources of workers. A kind of objects in the management cluster that describe workers is one file, which reads
// such an object, and one row of the table.
#pragma once

#include "core/config/config.h"

struct worker_source_kind {
    const char *name; // "Secret", in the API and in messages
    // Below: of objects in the management cluster only.
    const char *title; // "Secrets of workers"
    const char *group, *version, *plural;
    const char *label;  // selects objects with the value "true"; NULL: all objects
    const char *part;   // that has the kubeconfig: "key kubeconfig"
    bool renews;        // the host renews tokens in the objects
    bool is_for_others; // objects may have other readers: objects without credentials for the host are no problem
    bool (*is_on)(const struct config_workers_from *from);
    const char *(*namespace_of)(const struct config_workers_from *from); // NULL: the host's own
    // ERROR_NOT_FOUND: the object has no credentials for the host. Clears `out` on failure.
    struct error *(*read)(const struct json *object, const struct config_workers_from *from, struct worker_spec *out);
};

extern const struct worker_source_kind worker_secret_kind, worker_profile_kind;
extern const struct worker_source_kind *const worker_source_kinds[WORKER_SOURCES];

static inline bool worker_source_has_objects(enum worker_source source) {
    return worker_source_kinds[source]->read;
}
