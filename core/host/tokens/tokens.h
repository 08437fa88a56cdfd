// SPDX-License-Identifier: Apache-2.0
// Bearer tokens of workers: the times of issue and expiry that a token contains (RFC 7519; not verified), and the
// renewal of the tokens in workers' Secrets: a TokenRequest to the worker with the expiring token, on a thread of its
// own, then a patch of the Secret. Renewals run on the management cluster's thread.
#pragma once

#include "core/base/clock.h"
#include "core/json/json.h"

struct client;
struct exec_policy;
struct worker_spec;

struct token_life {
    int64_t issued_wall_ns, expires_wall_ns;
};

// False: not a JWT, or without exp. Without iat, a token counts as issued an hour before its expiry.
bool token_life_read(const char *token, struct token_life *out); // NULL: false

// The claims of a token, json_free(). False: not a JWT.
bool token_claims_read(const char *token, struct json **out);

// When to request the next token: at 80 % of the lifetime.
int64_t token_life_renew_at(const struct token_life *life);

struct renewals;
// Another thread calls `wake` when renewals_tick has work. `trouble`: a renewal of the Secret "namespace/name" has
// failed; a retry follows.
struct renewals_options {
    void (*wake)(void *ctx);
    void (*trouble)(void *ctx, const char *key, const char *problem);
    struct gate *gate; // no renewals while closed; NULL: always open
    void *ctx;
};
struct error *renewals_new(const struct renewals_options *options, struct renewals **out);
void renewals_free(struct renewals *renewals); // NULL is allowed

// The newest version of a worker's Secret. Does nothing for a Secret without the annotation or with a token that does
// not expire. ERROR_INVALID: the annotation is wrong.
struct error *renewals_see(struct renewals *renewals, const char *key, const struct json *secret,
                           const struct worker_spec *spec, const struct token_life *life,
                           const struct exec_policy *policy);
void renewals_forget(struct renewals *renewals, const char *key);

// Performs the due work; returns the monotonic time of the next call needed.
// `management` belongs to the caller, and stays the same until renewals_stop.
int64_t renewals_tick(struct renewals *renewals, struct client *management, struct moment now);
// The client is about to be freed.
void renewals_stop(struct renewals *renewals);
