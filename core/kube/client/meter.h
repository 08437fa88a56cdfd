// SPDX-License-Identifier: Apache-2.0
// Counters of one cluster's thread, for metrics: written on that thread, read from any. The meter outlives its clients
// and reflectors.
#pragma once

#include "core/base/clock.h"
#include "core/base/histogram.h"
#include "core/kube/client/types.h"

#include <stdatomic.h>

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
enum meter_verb meter_verb(enum verb verb);
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
