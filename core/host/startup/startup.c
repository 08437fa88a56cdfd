// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/startup/startup_internal.h"
#include "core/kube/api/requests.h"

#include <stdlib.h>
#include <string.h>

struct error *startup_new(const struct config *config, void (*over)(void *ctx), void *ctx, struct startup **out) {
    struct startup *startup = calloc(1, sizeof *startup);
    if (!startup)
        return error_no_memory();
    *startup = (struct startup){.config = config, .over = over, .ctx = ctx};
    pthread_mutex_init(&startup->mutex, NULL);
    struct error *error = NULL;
    startup->origin.settled = config->origin;
    if (config->origin && !(startup->origin_name = strdup(config->origin)))
        error = error_no_memory();
    if (!error)
        error = startup_seal_begin(startup);
    if (error) {
        startup_free(startup);
        return error;
    }
    atomic_store(&startup->done, startup->origin.settled && startup->seal.settled);
    *out = startup;
    return NULL;
}

void startup_free(struct startup *startup) {
    if (!startup)
        return;
    pthread_mutex_destroy(&startup->mutex);
    seal_keys_free(startup->sealing.keys);
    free(startup->origin_name);
    free(startup->origin.cause);
    free(startup->seal.cause);
    free(startup->problem);
    free(startup);
}

static void set_problem(struct startup *startup, char *problem) {
    AUTO_LOCK(&startup->mutex);
    free(startup->problem);
    startup->problem = problem;
}

void startup_settle(struct startup *startup, struct question *question) {
    const struct question *other = question == &startup->origin ? &startup->seal : &startup->origin;
    question->settled = true;
    question->asked = false;
    set_problem(startup, other->settled || !other->cause ? NULL : strdup(other->cause));
    if (!startup->origin.settled || !startup->seal.settled)
        return;
    atomic_store(&startup->done, true);
    startup->over(startup->ctx);
}

void startup_retry(struct startup *startup, struct question *question, int64_t after_ns, enum log_level level,
                   const char *message, const char *cause) {
    question->asked = false;
    question->at_ns = clock_now().mono_ns + after_ns;
    char *text = text_format("%s%s%s", message, cause ? ": " : "", cause ? cause : "");
    if (text && !text_equal(text, question->cause)) {
        log_fields(level, message, {"cluster", "management"}, {"error", cause});
        free(question->cause);
        question->cause = strdup(text);
    }
    set_problem(startup, text);
}

// Advises to set origin only where that would help.
static const char *origin_trouble(enum reason reason) {
    switch (reason) {
    case REASON_NOT_SENT:
    case REASON_UNKNOWN_OUTCOME:
        return "the API server cannot be reached";
    case REASON_UNAUTHORIZED:
        return "the API server rejects the credentials";
    case REASON_OK:
    case REASON_FORBIDDEN:
    case REASON_NOT_FOUND:
        return "origin cannot be derived from the uid of namespace kube-system; allow the host to get that namespace, "
               "or set origin in the configuration";
    default:
        return "the uid of namespace kube-system, which identifies the cluster, cannot be read";
    }
}

static void on_namespace(void *ctx, struct response *response) {
    struct startup *startup = ctx;
    const char *uid = cluster_id_uid(response);
    startup->origin_name = *uid ? strdup(uid) : NULL;
    if (startup->origin_name)
        startup_settle(startup, &startup->origin);
    else
        startup_retry(startup, &startup->origin, STARTUP_RETRY_NS, LOG_WARN, origin_trouble(response->reason),
                      response->message);
}

static struct error *ask_origin(struct startup *startup) {
    struct request request = cluster_id_request();
    return client_submit(startup->client, &request, on_namespace, startup, NULL);
}

static void ask(struct startup *startup, struct question *question, struct error *(*submit)(struct startup *startup),
                struct moment now) {
    if (question->settled || question->asked || now.mono_ns < question->at_ns)
        return;
    struct error *error = NULL;
    if (!startup->client)
        error = connection_client(startup->connection, "management", &startup->client);
    if (!error)
        error = submit(startup);
    question->asked = !error;
    question->at_ns = now.mono_ns + STARTUP_RETRY_NS;
    error_free(error);
}

static int64_t earlier(const struct question *question, int64_t at_ns) {
    return question->settled || question->asked ? at_ns : clock_earlier(at_ns, question->at_ns);
}

int64_t startup_tick(struct startup *startup, const struct cluster_connection *connection, struct moment now) {
    if (atomic_load(&startup->done)) {
        startup_stop(startup);
        return CLOCK_NEVER;
    }
    startup->connection = connection;
    ask(startup, &startup->origin, ask_origin, now);
    ask(startup, &startup->seal, startup_seal_ask, now);
    int64_t next_ns = startup->client ? client_tick(startup->client, now) : CLOCK_NEVER;
    return earlier(&startup->origin, earlier(&startup->seal, next_ns));
}

void startup_stop(struct startup *startup) {
    client_free(startup->client);
    startup->client = NULL;
}

bool startup_is_over(struct startup *startup) {
    return atomic_load(&startup->done);
}

char *startup_problem(struct startup *startup) {
    AUTO_LOCK(&startup->mutex);
    return startup->problem ? strdup(startup->problem) : NULL;
}

const char *startup_origin(const struct startup *startup) {
    return startup->origin_name;
}

const struct seal_keys *startup_seals(const struct startup *startup) {
    return startup->sealing.keys;
}

int64_t startup_adopt_until_ns(const struct startup *startup) {
    if (startup->config->seal.adopt_unsealed)
        return CLOCK_NEVER;
    struct moment now = clock_now();
    int64_t left_ns = startup->sealing.adopt_until_wall_ns - now.wall_ns;
    return left_ns > 0 ? now.mono_ns + left_ns : 0;
}
