// SPDX-License-Identifier: Apache-2.0
// The engine's thread: the events queued for the engine, one turn of the engine, the dispatch of the results, and a
// heartbeat.
#pragma once

#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "core/host/io/cluster_io.h"

#include <stdatomic.h>

struct event_item {
    struct event_item *next;
    struct engine_event event; // see engine_event_own
    size_t bytes;              // approximate memory
};

// Takes the memory that the event owns and copies the rest. NULL when out of memory; the event is then unchanged.
struct event_item *event_item_new(struct engine_event *event);
void event_item_free(struct event_item *item);   // with everything that the engine did not take
void event_items_free(struct event_item *first); // a list

struct event_line { // events of one cluster
    struct event_item *first, *last;
    size_t events, bytes;
    int64_t used_ns; // of the engine's time, for its turn: an empty line saves up nothing
    int64_t rests_until_ns;
    struct engine_time time; // see event_queue_spent
};

// Initially zero but for the limits, which apply to each cluster.
struct event_queue {
    struct event_line *lines;
    size_t n_clusters, max_events, max_bytes;
    size_t events;    // in all lines
    size_t next;      // the cluster to begin with next time
    int64_t level_ns; // used_ns of the line that had used the least, at the last take
};
// More clusters, between two calls of event_queue_take. Never fewer.
struct error *event_queue_grow(struct event_queue *queue, size_t n_clusters);
void event_queue_clear(struct event_queue *queue); // not usable afterwards

// True: the item fits into its cluster's line. An item larger than max_bytes fits into an empty line.
bool event_queue_has_room(const struct event_queue *queue, const struct event_item *item);
// Appends the item to its cluster's line, even to a full one. Takes the item.
void event_queue_put(struct event_queue *queue, struct event_item *item);

// Takes some items of each cluster, in order; the next call begins with another cluster. A cluster that has used more
// of the engine's time than others waits until the others have used as much, or have nothing; resting clusters are
// skipped. NULL: no items to take.
struct event_item *event_queue_take(struct event_queue *queue, int64_t now_ns);
// From when on there is something to take; CLOCK_NEVER: the queue is empty.
int64_t event_queue_ready_ns(const struct event_queue *queue);

// Sets the engine's time that a cluster has used so far (engine_time_of). After costly objects a cluster rests for
// twice their time, which limits the cluster to a third of the engine's time.
void event_queue_spent(struct event_queue *queue, size_t cluster, struct engine_time time, int64_t now_ns);

// The engine's inbox: an event queue with a lock, filled by the cluster threads. A thread whose cluster's line is full
// blocks, so that a large list need not fit into memory as parsed objects; the other threads continue.

struct inbox;
// `max_events` and `max_bytes` apply to each cluster.
struct error *inbox_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct inbox **out);
void inbox_free(struct inbox *inbox);

// See event_queue.c. From any thread.
struct error *inbox_grow(struct inbox *inbox, size_t n_clusters);
void inbox_limit(struct inbox *inbox, size_t max_bytes);
bool inbox_is_empty(struct inbox *inbox, size_t cluster);

// event_item_new, but waits for memory: a dropped event would lose an answer or a deletion for good.
struct event_item *inbox_item(struct engine_event *event);

// Takes a list of items, in order. Blocks until there is room; drops the items after inbox_close. Not on the engine's
// thread.
void inbox_post(struct inbox *inbox, struct event_item *items);
// The same for an event (see cluster_io_options.post), without waiting for room: for the engine's own thread.
void inbox_post_now(struct inbox *inbox, struct engine_event *event);

// As event_queue_take, but waits for the first item until `until_ns` (CLOCK_BOOTTIME) or a call of inbox_poke. NULL:
// none.
struct event_item *inbox_take(struct inbox *inbox, int64_t until_ns);

// See event_queue_spent; for all clusters.
void inbox_charge(struct inbox *inbox, const struct engine *engine, int64_t now_ns);

// Since when (CLOCK_BOOTTIME) events have been waiting without an inbox_take; CLOCK_NEVER: the inbox is empty.
int64_t inbox_waiting_since(struct inbox *inbox);

// The number of waiting events of a cluster. *since_ns: when the oldest one was received; CLOCK_NEVER: no events.
size_t inbox_depth(struct inbox *inbox, size_t cluster, int64_t *since_ns);

void inbox_poke(struct inbox *inbox);
void inbox_close(struct inbox *inbox);

// A cluster thread's events on their way to the engine's inbox. The events of one turn of the thread are posted
// together, to wake the engine once for all.

#define OUTBOX_EVENTS 32 // posted at once when there are so many,
#define OUTBOX_BYTES ((size_t)64 << 10)
#define OUTBOX_HELD_NS (20 * CLOCK_MS) // how long an event that can wait stays here for want of another

struct outbox {
    struct inbox *inbox;
    struct event_item *first, *last;
    size_t events, bytes;
    int64_t due_ns; // of the events here
};

void outbox_init(struct outbox *outbox, struct inbox *inbox);
void outbox_free(struct outbox *outbox); // with its events

// Takes the memory that the event owns (see cluster_io_options.post). `can_wait`: not worth waking the engine. May
// block as inbox_post does.
void outbox_put(struct outbox *outbox, struct engine_event *event, bool can_wait, int64_t now_ns);

// At the end of the thread's turn: posts the due events. Returns the time of the next call needed, or CLOCK_NEVER.
int64_t outbox_tick(struct outbox *outbox, int64_t now_ns);

// Passes the engine's updates on to the cluster threads: collects commands, Events, relists, wishes and questions into
// one batch per cluster, delivered as a whole, and logs the log messages.

// One dispatch's content for one cluster's thread.
struct command_batch {
    struct command_batch *next;
    size_t cluster;
    struct command *commands;
    size_t n_commands;
    struct workload_event *events; // management cluster only
    size_t n_events;
    size_t *relists; // kinds
    size_t n_relists;
    struct dependency_wish **wishes;
    size_t n_wishes;
    struct pod_question **questions;
    size_t n_questions;
};

// On the cluster_io's thread: passes the batch's content to the cluster_io and frees the batch. `io` NULL: drops the
// content.
void command_batch_run(struct command_batch *batch, struct cluster_io *io, struct moment now);
void command_batch_free(struct command_batch *batch); // NULL is allowed
// Answers the batch's commands with REASON_NOT_SENT, so that the engine retries each, and frees the batch.
void command_batch_refuse(struct command_batch *batch, void (*post)(void *ctx, struct engine_event *event), void *ctx);

struct dispatch {
    const char *const *names;  // of clusters, for log lines; not owned
    struct kind *const *kinds; // not owned
    // Takes a batch and has command_batch_run called on its cluster's thread. False: not possible; the caller keeps the
    // batch.
    bool (*deliver)(void *ctx, struct command_batch *batch);
    // Accepts an event for the engine (see inbox_post_now): REASON_NOT_SENT for a command that could not be delivered;
    // the engine retries the command.
    void (*post)(void *ctx, struct engine_event *event);
    // Takes a wish (free()); NULL: nobody keeps last words.
    void (*words)(void *ctx, struct words_wish *wish);
    void *ctx;
    struct command_batch *first; // during dispatch_run: a batch for each cluster
};

// Delivers the content of the update, and empties the update.
void dispatch_run(struct dispatch *dispatch, struct update *update);

// One turn of the engine: processes the events taken from the queue, in order, and dispatches the updates. Shared by
// production and simulation.

#define TURN_STEP_NS (CLOCK_MS / 100)

// The size of an update before a step.
struct turn_mark {
    size_t commands, events, log;
};

struct turn {
    struct engine *engine;
    struct dispatch dispatch;
    struct update update;            // update.wake_ns: time of the next turn needed, even without an event
    struct histogram steps;          // the duration of each step and its results; first bound TURN_STEP_NS
    int64_t first_ns;                // time of the update's first command
    struct moment (*now)(void *ctx); // called for each event
    // Called before each event from the queue, and after each step, with the update before its dispatch and its size
    // before the step; may be NULL.
    void (*before)(void *ctx, const struct engine_event *event);
    void (*after)(void *ctx, const struct update *update, const struct turn_mark *older);
    void *ctx;
};

// Takes the items, a linked list; NULL: only time has passed. Returns their number.
size_t turn_run(struct turn *turn, struct event_item *items);

// Progress of the engine's thread, from which other threads detect a stall.

// Zero-initialised: not started, not stalled. Times are CLOCK_BOOTTIME.
struct heartbeat {
    _Atomic int64_t beat_ns; // when the thread last finished something
    _Atomic int64_t due_ns;  // the time of the next turn; 0 during a turn
};

// The thread waits until `due_ns`, or until the inbox has events.
static inline void heartbeat_wait(struct heartbeat *heart, int64_t now_ns, int64_t due_ns) {
    atomic_store(&heart->due_ns, due_ns);
    atomic_store(&heart->beat_ns, now_ns);
}

static inline void heartbeat_work(struct heartbeat *heart, int64_t now_ns) {
    atomic_store(&heart->beat_ns, now_ns);
    atomic_store(&heart->due_ns, 0);
}

// How long work has been pending without progress; 0: not stalled. `inbox_since_ns`: since when the inbox has had
// events; CLOCK_NEVER: empty inbox.
static inline int64_t heartbeat_stalled_ns(const struct heartbeat *heart, int64_t inbox_since_ns, int64_t now_ns) {
    int64_t beat_ns = atomic_load(&heart->beat_ns), since_ns = atomic_load(&heart->due_ns);
    if (beat_ns == 0)
        return 0;
    if (inbox_since_ns < since_ns)
        since_ns = inbox_since_ns;
    if (since_ns < beat_ns)
        since_ns = beat_ns;
    return since_ns < now_ns ? now_ns - since_ns : 0;
}
