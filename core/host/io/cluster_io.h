// SPDX-License-Identifier: Apache-2.0
// One cluster: a client for commands, a reflector per kind, and the Event recorder for the management cluster.
// Translates between the engine's events and commands and core/kube. Runs on the thread of its transport; shared by
// production and simulation.
#ifndef WHARF_HOST_IO_CLUSTER_IO_H
#define WHARF_HOST_IO_CLUSTER_IO_H

#include "core/config/config.h"
#include "core/engine/engine.h"
#include "core/host/fencing.h"

// What may change while it is used.
struct link_settings {
    struct kind *const *kinds; // not owned
    size_t n_kinds;
    enum pod_events_level pod_events; // of a worker
    bool capacity;                    // of a worker: what is left of its nodes is told
    struct fencing_settings fencing;
};

struct link_options { // strings live as long as the link
    size_t cluster;   // ENGINE_MANAGEMENT or a worker's number
    const char *name;
    struct transport *transport; // not owned
    struct link_settings settings;
    struct meter *meter;         // counts what the link does, not owned; may be NULL
    struct budget *budget;       // memory budget of the cluster, not owned; may be NULL
    const char *origin;          // workers are listed and watched with this label value only
    const char *controller_name; // reportingController of Events
    const char *instance;        // reportingInstance of Events, copied
    struct gates *gates;         // of what is written, not owned; NULL: always open
    bool watch_list;
    uint64_t seed;
    // Takes an event: copies the struct and owns its object or the content of its response; strings are valid during
    // the call only. The receiver sets `now` and `received_ns`. Called on the link's thread, from link_tick,
    // link_command and the transport's handlers.
    void (*post)(void *ctx, struct engine_event *event);
    void *ctx;
};

struct link;
struct error *link_new(const struct link_options *options, struct link **out);
// Cancels requests in flight; nothing is posted afterwards.
void link_free(struct link *link);

// The same, but first answers the requests in flight with REASON_UNKNOWN_OUTCOME and posts the watches as lost, both
// with this message. NULL is allowed.
void link_close(struct link *link, const char *message);

// Other settings, whose kinds begin with the former ones: of the new ones lists and watches begin with the next tick,
// the others go on undisturbed. Without memory it is tried again. Not from a handler.
void link_configure(struct link *link, const struct link_settings *settings);

// Larger objects are accepted than before: kinds of which some were too large are listed again. Not from a handler.
void link_accept_larger(struct link *link);

// The shards whose Leases for the worker's guard are renewed, see engine_renews; initially none.
void link_fence(struct link *link, uint64_t shards);

// Takes the command. Its answer is posted exactly once, unless the link is freed first.
void link_command(struct link *link, struct moment now, struct command *command);
// Takes the Event.
void link_event(struct link *link, struct moment now, struct workload_event *event);

// Sends a request of somebody else than the engine. `done` gets the answer exactly once, later, on the link's thread;
// with REASON_NOT_SENT if the link is freed first.
void link_ask(struct link *link, const struct request *request, void (*done)(void *ctx, struct response *response),
              void *ctx);

// Lists the objects of a kind again; or RELIST_SPACES.
void link_relist(struct link *link, size_t kind);

// Does what is due; returns the monotonic time of the next call needed.
int64_t link_tick(struct link *link, struct moment now);

// Whether the watch of each kind has begun, or failed, at least once.
bool link_is_settled(const struct link *link);

// Unanswered commands and Events.
size_t link_pending(const struct link *link);

#endif
