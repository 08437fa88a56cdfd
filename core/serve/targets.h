// SPDX-License-Identifier: Apache-2.0
// The mirror of a workload as /pods, /logs and /exec want it: its worker, over a connection of one's own, and its pods.
#ifndef WHARF_SERVE_TARGETS_H
#define WHARF_SERVE_TARGETS_H

#include "core/host/direct.h"
#include "core/host/pods.h"
#include "core/serve/http.h"

struct target {
    const struct http_source *source;
    const struct kind *kind;
    char *namespace_, *name;
    struct api_mirror mirror; // as last found
    struct direct direct;     // to its worker
    struct pods pods;         // as last read
    const atomic_bool *stop;
};

// `kind` is as a person writes it.
struct error *target_open(const struct http_source *source, const char *kind, const char *namespace_, const char *name,
                          const atomic_bool *stop, struct target *out);
void target_close(struct target *target);

// Finds the mirror again, and reads its pods. *moved: it is another one, so what is open to the former worker is over:
// `direct` is another connection.
struct error *target_refresh(struct target *target, bool *moved);

// "w1 (attempt 2)".
void target_describe(const struct target *target, struct buffer *out);

// The pod of this name, or, if it is NULL, the one that people mean: the newest one that runs, or has run, or waits.
// ERROR_NOT_FOUND: none.
struct error *target_pod(const struct target *target, const char *name, const struct pod **out);
// The container of this name, or the pod's default one. ERROR_INVALID: it has none of that name.
struct error *target_container(const struct pod *pod, const char *name, const struct pod_container **out);

#endif
