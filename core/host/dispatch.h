// SPDX-License-Identifier: Apache-2.0
// What a step of the engine asks for goes to the threads of the clusters: commands, Events and lists to be made again
// are collected into one batch a cluster, which is handed over whole; what is to be told goes to the log.
#ifndef WHARF_HOST_DISPATCH_H
#define WHARF_HOST_DISPATCH_H

#include "core/host/link.h"

// What one dispatch hands to one cluster's thread.
struct command_batch {
    size_t cluster;
    struct command *commands;
    size_t n_commands, cap_commands;
    struct workload_event *events; // of the management cluster only
    size_t n_events, cap_events;
    size_t *relists; // kinds
    size_t n_relists, cap_relists;
};

// On the link's thread: hands all of it to the link; NULL: there is none (any more). Frees the batch.
void command_batch_run(struct command_batch *batch, struct link *link, struct moment now);
void command_batch_free(struct command_batch *batch); // NULL is fine

struct dispatch_options {
    size_t n_clusters;
    const char *const *names;  // of clusters, for log lines; not owned
    struct kind *const *kinds; // not owned
    // Takes a batch, to have command_batch_run called on the thread of its cluster. False: that cannot be done, and the
    // batch is still the caller's.
    bool (*deliver)(void *ctx, struct command_batch *batch);
    // Takes an event for the engine (see inbox_post_now): a command that could not be handed over is answered as not
    // sent, and tried again by the engine.
    void (*post)(void *ctx, struct engine_event *event);
    void *ctx;
};

struct dispatch;
struct error *dispatch_new(const struct dispatch_options *options, struct dispatch **out);
void dispatch_free(struct dispatch *dispatch);

// Hands over what the update asks for, and empties it.
void dispatch_run(struct dispatch *dispatch, struct update *update);

#endif
