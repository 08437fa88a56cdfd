// SPDX-License-Identifier: Apache-2.0
// The I/O of one cluster: a client for commands, a reflector for each kind, the watchers of the table (watcher.h), and
// the Event recorder of the management cluster. Translates between the engine's events and commands and core/kube. Runs
// on the thread of its transport; shared by production and simulation.
#pragma once

#include "core/host/watchers/watcher.h"

struct cluster_io;
struct error *cluster_io_new(const struct cluster_scope *scope, struct cluster_io **out);
// Cancels requests in flight; posts nothing afterwards.
void cluster_io_free(struct cluster_io *io);

// The same, but first answers the requests in flight with REASON_UNKNOWN_OUTCOME and posts the watches as lost, both
// with this message. NULL is allowed.
void cluster_io_close(struct cluster_io *io, const char *message);

// Other settings, whose kinds begin with the former ones: the next tick starts lists and watches of new kinds; the
// others continue undisturbed. Without memory, a later tick tries again. Not from a handler.
void cluster_io_configure(struct cluster_io *io, const struct cluster_io_settings *settings);

// Accepts larger objects than before: kinds with objects over the former limit are listed again. Not from a handler.
void cluster_io_accept_larger(struct cluster_io *io);

// The shards whose Leases for the worker's guard the host renews, see engine_renews; initially none.
void cluster_io_fence(struct cluster_io *io, uint64_t shards);

// Takes the command. The answer is posted exactly once, unless the cluster_io is freed first.
void cluster_io_command(struct cluster_io *io, struct moment now, struct command *command);
// Takes the Event.
void cluster_io_event(struct cluster_io *io, struct moment now, struct workload_event *event);

// Sends a request from outside of the engine. `done` gets the answer exactly once, later, on the cluster_io's thread;
// with REASON_NOT_SENT if the cluster_io is freed first.
void cluster_io_ask(struct cluster_io *io, const struct request *request,
                    void (*done)(void *ctx, struct response *response), void *ctx);

// Lists the objects of a kind again; or RELIST_NAMESPACES.
void cluster_io_relist(struct cluster_io *io, size_t kind);

// Watches an object that workloads refer to, or no longer (dependencies.c). Not from a handler.
void cluster_io_wish(struct cluster_io *io, const struct dependency_wish *wish);
// Reads the pods of a mirror.
void cluster_io_question(struct cluster_io *io, const struct pod_question *question);

// Does the due work; returns the monotonic time of the next call needed.
int64_t cluster_io_tick(struct cluster_io *io, struct moment now);

// Whether the watch of each kind has begun, or failed, at least once.
bool cluster_io_is_settled(const struct cluster_io *io);

// Unanswered commands and Events.
size_t cluster_io_pending(const struct cluster_io *io);
