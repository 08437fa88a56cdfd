// SPDX-License-Identifier: Apache-2.0
// Decides when a credential plugin runs: before the first request, shortly before its credential expires, and after the
// server rejected the credential; one run at a time. Belongs to one thread, and blocks only to stop a run.
#pragma once

#include "core/base/clock.h"
#include "core/kube/credentials/exec_plugin.h"

#include <stdbool.h>

struct exec_source {
    const struct exec_plugin *plugin; // NULL: none
    void (*wake)(void *ctx);          // called from another thread when a run is over
    void *ctx;
    struct exec_job *job; // the run under way, or NULL
    struct exec_credential held;
    bool has;              // `held` is valid
    bool accepted;         // by the server
    bool rejected;         // by the server
    uint64_t generation;   // of `held`: 1 for the first
    int64_t due_ns;        // when to run next, monotonic; CLOCK_NEVER: after a rejection
    int64_t started_ns;    // the last run
    int64_t expires_ns;    // `held`, monotonic
    unsigned failures;     // in a row
    struct error *problem; // of the last run; NULL: success
};

void exec_source_open(struct exec_source *source, const struct exec_plugin *plugin, void (*wake)(void *ctx), void *ctx,
                      struct moment now);
void exec_source_close(struct exec_source *source);

// Starts a run that is due, and takes the result of one that is over. True: `held` changed.
bool exec_source_update(struct exec_source *source, struct moment now);

// Whether requests have to wait: there is no usable credential, but a run is under way.
bool exec_source_is_waiting(const struct exec_source *source, int64_t now_ns);

// Why there is no usable credential; NULL: there is one.
const struct error *exec_source_problem(const struct exec_source *source, int64_t now_ns);

// The status of a response to a request that was sent with `generation`.
void exec_source_answered(struct exec_source *source, uint64_t generation, int status);

// After a 401. True: the request may be sent again, with a credential that is newer or is being fetched. False: the
// plugin ran only just now, and will run again later.
bool exec_source_renew(struct exec_source *source, int64_t now_ns);
