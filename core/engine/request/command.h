// SPDX-License-Identifier: Apache-2.0
// Requests to clusters and their answers, and calls of the adapter of an entry's kind.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/store/fair_queue.h"

#define PERMANENT_BASE_NS (5 * CLOCK_SECOND) // a starting API server rejects requests for a moment
#define PERMANENT_MAX_NS (10 * CLOCK_MINUTE)

enum request_type {
    REQUEST_PLACE,
    REQUEST_CREATE,
    REQUEST_UPDATE,
    REQUEST_STATUS,
    REQUEST_DELETE,
    REQUEST_VERIFY,
    REQUEST_NAMESPACE,
    REQUEST_OWNER,
    REQUEST_WRITER,
    REQUEST_RELEASE,
    REQUEST_READ,
    REQUEST_TRIAL, // a dry-run create, see dropped_of
    REQUEST_ACTIVE,
    REQUEST_PROGRESS, // the status that a new mirror gets, see continuity.h
    REQUEST_CHILDREN, // a list of the mirror's children, see children.h
    REQUEST_CHILD,    // the status that one of them gets
    REQUEST_KEEP      // their progress, into the annotations of the workload
};

struct request_in_flight {
    // Set by the sender.
    enum request_type type;
    uint32_t cluster, attempt;
    const char *path;    // OWNER, WRITER, CHILDREN: the path; ACTIVE, CHILD: the object's name; else NULL. As the next
                         // three, until the request is sent
    const char *version; // ACTIVE: API version; else NULL
    const char *body;    // JSON, or NULL
    size_t body_len;
    uint64_t patch_hash; // see mirror_patch_hash
    uint64_t wanted;     // STATUS: json_hash of the resulting status; CREATE, UPDATE: carry_hash of the workload
    uint32_t source;     // STATUS: see repeat_source; WRITER: enum writer_question; CHILD: row of the kind's children;
                         // KEEP: cluster of the mirror
    uint16_t piece;      // UPDATE: enum piece
    bool was_clean;      // CREATE: the first create of this attempt
    bool stops;          // UPDATE: suspends the mirror
    bool marks;          // UPDATE: restores marks
    bool is_final;       // STATUS: the final one of the attempt
    bool withdraws;      // DELETE: of an unstarted mirror
    bool keeps;          // CHILDREN: to keep their progress; else to give
    char **offered;      // the sender's `record`, or NULL; moved if the request is sent
    // Set by command_send.
    char *record; // CREATE, UPDATE: the mirror's record if accepted; OWNER: the checks to look up. Owned, or NULL
    uint32_t generation; // part of the id, to detect a late answer after a reuse of the slot
    enum verb verb;      // of the type
    bool is_budgeted;    // see status_budget_sent
    uint32_t next_free;
    uint32_t restorations; // of the watch at the time of sending
    uint32_t term;         // of the shard at the time of sending
    uint64_t workload;     // text_hash of the workload's uid at that time
    uint64_t known;        // the same of the version of the mirror in the worker, or of the workload
    struct entry *entry;   // NULL: the slot is free
};

// A bit of the ids of requests that belong to no entry: their part has a table of its own.
#define REQUEST_BESIDE (UINT64_C(1) << 63)

// False: not sent, for lack of memory, of the shard's lease or of the API version.
bool command_send(struct engine *engine, struct entry *entry, const struct request_in_flight *request);
// Sends a request about the mirror, for the present attempt, or with `mirror` NULL about the workload. Rule 5: the
// mirror or the workload is busy until the answer. False: not sent, the next try is in a second.
bool command_send_about(struct engine *engine, struct entry *entry, struct mirror *mirror,
                        struct request_in_flight *request);
// The same with a patch or an object as body. Reports a body that is too large for an API server instead of sending
// the body, which counts as success.
bool command_send_patch(struct engine *engine, struct entry *entry, struct mirror *mirror, const struct json *patch,
                        struct request_in_flight request);

// The host reads the workload before the first write in a worker in a new term (shard.h), after a list with an older
// version of the workload (stale_version_must_read), and after a conflict, unless the watch shows the newer version
// first. Returns the action, or ACTION_READ.
struct action confirm_action(struct engine *engine, struct entry *entry, struct action action);
bool confirm_read(struct engine *engine, struct entry *entry);

// The worker leaves: requests in flight to the worker end with an unknown outcome.
void answer_end_requests(struct engine *engine, size_t cluster);
// Whether the request certainly had no effect. If not, the host does not know the outcome (rule 4).
bool answer_certainly_not_done(enum reason reason);
// Whether the server answered. If not, the request may still take effect later.
bool answer_is_heard(enum reason reason);
int64_t answer_next_try_ns(struct engine *engine, const struct response *response, uint16_t *failures);
// Whether the answer is the current object. If not, another write followed.
bool answer_is_newest(struct engine *engine, struct doc *doc, uint64_t version);
void answer_of_mirror(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                      struct response *response);
// After an unanswered create: compares the fields that the worker keeps, once a watch or read shows the mirror
// (dropped_of).
void answer_check_dropped(struct engine *engine, struct entry *entry);

// A call of the adapter that ends with its block.

void call_begin(struct engine *engine, struct entry *entry, wharf_mirror_state state, struct adapter_call *call);
// The same, and the input for the functions of mirror.h; `mirror` may be NULL.
struct mirror_context call_begin_for_mirror(struct engine *engine, struct entry *entry, struct mirror *mirror,
                                            wharf_mirror_state state, struct adapter_call *call);
// True for WHARF_OK. Else reports the failure, and sets the time to retry unless the workload waits (aside.h);
// `refusals` counts consecutive rejections.
bool call_succeeded(struct engine *engine, struct entry *entry, wharf_result result, struct adapter_call *call,
                    const char *action, uint16_t *refusals, int64_t *retry_at_ns);
// Reports the message of a successful call, if any.
void call_report_message(struct engine *engine, struct entry *entry, struct adapter_call *call, const char *action);

// The engine builds a request only when the request can be sent: each cluster has a window of requests in flight, and
// other objects wait in the cluster's fair queue, without a body. Each turn leads to a new decision from the newest
// state.
//
// The window is between 1 and WINDOW_MAX. An overload halves the window: a 429, a 503 with Retry-After, or a timeout.
// Otherwise the window grows back to WINDOW_FLOOR, however long answers take, since a busy machine answers slowly too,
// and Priority and Fairness protects the server. Above the floor the window grows while round trips stay near the
// shortest one (like Netflix's concurrency limits, with the gradient of TCP Vegas), since then the network takes the
// time. Functions of struct window read no clock.

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
// Counts an answer, `round_trip_ns` after the request (0: not known).
void window_answered(struct window *window, enum window_verb verb, enum window_outcome outcome, int64_t round_trip_ns,
                     int64_t now_ns);

#define REQUEST_NO_TURN SIZE_MAX // of engine_requests.turn_of
struct pace {                    // of a cluster
    struct window window;
    struct fair_queue queue;
    bool beside;        // one more request beside the queue was sent since its last turn
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
// Whether a request of the present entry goes out: at once, or since the entry has its turn.
bool pacing_is_open(struct engine *engine, size_t cluster);
// For requests that belong to no entry, with `in_flight` of them to the cluster: whether one more may go out. They get
// half of the window, and take turns with the queue.
bool pacing_has_place(struct engine *engine, size_t cluster, size_t in_flight);
void pacing_sent_beside(struct engine *engine, size_t cluster);
// Whether requests to a cluster go out at once, after a pause with few requests in flight: for work that comes last.
bool pacing_is_calm(struct engine *engine, size_t cluster);
// The number of objects that wait for any window.
size_t pacing_waiting(const struct engine *engine);

// A cluster joins, and takes `pace`; leaves; or has another rate limit, of the cluster or of all clusters.
void pacing_join(struct engine *engine, size_t cluster, struct pace *pace);
void pacing_leave(struct engine *engine, size_t cluster);
void pacing_refresh_rate(struct engine *engine, size_t cluster);
void pacing_count(struct engine *engine); // into the stats
// When a waiting request may be sent without another event (the rate limit; now, if there are still places);
// CLOCK_NEVER: not.
int64_t pacing_due_ns(struct engine *engine);
