// SPDX-License-Identifier: Apache-2.0
// Requests are made when they can be sent: each cluster has a window of requests in flight, and an object whose request
// finds no place waits in the cluster's fair queue. Nothing waits with a body: it is made when the object's turn comes,
// from what is newest then, if it is still needed.
#ifndef WHARF_ENGINE_PACING_H
#define WHARF_ENGINE_PACING_H

#include "core/engine/engine_internal.h"
#include "core/engine/request/window.h"
#include "core/engine/store/fair_queue.h"

struct pace { // of a cluster
    struct window window;
    struct fair_queue queue;
    int64_t pressed_ns; // when something last waited, or many requests were in flight; 0: never
};

// Around the decisions about one entry: first pacing_begin; then each action is carried out if pacing_admits, which
// otherwise makes the object of the action wait, and count as busy until pacing_end; there, what no longer has to wait
// no longer does.
void pacing_begin(struct entry *entry);
bool pacing_admits(struct engine *engine, struct entry *entry, const struct action *action);
void pacing_end(struct entry *entry);

// The entry whose turn it is, for a place that is free; NULL: none. Its actions in that cluster are admitted until the
// next call, or until the step ends; Events, which are written beside the window, are charged then.
struct entry *pacing_next(struct engine *engine);
void pacing_step_ends(struct engine *engine);

// A request was sent, or answered.
void pacing_sent(struct engine *engine, size_t cluster);
void pacing_answered(struct engine *engine, size_t cluster, enum window_verb verb, const struct response *response,
                     int64_t round_trip_ns);

// Whether requests to a cluster have no need to wait.
bool pacing_has_spare(struct engine *engine, size_t cluster);
// And few requests were in flight for a while: for what comes last.
bool pacing_is_calm(struct engine *engine, size_t cluster);
// What waits for any window.
size_t pacing_waiting(const struct engine *engine);

void pacing_begin_engine(struct engine *engine, unsigned window_max, uint64_t seed);
void pacing_count(struct engine *engine); // into the stats
// When a waiting request may be sent without another event (the rate limit; now, if there are still places);
// CLOCK_NEVER: not.
int64_t pacing_due_ns(struct engine *engine);

#endif
