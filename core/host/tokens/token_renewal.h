// SPDX-License-Identifier: Apache-2.0
// Renews the tokens in workers' Secrets: a TokenRequest to the worker with the expiring token, on a thread of its own,
// then a patch of the Secret. On the management cluster's thread.
#pragma once

#include "core/host/io/cluster_connection.h"
#include "core/host/sources/worker_objects.h"

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
int64_t renewals_tick(struct renewals *renewals, const struct cluster_connection *management, struct moment now);
// The connection is about to close.
void renewals_stop(struct renewals *renewals);
