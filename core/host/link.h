// SPDX-License-Identifier: Apache-2.0
// One cluster as the host uses it: a client for commands, a reflector for each kind, and, for the management cluster,
// the recorder of Events. It translates between the engine's events and commands and what core/kube offers, lives on
// the thread of its transport, and is the same in production and in the simulation.
#ifndef WHARF_HOST_LINK_H
#define WHARF_HOST_LINK_H

#include "core/engine/engine.h"

struct link_options {
    size_t cluster; // ENGINE_MANAGEMENT or a worker's number
    const char *name;
    struct transport *transport; // not owned
    struct budget *budget;       // of the cluster, not owned; may be NULL
    const char *origin;          // workers list and watch only what carries it
    const char *controller_name; // reportingController of Events
    const char *instance;        // reportingInstance of Events
    struct kind *const *kinds;
    size_t n_kinds;
    double qps, burst;
    bool watch_list;
    uint64_t seed;
    // Takes an event: copies the struct, owns what it points to (object; response with its content; strings are copied
    // by the taker if it keeps them past the call); `now` and `received_ns` are the taker's to set. Called on the
    // link's thread, from link_tick, link_command and the transport's handlers.
    void (*post)(void *ctx, struct engine_event *event);
    void *ctx;
};

struct link;
struct error *link_new(const struct link_options *options, struct moment now, struct link **out);
// Cancels what is under way; nothing is posted any more.
void link_free(struct link *link);

// Takes the command. Its answer is posted exactly once, unless the link is freed before.
void link_command(struct link *link, struct command *command);
// Takes the event.
void link_event(struct link *link, struct moment now, struct workload_event *event);

// Lists the objects of a kind again.
void link_relist(struct link *link, size_t kind);

// Does what is due; the monotonic time of the next call that is needed.
int64_t link_tick(struct link *link, struct moment now);

// Commands and Events that were not answered yet.
size_t link_pending(const struct link *link);

#endif
