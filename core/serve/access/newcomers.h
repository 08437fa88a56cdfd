// SPDX-License-Identifier: Apache-2.0
// Requests whose token is not known yet. Each invalid one costs the management cluster two reviews with the host's own
// credentials, so new tokens are reviewed by threads of their own, in the order of their arrival, as long as a budget
// for invalid ones lasts; beyond it they wait. There is one budget for all addresses, since those behind a NAT or the
// API server's service proxy share one. Requests with a known token, or without one, do not wait here.
#ifndef WHARF_SERVE_NEWCOMERS_H
#define WHARF_SERVE_NEWCOMERS_H

#include "core/base/clock.h"
#include "core/base/error.h"

#include <pthread.h>
#include <stdbool.h>

#define NEWCOMERS_BURST 20
#define NEWCOMERS_NS (CLOCK_SECOND / 10) // until one more invalid token is reviewed
#define NEWCOMERS_THREADS 2
#define NEWCOMERS_WAIT_NS (10 * CLOCK_SECOND) // the longest wait for a review

struct web_call;
struct tasks;

struct newcomers {
    struct tasks *tasks;
    pthread_mutex_t lock;
    int64_t full_ns; // when the whole burst is available again
};
struct error *newcomers_init(struct newcomers *newcomers);
void newcomers_destroy(struct newcomers *newcomers); // after tasks_drain; zero-initialised is fine

// Whether the token of the call must be reviewed before anything else is done for it. On the server's thread.
bool newcomers_concern(struct web_call *call);

// Takes a suspended call: it is answered, or begins again once its token is known. False: it does neither.
bool newcomers_add(struct newcomers *newcomers, struct web_call *call);

#endif
