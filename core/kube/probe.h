// SPDX-License-Identifier: Apache-2.0
// Whether an API server answers, and which cluster it is. A probe reads namespace kube-system, whose uid names the
// cluster: when it is started, after every lost connection, and whenever nothing was heard from the server for a while.
// So a server that hangs is noticed though its connections stay open. It goes by no rate limit and waits in no line. A
// probe belongs to the thread of its transport.
#ifndef WHARF_KUBE_PROBE_H
#define WHARF_KUBE_PROBE_H

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/kube/transport.h"
#include "core/kube/types.h"

// Silence is time without a byte from the server. Time in which nobody called probe_tick (a process that was stopped, a
// machine that slept) is none.
#define PROBE_SILENCE_NS (10 * CLOCK_SECOND) // then the server is asked
#define PROBE_TIMEOUT_NS (10 * CLOCK_SECOND) // for its answer
#define PROBE_SUSPECT_NS (18 * CLOCK_SECOND) // of silence, with the question unanswered
#define PROBE_LOST_NS (40 * CLOCK_SECOND)
#define PROBE_AGAIN_NS (1 * CLOCK_SECOND) // at least between two questions

// Called on the probe's thread, from probe_tick.
struct probe_handler {
    // The uid of namespace kube-system and its resourceVersion, each time they were read. `uid` "" where the server
    // does not let us read it (`problem` says why): then the identity is not known.
    void (*identity)(void *ctx, const char *uid, const char *version, const char *problem);
    // A change, with one sentence for SUSPECT and LOST. `heard_ns`: when the last byte came (monotonic).
    void (*contact)(void *ctx, enum contact contact, int64_t heard_ns, const char *problem);
    void *ctx;
};

struct probe;
// Does nothing until the first tick. `cluster` is for log lines; copied.
struct error *probe_new(const char *cluster, struct transport *transport, const struct probe_handler *handler,
                        struct probe **out);
void probe_free(struct probe *probe); // cancels; no handler is called any more. NULL is fine

// From handlers of the transport; NULL is fine. The next tick, which knows the time, looks at it.
// Something came from the server, by whatever exchange.
void probe_heard(struct probe *probe);
// A connection was lost, or a request got no answer within its time: who is there is asked again.
void probe_disconnected(struct probe *probe);

// Does what is due; the monotonic time of the next call that is needed. Called as reflector_tick is.
int64_t probe_tick(struct probe *probe, struct moment now);

#endif
