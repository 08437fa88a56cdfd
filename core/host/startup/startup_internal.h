// SPDX-License-Identifier: Apache-2.0
// Shared by startup.c (the origin and the common part) and startup_seal.c (the seal keys).
#pragma once

#include "core/base/log.h"
#include "core/host/startup/seal_source.h"
#include "core/host/startup/startup.h"

#include <pthread.h>
#include <stdatomic.h>

#define STARTUP_RETRY_NS (2 * CLOCK_SECOND)
#define STARTUP_RETRY_SLOW_NS (30 * CLOCK_SECOND) // where an operator has to act first

// A request, retried until the answer.
struct question {
    bool settled; // answered, or not needed
    bool asked;   // in flight
    int64_t at_ns;
    char *cause; // of the last failure, as logged
};

struct startup {
    const struct config *config;
    void (*over)(void *ctx);
    void *ctx;
    const struct cluster_connection *connection; // of the management cluster, as in the last tick
    struct client *client;
    struct question origin, seal;
    char *origin_name;
    struct sealing sealing;
    atomic_bool done; // the fields above are then read-only
    pthread_mutex_t mutex;
    char *problem; // under `mutex`
};

// The answer is known, or never will be.
void startup_settle(struct startup *startup, struct question *question);
// Retries later; logs the cause unless equal to the last one.
void startup_retry(struct startup *startup, struct question *question, int64_t after_ns, enum log_level level,
                   const char *message, const char *cause);

// Reads the key file, or decides that no request is needed.
struct error *startup_seal_begin(struct startup *startup);
struct error *startup_seal_ask(struct startup *startup); // submits the request
