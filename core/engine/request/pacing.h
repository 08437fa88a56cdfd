// SPDX-License-Identifier: Apache-2.0
// The engine builds a request only when the request can be sent: each cluster has a window of requests in flight, and
// other objects wait in the cluster's fair queue, without a body. Each turn leads to a new decision from the newest
// state.
//
// The window is between 1 and WINDOW_MAX. An overload halves the window: a 429, a 503 with Retry-After, or a timeout.
// Otherwise the window grows back to WINDOW_FLOOR, however long answers take, since a busy machine answers slowly too,
// and Priority and Fairness protects the server. Above the floor the window grows while round trips stay near the
// shortest one (like Netflix's concurrency limits, with the gradient of TCP Vegas), since then the network takes the
// time. Functions of struct window read no clock.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/engine/store/fair_queue.h"

#define WINDOW_MAX 32
#define WINDOW_FLOOR 12 // see docs/performance.md, "In a burst, and beside others"

enum window_verb {
    WINDOW_READ,
    WINDOW_WRITE, // slower than a read: each has its own shortest round trip
    WINDOW_VERBS
};

enum window_outcome {
    WINDOW_ANSWERED,
    WINDOW_OVERLOADED, // 429, 503 with Retry-After, or no answer in time
    WINDOW_NOT_HEARD   // no sign of the server's load: not sent, or connection lost
};

struct window {
    double limit; // 1 to `max`
    double max;
    uint32_t in_flight;
    bool full;                      // of the present sample: a request had to wait for the window
    int64_t least_ns[WINDOW_VERBS]; // round trips; 0: none
    int64_t eased_ns;               // last reduction after an overload
    // The sample: round trips since the last decision.
    uint32_t answers;
    int64_t taken_ns, least_sum_ns; // sums of the round trips, and of the shortest ones
    // The upper bound of rateLimit: a token bucket.
    double qps, burst, tokens; // qps <= 0: no bound
    int64_t refilled_ns;
};

// `max`: most in flight, 0: WINDOW_MAX. `qps` <= 0: no rate limit. Times are monotonic.
void window_init(struct window *window, unsigned max, double qps, double burst, int64_t now_ns);

// Sets another rate limit; remaining tokens stay, within the new burst.
void window_set_rate(struct window *window, double qps, double burst, int64_t now_ns);

// Whether a request may go out now.
bool window_has_room(struct window *window, int64_t now_ns);
// The time of the next token: CLOCK_NEVER if only an answer makes room. Meaningful when there is no room.
int64_t window_next_ns(const struct window *window, int64_t now_ns);

// Counts a sent request, also beyond the limit for the few requests that cannot wait.
void window_sent(struct window *window);
// Takes tokens for requests beside the window.
void window_charge(struct window *window, double tokens);
// Records that work waited for the window.
void window_was_full(struct window *window);
// Counts an answer, `round_trip_ns` after the request (0: not known).
void window_answered(struct window *window, enum window_verb verb, enum window_outcome outcome, int64_t round_trip_ns,
                     int64_t now_ns);

struct pace { // of a cluster
    struct window window;
    struct fair_queue queue;
    int64_t pressed_ns; // the last time that an object waited or many requests were in flight; 0: never
};

// Around the decisions about one entry: pacing_begin; for each action pacing_admits, which either admits the action
// or queues the object, busy until pacing_end; and pacing_end, which removes objects without an action from the queues.
void pacing_begin(struct entry *entry);
bool pacing_admits(struct engine *engine, struct entry *entry, const struct action *action);
void pacing_end(struct entry *entry);

// The next entry for a free place; NULL: none. Admits the entry's actions in that cluster until the next call, or until
// the step ends, which charges Events, written beside the window.
struct entry *pacing_next(struct engine *engine);
void pacing_step_ends(struct engine *engine);

// Counts a sent request, or an answer.
void pacing_sent(struct engine *engine, size_t cluster);
void pacing_answered(struct engine *engine, size_t cluster, enum window_verb verb, const struct response *response,
                     int64_t round_trip_ns);

// Whether requests to a cluster go out at once.
bool pacing_has_spare(struct engine *engine, size_t cluster);
// The same, after a pause with few requests in flight: for work that comes last.
bool pacing_is_calm(struct engine *engine, size_t cluster);
// The number of objects that wait for any window.
size_t pacing_waiting(const struct engine *engine);

// A cluster joins, and takes `pace`; leaves; or has another rate limit, of the cluster or of all clusters.
void pacing_join(struct engine *engine, size_t cluster, struct pace *pace);
void pacing_leave(struct engine *engine, size_t cluster);
void pacing_refresh_rate(struct engine *engine, size_t cluster);
void pacing_begin_engine(struct engine *engine, unsigned window_max);
void pacing_count(struct engine *engine); // into the stats
// When a waiting request may be sent without another event (the rate limit; now, if there are still places);
// CLOCK_NEVER: not.
int64_t pacing_due_ns(struct engine *engine);
