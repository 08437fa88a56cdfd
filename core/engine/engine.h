// SPDX-License-Identifier: Apache-2.0
// The engine: all decisions of the host, without I/O. It is given one event and the time, and answers with what is
// to be done. It opens no socket, reads no clock, starts no thread, and draws random numbers only from its seed. All of
// it runs on one thread, the adapter thread.
#ifndef WHARF_ENGINE_ENGINE_H
#define WHARF_ENGINE_ENGINE_H

#include "core/adapter/adapters.h"
#include "core/engine/event.h"
#include "core/engine/seal.h"
#include "core/engine/stats.h"

#define ENGINE_MANAGEMENT                                                                                              \
    ((size_t)0) // clusters are numbered: 0 is the management cluster, workers from 1 in config order

struct engine_options {
    const char *origin;              // copied
    const char *const *worker_names; // copied
    size_t n_workers;
    struct kind *const *kinds; // not owned
    size_t n_kinds;
    bool create_namespaces;
    bool kueue_carried;    // labels of Kueue go to the mirrors of what Kueue of the management cluster admitted
    bool mirror_finalizer; // mirrors are made with MARK_FINALIZER
    int64_t worker_lost_timeout_ns;
    int64_t mirror_retention_ns;
    const char *management_uid; // of its namespace kube-system, if that is known already; else NULL. Copied
    size_t max_orphans;         // mirrors without a workload that are kept of a cluster; 0: no limit
    int64_t mass_deletion_max, mass_deletion_percent, orphan_grace_ns; // see orphans.c
    const struct seal_keys *seals; // not owned; NULL, or none: mirrors are not sealed
    bool adopt_unsealed;           // what has our marks and no seal in a first list is a mirror, to be sealed
    uint64_t seed;
};

// A request to be sent to a cluster. All strings are owned by the command.
struct command {
    uint64_t id; // answered with EVENT_ANSWER exactly once
    size_t cluster;
    struct request request;
    char *memory; // what the request's strings point into
};

// An Event to be recorded on a workload in the management cluster.
struct note {
    size_t kind;
    bool warning;
    const char *action;                                // static
    const char *reason;                                // in `memory`
    char *text;                                        // owned
    const char *api_version, *namespace_, *name, *uid; // in `memory`
    char *memory;
};

// Something to be told in the log about a cluster, or about one kind in it.
struct remark {
    size_t cluster, kind; // kind REMARK_NO_KIND: about the cluster
    bool warning;
    char *text; // owned
};
#define REMARK_NO_KIND SIZE_MAX

// The objects of a kind are to be listed again: some were not kept, and now there is room.
struct relist {
    size_t cluster, kind;
};

// What a step asks for. Reused from step to step by its owner.
struct update {
    struct command *commands;
    size_t n_commands, cap_commands;
    struct note *notes;
    size_t n_notes, cap_notes;
    struct remark *remarks;
    size_t n_remarks, cap_remarks;
    struct relist *relists;
    size_t n_relists, cap_relists;
    int64_t wake_ns; // EVENT_TIME is needed then (monotonic), CLOCK_NEVER: not until another event
};

struct engine;
struct error *engine_new(const struct engine_options *options, struct moment now, struct engine **out);
void engine_free(struct engine *engine);

// Adds to `update`, which the caller empties in between (update_clear, after taking what it keeps).
void engine_step(struct engine *engine, struct engine_event *event, struct update *update);

// No workload is placed any more; what is placed goes on (a host that is about to stop).
void engine_drain(struct engine *engine);

// Commands sent and not answered.
size_t engine_pending(const struct engine *engine);

const struct stats *engine_stats(const struct engine *engine);

// True when every feed that can be reached is complete and nothing waits to be looked at.
bool engine_in_sync(const struct engine *engine);

// For people and for tests: calls `visit` for each workload that is ours. Strings are valid during the call.
struct engine_view {
    size_t kind;
    const char *namespace_, *name, *uid, *cluster; // cluster NULL: not placed
    uint32_t attempt;
    wharf_phase_kind phase;
    size_t mirrors;     // known at present
    const char *mirror; // uid of the one that is followed; "": none
    bool being_deleted, suspended;
    bool in_flight;  // a request about it or its mirrors
    bool told;       // people were told why it waits
    int64_t wake_ns; // it is looked at again then (monotonic), CLOCK_NEVER: when something is heard of it
    const char *why; // of the last decision; may be NULL
};
void engine_each(const struct engine *engine, void (*visit)(void *ctx, const struct engine_view *view), void *ctx);

void command_free(struct command *command);
void note_free(struct note *note);
void remark_free(struct remark *remark);
void update_clear(struct update *update);
void update_free(struct update *update);

#endif
