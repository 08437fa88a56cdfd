// SPDX-License-Identifier: Apache-2.0
// Whether an API server answers, and which cluster it is. A probe reads namespace kube-system, whose uid names the
// cluster: when it is started, after every lost connection, and whenever nothing was heard from the server for a while.
// So a server that hangs is noticed though its connections stay open. A probe belongs to the thread of its transport.
#ifndef WHARF_KUBE_PROBE_H
#define WHARF_KUBE_PROBE_H

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/kube/transport.h"

enum contact {
    CONTACT_UNKNOWN, // no answer yet
    CONTACT_GOOD,
    CONTACT_SUSPECT, // requests time out or the last probe was not answered: no new work for it
    CONTACT_LOST     // nothing was heard for longer: as good as disconnected
};

#define PROBE_SILENCE_NS (10 * CLOCK_SECOND) // without a byte from the server: it is asked
#define PROBE_SUSPECT_NS (20 * CLOCK_SECOND) // since the last byte, with a question unanswered
#define PROBE_LOST_NS (45 * CLOCK_SECOND)

// Called on the probe's thread.
struct probe_handler {
    // The uid of namespace kube-system and its resourceVersion, each time they were read. `uid` "" where the server
    // does not let us read it (`problem` says why): then the identity is not known.
    void (*identity)(void *ctx, const char *uid, const char *version, const char *problem);
    // A change, with one sentence for SUSPECT and LOST.
    void (*contact)(void *ctx, enum contact contact, const char *problem);
    void *ctx;
};

struct probe;
// Does nothing until the first tick.
struct error *probe_new(struct transport *transport, const struct probe_handler *handler, struct probe **out);
void probe_free(struct probe *probe); // cancels; no handler is called any more

// Something came from the server, by whatever exchange.
void probe_heard(struct probe *probe, struct moment now);
// A request to the server got no answer within its time.
void probe_timed_out(struct probe *probe, struct moment now);
// A connection was lost: which cluster answers is asked again.
void probe_disconnected(struct probe *probe, struct moment now);

// Does what is due; the monotonic time of the next call that is needed.
int64_t probe_tick(struct probe *probe, struct moment now);

#endif
