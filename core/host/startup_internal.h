// SPDX-License-Identifier: Apache-2.0
// What startup.c (the origin, and what is common) and startup_seal.c (the keys of seals) share.
#ifndef WHARF_HOST_STARTUP_INTERNAL_H
#define WHARF_HOST_STARTUP_INTERNAL_H

#include "core/base/log.h"
#include "core/host/startup.h"

#include <pthread.h>
#include <stdatomic.h>

#define STARTUP_RETRY_NS (2 * CLOCK_SECOND)
#define STARTUP_RETRY_SLOW_NS (30 * CLOCK_SECOND) // where somebody has to do something first

// Something that is asked until it is answered.
struct question {
    bool settled; // nothing is left to ask
    bool asked;   // and not answered
    int64_t at_ns;
    char *cause; // why it is not answered, as logged last
};

struct startup {
    const struct config *config;
    void (*over)(void *ctx);
    void *ctx;
    const struct connection *connection; // of the management cluster, as in the last tick
    struct client *client;
    struct question origin, seal;
    char *origin_name;
    struct seal_keys *seals;
    atomic_bool done; // what comes before is not changed any more
    pthread_mutex_t mutex;
    char *problem; // under `mutex`
};

// It is known, or will not be.
void startup_settle(struct startup *startup, struct question *question);
// Asked again later, for a cause that is logged unless it is the same as the last time.
void startup_retry(struct startup *startup, struct question *question, int64_t after_ns, enum log_level level,
                   const char *message, const char *cause);

// Reads the file, or finds that there is nothing to ask.
struct error *startup_seal_begin(struct startup *startup);
struct error *startup_seal_ask(struct startup *startup); // submits the question

#endif
