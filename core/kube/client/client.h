// SPDX-License-Identifier: Apache-2.0
// Requests to one API server: paths, content types, interpretation of responses. A client belongs to the thread of its
// transport. The client sends each request once (and once more after a 401, with reloaded credentials); the caller
// decides about retries from the outcome.
#pragma once

#include "core/base/clock.h"
#include "core/kube/client/types.h"
#include "core/kube/transport/transport.h"

#include <stdatomic.h>

// Counters of one cluster's thread, for metrics: written on that thread, read from any. The meter outlives its clients
// and reflectors.

#define METER_RECENT_NS (CLOCK_MS / 2) // first bound of recent durations
#define METER_SPAN_NS (30 * CLOCK_SECOND)
#define METER_SPANS 4 // the present one, two before, and one that readers skip while the writer clears the span

extern const int64_t meter_bounds_ns[METER_BUCKETS - 1];

struct meter_cell {
    _Atomic uint32_t what; // verb and code; 0: not used
    _Atomic uint64_t buckets[METER_BUCKETS];
    _Atomic int64_t sum_ns;
};

// Durations of requests answered in METER_SPAN_NS.
struct meter_span {
    _Atomic int64_t number; // since time 0
    _Atomic uint32_t buckets[HISTOGRAM_BUCKETS];
};

// Zero-initialised.
struct meter {
    struct meter_cell cells[METER_SERIES];
    _Atomic uint64_t restarts, events_lost;
    _Atomic int64_t heard_ns, expires_ns, token_ns;
    _Atomic uint32_t credentials;
    _Atomic uint64_t pod_events[METER_PODS];
    struct meter_span spans[METER_SPANS];
};

// A request got a response, or ended without one (code 0). NULL is fine, as below.
void meter_request(struct meter *meter, enum meter_verb verb, int code, int64_t duration_ns);
// A request got an answer, now and after this duration: counts in meter_recent for a while.
void meter_answered(struct meter *meter, int64_t now_ns, int64_t duration_ns);

// A watch was opened again after another ended.
void meter_restart(struct meter *meter);

// Totals: Events that were never written and will not be; when the last byte came from the server (monotonic).
void meter_publish(struct meter *meter, uint64_t events_lost, int64_t heard_ns);

// When the client certificate expires (since 1970; 0: there is none).
void meter_expiry(struct meter *meter, int64_t expires_ns);
// The credentials in use, and the expiry of the bearer token (as above; 0: no token, or no expiry in the token).
void meter_credentials(struct meter *meter, enum credentials_kind kind, int64_t token_ns);

void meter_pods(struct meter *meter, enum meter_pods what, uint64_t more);
void meter_pods_watched(struct meter *meter, bool watched);

void meter_read(const struct meter *meter, struct meter_reading *out);
// Durations of the answers in the last 60 to 90 seconds; first bound METER_RECENT_NS, without the sum.
void meter_recent(const struct meter *meter, int64_t now_ns, struct histogram *out);

// Probes whether an API server answers, and which cluster it serves. A probe reads namespace kube-system, whose uid
// identifies the cluster: at the start, after every lost connection, and after a while without data from the server.
// Probes detect a server that hangs with its connections open, and a server that no longer accepts the host's
// credentials, which open watches do not show. A stopping server closes its idle connections first and its streams much
// later: a closed idle connection is a reason to probe, too. Probes are exempt from the rate limit and skip the queue.
// A probe belongs to the thread of its transport.

// Silence is time without a byte from the server. Time without calls of probe_tick (process stopped, machine suspended)
// does not count.
#define PROBE_SILENCE_NS (10 * CLOCK_SECOND) // then a probe is sent
#define PROBE_TIMEOUT_NS (10 * CLOCK_SECOND) // timeout of a probe
#define PROBE_SUSPECT_NS (18 * CLOCK_SECOND) // of silence, with a probe unanswered
#define PROBE_LOST_NS (40 * CLOCK_SECOND)
#define PROBE_AGAIN_NS (1 * CLOCK_SECOND) // minimum between two probes
// The same after the first probes with a refused or broken connection: one of several API servers may be restarting,
// and the next connection reaches another.
#define PROBE_EARLY_NS (250 * CLOCK_MS)
#define PROBE_EARLY_TRIES 3
#define PROBE_ERROR_NS (5 * CLOCK_SECOND) // between two probes while credentials are rejected, or after a 5xx or a 429
#define PROBE_CLOSED_NS CLOCK_MINUTE      // minimum between two probes because the server closed an idle connection

// Called on the probe's thread, from probe_tick.
struct probe_handler {
    // The uid of namespace kube-system and its resourceVersion, after each read. `uid` is "" if the server does not
    // permit the read and never did (`problem` has the reason): the identity is then unknown.
    void (*identity)(void *ctx, const char *uid, const char *version, const char *problem);
    // A change of `contact` or `repeated`: PROBE_EARLY_TRIES + 1 probes failed in a row while SUSPECT. `problem`
    // is one sentence for SUSPECT, LOST and REJECTED. `heard_ns`: when the last byte was received (monotonic).
    void (*contact)(void *ctx, enum contact contact, bool repeated, int64_t heard_ns, const char *problem);
    void *ctx;
};

struct probe;
// Does nothing until the first tick. `cluster` is for log lines; copied.
struct error *probe_new(const char *cluster, struct transport *transport, const struct probe_handler *handler,
                        struct probe **out);
void probe_free(struct probe *probe); // cancels the probe; no handler is called afterwards. NULL is fine

// Answers to probes count as recent ones of `meter` (meter_answered), so that an idle server has some.
void probe_measure(struct probe *probe, struct meter *meter);

// These are called from transport handlers and take effect at the next tick, which has the time; NULL is fine.
// Something was received from the server, in any exchange.
void probe_heard(struct probe *probe);
// A connection was lost or a request timed out: check the identity again.
void probe_disconnected(struct probe *probe);

// An exchange has ended: one of the above. A 401 causes a probe at once.
void probe_ended(struct probe *probe, const struct http_result *result);

// When the last byte was received, with the precision of ticks; 0: never. Monotonic.
int64_t probe_heard_ns(const struct probe *probe);

// Performs the due work; returns the monotonic time of the next call needed. Called like reflector_tick.
int64_t probe_tick(struct probe *probe, struct moment now);

// `response` is valid during the call; the handler may take ownership of object or value by setting the field to NULL.
typedef void (*response_handler)(void *ctx, struct response *response);

struct client_options {
    const char *cluster;         // for log lines; copied
    struct transport *transport; // not owned
    size_t max_in_flight;        // further requests are queued; 0: 64
    struct budget *budget;       // not owned; may be NULL
    struct probe *probe;         // notified of server activity; not owned; may be NULL
    struct meter *meter;         // counts requests; not owned; may be NULL
};

struct client;
struct error *client_new(const struct client_options *options, struct client **out);
// Cancels everything; no handler is called.
void client_free(struct client *client);

// Copies the request. The client's thread calls the handler exactly once, later; returns an error only for an invalid
// request (a name that is not a path segment) or out of memory, without calling the handler. *id may be NULL.
struct error *client_submit(struct client *client, const struct request *request, response_handler handler, void *ctx,
                            uint64_t *id);

// The handler will not be called. A request already sent may still take effect.
void client_cancel(struct client *client, uint64_t id);

// Sends submitted requests. Returns the monotonic time of the next call needed, or CLOCK_NEVER.
int64_t client_tick(struct client *client, struct moment now);

// Requests submitted and not yet completed.
size_t client_pending(const struct client *client);

struct transport *client_transport(struct client *client);

// Interprets an HTTP result as an API response. Fills all of `response`; response_clear afterwards. An object over the
// default limits, or the budget's, becomes a stub. In a section of sensitive.h the response is sensitive.
void response_read(struct response *response, const struct http_result *result, enum verb verb);
void response_read_within(struct response *response, const struct http_result *result, enum verb verb,
                          const struct budget *budget);

// The same, except for the body of a success. True: the body is JSON and is left to the caller.
bool response_begin(struct response *response, const struct http_result *result, enum verb verb);

// The message of a Status for a response in a section of sensitive.h: without values. NULL: out of memory.
char *sensitive_message(const struct json *status, enum reason reason, int code);

// Reads a metav1.Status, as response_read does and for the ERROR events of a watch. `code` applies if the Status has no
// known reason. Sets reason, code, message and retry_after_ns.
void response_read_status(struct response *response, const struct json *status, int code, enum verb verb);

// One line at level debug for each request to an API server: cluster, verb, path, status code, time. Bodies are never
// logged. State of one request; initialised to zeros, and unused unless debug is logged.
struct request_log {
    const char *verb; // static
    char *path;       // owned
    int64_t begun_ns; // CLOCK_BOOTTIME
};

// The request is sent now. Drops a previous one that did not end (cancelled).
void request_log_begin(struct request_log *log, const char *verb, const char *path);
// A stream was opened and continues.
void request_log_opened(const struct request_log *log, const char *cluster);
// The request has ended.
void request_log_end(struct request_log *log, const char *cluster, const struct http_result *result);
void request_log_free(struct request_log *log);
