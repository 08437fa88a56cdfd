// SPDX-License-Identifier: Apache-2.0
// The running guard of `wharf guard`, in a worker: keeps the two Leases of docs/fencing.md, and while the host is lost
// lists and watches the host's mirrors and stops the running ones. guard.h decides. Shared by production and
// simulation.
#pragma once

#include "core/engine/fence/guard.h"
#include "core/kube/client/client.h"

struct guard_run_options { // strings and kinds live as long as the guard
    struct guard_options guard;
    struct transport *transport; // to the API server of the guard's own cluster, not owned
    struct budget *budget;       // may be NULL
    struct kind *const *kinds;
    size_t n_kinds;
    bool watch_list;
    uint64_t seed;
    // Takes the merge patch of the ConfigMap with the report (guard_reports.h), on the thread of the guard; NULL: none.
    void (*report)(void *ctx, const char *body, size_t len);
    void *report_ctx;
};

struct guard_run;
struct error *guard_run_new(const struct guard_run_options *options, struct moment now, struct guard_run **out);
void guard_run_free(struct guard_run *run); // cancels requests in flight; NULL is allowed

// Performs the due work; returns the monotonic time of the next call needed. Also after each handler of the transport.
int64_t guard_run_tick(struct guard_run *run, struct moment now);

// For status pages and metrics.
struct guard_status {
    char origin[64];
    bool reachable;        // the API server answers
    char problem[200];     // if not
    char unreturned[300];  // the Lease of a former number of shards that the guard cannot release, and why; "": none
    size_t leases, missed; // the host's Leases that are held, and the number of them with stopped mirrors
    char late[2048];       // lines about Leases without renewal, see guard_late
    int64_t heard_wall_ns; // when the Lease with the oldest renewal was renewed; 0: no Lease
    uint64_t suspended, deleted, failures;
    int64_t at_ns; // when that was so
};
void guard_run_status(const struct guard_run *run, struct guard_status *out);

bool guard_run_is_fencing(const struct guard_run *run);
