// SPDX-License-Identifier: Apache-2.0
// Probes whether an API server answers, and which cluster it serves. A probe reads namespace kube-system, whose uid
// identifies the cluster: at the start, after every lost connection, and after a while without data from the server.
// Probes detect a server that hangs with its connections open, and a server that no longer accepts the host's
// credentials, which open watches do not show. A stopping server closes its idle connections first and its streams much
// later: a closed idle connection is a reason to probe, too. Probes are exempt from the rate limit and skip the queue.
// A probe belongs to the thread of its transport.
#pragma once

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/kube/client/meter.h"
#include "core/kube/client/types.h"
#include "core/kube/transport/transport.h"

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
