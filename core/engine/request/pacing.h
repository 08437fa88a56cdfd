// SPDX-License-Identifier: Apache-2.0
// The engine builds a request only when it can be sent: each cluster has a window of requests in flight, and other
// objects wait in the cluster's fair queue, without a body. Their turn leads to a new decision from the newest state.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/engine/request/window.h"
#include "core/engine/store/fair_queue.h"

struct pace { // of a cluster
    struct window window;
    struct fair_queue queue;
    int64_t pressed_ns; // last time that an object waited or many requests were in flight; 0: never
};

// Around the decisions about one entry: pacing_begin; for each action pacing_admits, which either admits the action
// or queues its object, busy until pacing_end; and pacing_end, which removes objects without need from the queues.
void pacing_begin(struct entry *entry);
bool pacing_admits(struct engine *engine, struct entry *entry, const struct action *action);
void pacing_end(struct entry *entry);

// The next entry for a free place; NULL: none. Admits its actions in that cluster until the next call, or until the
// step ends; then charges Events, which are written beside the window.
struct entry *pacing_next(struct engine *engine);
void pacing_step_ends(struct engine *engine);

// A request was sent, or answered.
void pacing_sent(struct engine *engine, size_t cluster);
void pacing_answered(struct engine *engine, size_t cluster, enum window_verb verb, const struct response *response,
                     int64_t round_trip_ns);

// Whether requests to a cluster go out at once.
bool pacing_has_spare(struct engine *engine, size_t cluster);
// The same, after a pause with few requests in flight: for work that comes last.
bool pacing_is_calm(struct engine *engine, size_t cluster);
// The number of objects that wait for any window.
size_t pacing_waiting(const struct engine *engine);

// A cluster gets a number: `pace` is taken; it leaves; its rate limit, or that of all clusters, changed.
void pacing_join(struct engine *engine, size_t cluster, struct pace *pace);
void pacing_leave(struct engine *engine, size_t cluster);
void pacing_refresh_rate(struct engine *engine, size_t cluster);
void pacing_begin_engine(struct engine *engine, unsigned window_max);
void pacing_count(struct engine *engine); // into the stats
// When a waiting request may be sent without another event (the rate limit; now, if there are still places);
// CLOCK_NEVER: not.
int64_t pacing_due_ns(struct engine *engine);
