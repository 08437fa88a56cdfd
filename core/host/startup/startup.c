// SPDX-License-Identifier: Apache-2.0
#include "core/host/startup/startup.h"

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/startup/seal_source.h"
#include "core/kube/api/requests.h"

#include <pthread.h>
#include <stdatomic.h>

#define RETRY_NS (2 * CLOCK_SECOND)
#define RETRY_SLOW_NS (30 * CLOCK_SECOND) // where an operator has to act first

// A request, retried until the answer.
struct question {
    atomic_bool settled; // answered, or not needed
    bool asked;          // in flight
    int64_t at_ns;
    char *cause; // of the last failure, as logged; under startup.mutex
};

struct startup {
    const struct config *config;
    void (*over)(void *ctx);
    void *ctx;
    const struct cluster_connection *connection; // of the management cluster, as in the last tick
    struct client *client;
    struct question origin, seal; // with both settled, the fields above and below are read-only
    char *origin_name;
    struct sealing sealing;
    pthread_mutex_t mutex;
};

// The answer is known, or never will be.
static void settle(struct startup *startup, struct question *question) {
    question->settled = true;
    question->asked = false;
    if (startup_is_over(startup))
        startup->over(startup->ctx);
}

// Retries later; logs the cause unless equal to the last one.
static void retry(struct startup *startup, struct question *question, int64_t after_ns, enum log_level level,
                  const char *message, const char *cause) {
    question->asked = false;
    question->at_ns = clock_now().mono_ns + after_ns;
    AUTO_TEXT text = text_format("%s%s%s", message, cause ? ": " : "", cause ? cause : "");
    if (!text || text_equal(text, question->cause))
        return;
    log_fields(level, message, {"cluster", "management"}, {"error", cause});
    AUTO_LOCK(&startup->mutex);
    (void)text_set(&question->cause, text);
}

// The origin ------------------------------------------------------------------------------------------------------

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
        settle(startup, &startup->origin);
    else
        retry(startup, &startup->origin, RETRY_NS, LOG_WARN, origin_trouble(response->reason), response->message);
}

static struct error *ask_origin(struct startup *startup) {
    struct request request = cluster_id_request();
    return client_submit(startup->client, &request, on_namespace, startup, NULL);
}

// The seal keys in a Secret: read at startup, created if missing ---------------------------------------------------

static const char *secret_key(const struct startup *startup) {
    return startup->config->seal.secret_key ? startup->config->seal.secret_key : SEAL_SECRET_KEY;
}

static const char *secret_namespace(const struct startup *startup) {
    return seal_secret_namespace(startup->config, startup->connection->endpoint->namespace_);
}

static void report_adoption(const struct startup *startup) {
    char until[CLOCK_RFC3339_MAX];
    clock_rfc3339(startup->sealing.adopt_until_wall_ns, until);
    if (startup->sealing.adopt_until_wall_ns > clock_now().wall_ns && !startup->config->seal.adopt_unsealed)
        log_fields(LOG_INFO,
                   "mirrors without a seal, from before there was a key, are adopted; after that time a start with "
                   "seal.adoptUnsealed: true does it",
                   {"until", until});
}

static void settle_seal(struct startup *startup) {
    report_adoption(startup);
    settle(startup, &startup->seal);
}

// `said`: the error of the server or of the Secret's content.
static void retry_seal(struct startup *startup, int64_t after_ns, enum log_level level, const char *message,
                       const char *said) {
    AUTO_TEXT cause =
        text_format("%s/%s: %s", secret_namespace(startup), seal_secret_name(startup->config), said ? said : "");
    retry(startup, &startup->seal, after_ns, level, message, cause);
}

static void report_seal(struct startup *startup, enum log_level level, const char *message, const char *error) {
    log_fields(level, message, {"cluster", "management"}, {"namespace", secret_namespace(startup)},
               {"name", seal_secret_name(startup->config)}, {"error", error});
}

static void use_secret(struct startup *startup, const struct json *secret) {
    struct error *error = seal_secret_load(secret, secret_key(startup), &startup->sealing);
    if (error)
        retry_seal(startup, RETRY_SLOW_NS, LOG_ERROR,
                   "the Secret with the seal keys cannot be used, and the host does not start without it",
                   error_text(error));
    else
        settle_seal(startup);
    error_free(error);
}

// Only an operator can fix a denial.
static void denied(struct startup *startup, const struct response *response) {
    if (seal_source_of(startup->config) == SEAL_FROM_DEFAULT_SECRET) {
        report_seal(startup, LOG_WARN,
                    "mirrors are not sealed: the host may not read or create its Secret; apply the role in "
                    "rbac-management.yaml (docs/security.md explains seals)",
                    response->message);
        settle_seal(startup);
        return;
    }
    retry_seal(startup, RETRY_SLOW_NS, LOG_ERROR,
               "the Secret with the seal keys cannot be read or created, and the host does not start without it",
               response->message);
}

static void failed(struct startup *startup, const struct response *response) {
    retry_seal(startup, RETRY_NS, LOG_WARN, "the Secret with the seal keys cannot be read yet", response->message);
}

static void on_made(void *ctx, struct response *response) {
    struct startup *startup = ctx;
    switch (response->reason) {
    case REASON_OK:
        report_seal(startup, LOG_INFO, "created a Secret with a new seal key", NULL);
        use_secret(startup, response->object ? response->object->value : NULL);
        break;
    case REASON_ALREADY_EXISTS: // another host created the Secret meanwhile
        startup->seal.asked = false;
        startup->seal.at_ns = clock_now().mono_ns;
        break;
    case REASON_FORBIDDEN:
    case REASON_QUOTA:
    case REASON_INVALID:
    case REASON_BAD_REQUEST:
    case REASON_NAMESPACE_NOT_FOUND:
    case REASON_NAMESPACE_TERMINATING:
        denied(startup, response);
        break;
    default:
        failed(startup, response);
    }
}

static struct error *send_secret(struct startup *startup, enum verb verb, const char *body, response_handler handler) {
    struct request request = {.verb = verb,
                              .resource = {.group = "", .version = "v1", .plural = "secrets"},
                              .namespace_ = secret_namespace(startup),
                              .name = seal_secret_name(startup->config),
                              .body = body,
                              .body_len = body ? strlen(body) : 0};
    return client_submit(startup->client, &request, handler, startup, NULL);
}

static void make_secret(struct startup *startup) {
    AUTO_TEXT body =
        seal_secret_make(secret_namespace(startup), seal_secret_name(startup->config), secret_key(startup));
    struct error *error = body ? send_secret(startup, VERB_CREATE, body, on_made) : error_no_memory();
    if (error)
        retry_seal(startup, RETRY_NS, LOG_WARN, "the Secret with the seal keys cannot be created yet",
                   error_text(error));
    error_free(error);
}

static void on_read(void *ctx, struct response *response) {
    struct startup *startup = ctx;
    if (response->reason == REASON_OK && response->object)
        use_secret(startup, response->object->value);
    else if (response->reason == REASON_NOT_FOUND)
        make_secret(startup);
    else if (response->reason == REASON_FORBIDDEN)
        denied(startup, response);
    else
        failed(startup, response);
}

static struct error *ask_seal(struct startup *startup) {
    return send_secret(startup, VERB_GET, NULL, on_read);
}

static struct error *begin_seal(struct startup *startup) {
    struct error *error = NULL;
    switch (seal_source_of(startup->config)) {
    case SEAL_FROM_SECRET:
    case SEAL_FROM_DEFAULT_SECRET:
        return NULL;
    case SEAL_FROM_FILE:
        startup->seal.settled = true;
        error = seal_file_load(startup->config->seal.file, true, &startup->sealing);
        report_adoption(startup);
        return error_wrap(error, "seal.file");
    case SEAL_FROM_NOTHING:
        break;
    }
    log_plain(LOG_WARN,
              "mirrors are not sealed: the configuration has no key; set seal (docs/security.md explains it)");
    startup->seal.settled = true;
    return NULL;
}

// Startup ---------------------------------------------------------------------------------------------------------

struct error *startup_new(const struct config *config, void (*over)(void *ctx), void *ctx, struct startup **out) {
    struct startup *startup = calloc(1, sizeof *startup);
    if (!startup)
        return error_no_memory();
    *startup = (struct startup){.config = config, .over = over, .ctx = ctx};
    pthread_mutex_init(&startup->mutex, NULL);
    startup->origin.settled = config->origin;
    struct error *error = text_set(&startup->origin_name, config->origin) ? begin_seal(startup) : error_no_memory();
    if (error) {
        startup_free(startup);
        return error;
    }
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
    free(startup);
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
    question->at_ns = now.mono_ns + RETRY_NS;
    error_free(error);
}

static int64_t earlier(const struct question *question, int64_t at_ns) {
    return question->settled || question->asked ? at_ns : clock_earlier(at_ns, question->at_ns);
}

int64_t startup_tick(struct startup *startup, const struct cluster_connection *connection, struct moment now) {
    if (startup_is_over(startup)) {
        startup_stop(startup);
        return CLOCK_NEVER;
    }
    startup->connection = connection;
    ask(startup, &startup->origin, ask_origin, now);
    ask(startup, &startup->seal, ask_seal, now);
    int64_t next_ns = startup->client ? client_tick(startup->client, now) : CLOCK_NEVER;
    return earlier(&startup->origin, earlier(&startup->seal, next_ns));
}

void startup_stop(struct startup *startup) {
    client_free(startup->client);
    startup->client = NULL;
}

bool startup_is_over(const struct startup *startup) {
    return startup->origin.settled && startup->seal.settled;
}

char *startup_problem(struct startup *startup) {
    AUTO_LOCK(&startup->mutex);
    bool first = startup->origin.cause && !startup->origin.settled;
    const struct question *question = first ? &startup->origin : &startup->seal;
    return question->cause && !question->settled ? strdup(question->cause) : NULL;
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
