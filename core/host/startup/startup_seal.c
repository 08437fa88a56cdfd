// SPDX-License-Identifier: Apache-2.0
// Seal keys in a Secret of the management cluster: read at startup, created if missing. The engine starts afterwards.
#include "core/base/text.h"
#include "core/host/startup/seal_source.h"
#include "core/host/startup/startup_internal.h"

#include <stdlib.h>
#include <string.h>

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

static void settle(struct startup *startup) {
    report_adoption(startup);
    startup_settle(startup, &startup->seal);
}

// `said`: the error of the server or of the Secret's content.
static void retry(struct startup *startup, int64_t after_ns, enum log_level level, const char *message,
                  const char *said) {
    AUTO_TEXT cause =
        text_format("%s/%s: %s", secret_namespace(startup), seal_secret_name(startup->config), said ? said : "");
    startup_retry(startup, &startup->seal, after_ns, level, message, cause);
}

static void report_seal(struct startup *startup, enum log_level level, const char *message, const char *error) {
    log_fields(level, message, {"cluster", "management"}, {"namespace", secret_namespace(startup)},
               {"name", seal_secret_name(startup->config)}, {"error", error});
}

static void use_secret(struct startup *startup, const struct json *secret) {
    struct error *error = seal_secret_load(secret, secret_key(startup), &startup->sealing);
    if (error)
        retry(startup, STARTUP_RETRY_SLOW_NS, LOG_ERROR,
              "the Secret with the seal keys cannot be used, and the host does not start without it",
              error_text(error));
    else
        settle(startup);
    error_free(error);
}

// Only an operator can fix a denial.
static void denied(struct startup *startup, const struct response *response) {
    if (seal_source_of(startup->config) == SEAL_FROM_DEFAULT_SECRET) {
        report_seal(startup, LOG_WARN,
                    "mirrors are not sealed: the host may not read or create its Secret; apply the role in "
                    "rbac-management.yaml (docs/security.md explains seals)",
                    response->message);
        settle(startup);
        return;
    }
    retry(startup, STARTUP_RETRY_SLOW_NS, LOG_ERROR,
          "the Secret with the seal keys cannot be read or created, and the host does not start without it",
          response->message);
}

static void failed(struct startup *startup, const struct response *response) {
    retry(startup, STARTUP_RETRY_NS, LOG_WARN, "the Secret with the seal keys cannot be read yet", response->message);
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

static struct error *submit(struct startup *startup, enum verb verb, const char *body, response_handler handler) {
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
    struct error *error = body ? submit(startup, VERB_CREATE, body, on_made) : error_no_memory();
    if (error)
        retry(startup, STARTUP_RETRY_NS, LOG_WARN, "the Secret with the seal keys cannot be created yet",
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

struct error *startup_seal_ask(struct startup *startup) {
    return submit(startup, VERB_GET, NULL, on_read);
}

struct error *startup_seal_begin(struct startup *startup) {
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
