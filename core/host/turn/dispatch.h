// SPDX-License-Identifier: Apache-2.0
// Passes the engine's updates on to the cluster threads: collects commands, Events and relists into one batch per
// cluster, delivered as a whole, and logs the log messages.
#pragma once

#include "core/host/io/cluster_io.h"

// One dispatch's content for one cluster's thread.
struct command_batch {
    size_t cluster;
    struct command *commands;
    size_t n_commands, cap_commands;
    struct workload_event *events; // management cluster only
    size_t n_events, cap_events;
    size_t *relists; // kinds
    size_t n_relists, cap_relists;
};

// On the cluster_io's thread: passes the batch's content to the cluster_io and frees the batch. `io` NULL: drops the
// content.
void command_batch_run(struct command_batch *batch, struct cluster_io *io, struct moment now);
void command_batch_free(struct command_batch *batch); // NULL is allowed
// Answers the batch's commands with REASON_NOT_SENT, so that the engine retries each, and frees the batch.
void command_batch_refuse(struct command_batch *batch, void (*post)(void *ctx, struct engine_event *event), void *ctx);

struct dispatch_options {
    size_t n_clusters;
    const char *const *names;  // of clusters, for log lines; not owned
    struct kind *const *kinds; // not owned
    // Takes a batch and has command_batch_run called on its cluster's thread. False: not possible; the caller keeps the
    // batch.
    bool (*deliver)(void *ctx, struct command_batch *batch);
    // Accepts an event for the engine (see inbox_post_now): REASON_NOT_SENT for a command that could not be delivered;
    // the engine retries the command.
    void (*post)(void *ctx, struct engine_event *event);
    void *ctx;
};

struct dispatch;
struct error *dispatch_new(const struct dispatch_options *options, struct dispatch **out);
void dispatch_free(struct dispatch *dispatch);

// More clusters, or other names (see dispatch_options).
struct error *dispatch_name(struct dispatch *dispatch, size_t n_clusters, const char *const *names);

// Kinds that begin with the former ones; not owned.
void dispatch_set_kinds(struct dispatch *dispatch, struct kind *const *kinds);

// Delivers the content of the update, and empties the update.
void dispatch_run(struct dispatch *dispatch, struct update *update);
