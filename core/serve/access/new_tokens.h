// SPDX-License-Identifier: Apache-2.0
// Requests with a token that is not known yet. Each invalid one costs the management cluster two reviews with the
// host's own credentials, so a few at a time are reviewed, in the order of their arrival, as long as a budget for
// invalid tokens lasts; beyond the budget they wait. There is one budget for all addresses, since clients behind a NAT
// or the API server's service proxy share one. Requests with a known token, or without one, do not wait here.
#pragma once

#include "core/base/clock.h"
#include "core/serve/http/net.h"

#define NEW_TOKENS_BURST 20
#define NEW_TOKENS_NS (CLOCK_SECOND / 10) // until one more invalid token is reviewed
#define NEW_TOKENS_AT_ONCE 2
#define NEW_TOKENS_WAIT_NS (10 * CLOCK_SECOND) // the longest wait for a review

struct web_call;

struct new_tokens {
    struct turnstile turnstile;
    pthread_mutex_t lock;
    int64_t full_ns; // when the whole burst is available again
};
void new_tokens_init(struct new_tokens *tokens);
void new_tokens_destroy(struct new_tokens *tokens);

// Reviews the token of the call, unless the call needs none or the token is known. False: the call was answered.
bool new_tokens_admit(struct web_call *call);
