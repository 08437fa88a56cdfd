// SPDX-License-Identifier: Apache-2.0
// The keys of seals at start, when they are in a Secret of the management cluster: it is read, and made where there is
// none. Until that is settled, nothing else begins.
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/host/host_internal.h"
#include "core/host/seal_source.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_NS (2 * CLOCK_SECOND)
#define RETRY_SLOW_NS (30 * CLOCK_SECOND) // where somebody has to do something first

static const char *secret_key(const struct host *host) {
    return host->config->seal.secret_key ? host->config->seal.secret_key : SEAL_SECRET_KEY;
}

static const char *secret_namespace(const struct host_cluster *cluster) {
    return seal_secret_namespace(cluster->host->config, cluster->endpoint->namespace_);
}

static void settle(struct host *host, struct seal_keys *keys) {
    pthread_mutex_lock(&host->snapshot_mutex);
    host->seals = keys;
    host->seals_settled = true;
    pthread_mutex_unlock(&host->snapshot_mutex);
    inbox_poke(host->inbox);
}

bool host_seal_is_settled(struct host *host) {
    pthread_mutex_lock(&host->snapshot_mutex);
    bool settled = host->seals_settled;
    pthread_mutex_unlock(&host->snapshot_mutex);
    return settled;
}

static void retry(struct host_cluster *cluster, int64_t after_ns) {
    cluster->seal_asked = false;
    cluster->seal_at_ns = clock_now().mono_ns + after_ns;
}

static void tell(struct host_cluster *cluster, enum log_level level, const char *message, const char *error) {
    log_fields(level, message, {"cluster", cluster->name}, {"namespace", secret_namespace(cluster)},
               {"name", seal_secret_name(cluster->host->config)}, {"error", error});
}

static void use(struct host_cluster *cluster, const struct json *secret) {
    struct seal_keys *keys = NULL;
    struct error *error = seal_secret_load(secret, secret_key(cluster->host), &keys);
    if (error) {
        tell(cluster, LOG_ERROR, "the Secret with the keys of seals cannot be used, and nothing begins without it",
             error_text(error));
        retry(cluster, RETRY_SLOW_NS);
    } else {
        settle(cluster->host, keys);
    }
    error_free(error);
}

// Nobody but a person can do something about it.
static void denied(struct host_cluster *cluster, const struct response *response) {
    if (seal_source_of(cluster->host->config) == SEAL_FROM_DEFAULT_SECRET) {
        tell(cluster, LOG_WARN,
             "mirrors are not sealed: the host may not read or make its Secret. A role for it is in "
             "rbac-management.yaml; docs/security.md says what a seal is for",
             response->message);
        settle(cluster->host, NULL);
        return;
    }
    tell(cluster, LOG_ERROR, "the Secret with the keys of seals cannot be read or made, and nothing begins without it",
         response->message);
    retry(cluster, RETRY_SLOW_NS);
}

static void failed(struct host_cluster *cluster, const struct response *response) {
    tell(cluster, LOG_WARN, "the Secret with the keys of seals cannot be read now", response->message);
    retry(cluster, RETRY_NS);
}

static void on_made(void *ctx, struct response *response) {
    struct host_cluster *cluster = ctx;
    switch (response->reason) {
    case REASON_OK:
        tell(cluster, LOG_INFO, "made a Secret with a new key for seals", NULL);
        use(cluster, response->object ? response->object->value : NULL);
        break;
    case REASON_ALREADY_EXISTS:
        retry(cluster, 0);
        break;
    case REASON_FORBIDDEN:
    case REASON_QUOTA:
    case REASON_INVALID:
    case REASON_BAD_REQUEST:
    case REASON_NAMESPACE_NOT_FOUND:
    case REASON_NAMESPACE_TERMINATING:
        denied(cluster, response);
        break;
    default:
        failed(cluster, response);
    }
}

static struct error *submit(struct host_cluster *cluster, enum verb verb, const char *body, response_handler handler) {
    struct request request = {.verb = verb,
                              .resource = {.group = "", .version = "v1", .plural = "secrets"},
                              .namespace_ = secret_namespace(cluster),
                              .name = seal_secret_name(cluster->host->config),
                              .body = body,
                              .body_len = body ? strlen(body) : 0};
    return client_submit(cluster->seal_client, &request, handler, cluster, NULL);
}

static void make(struct host_cluster *cluster) {
    AUTO_TEXT body =
        seal_secret_make(secret_namespace(cluster), seal_secret_name(cluster->host->config), secret_key(cluster->host));
    struct error *error = body ? submit(cluster, VERB_CREATE, body, on_made) : error_no_memory();
    if (error)
        retry(cluster, RETRY_NS);
    error_free(error);
}

static void on_read(void *ctx, struct response *response) {
    struct host_cluster *cluster = ctx;
    if (response->reason == REASON_OK && response->object)
        use(cluster, response->object->value);
    else if (response->reason == REASON_NOT_FOUND)
        make(cluster);
    else if (response->reason == REASON_FORBIDDEN)
        denied(cluster, response);
    else
        failed(cluster, response);
}

static void ask(struct host_cluster *cluster, struct moment now) {
    struct error *error = NULL;
    if (!cluster->seal_client)
        error = client_new(&(struct client_options){.cluster = cluster->name, .transport = cluster->transport}, now,
                           &cluster->seal_client);
    if (!error)
        error = submit(cluster, VERB_GET, NULL, on_read);
    cluster->seal_asked = !error;
    cluster->seal_at_ns = now.mono_ns + RETRY_NS;
    error_free(error);
}

struct error *host_seal_begin(struct host *host) {
    switch (seal_source_of(host->config)) {
    case SEAL_FROM_SECRET:
    case SEAL_FROM_DEFAULT_SECRET:
        return NULL; // asked for on the cluster's thread
    case SEAL_FROM_FILE:
        host->seals_settled = true;
        return error_wrap(seal_file_load(host->config->seal.file, true, &host->seals), "seal.file");
    case SEAL_FROM_NOTHING:
        break;
    }
    log_plain(LOG_WARN,
              "mirrors are not sealed: the configuration has no key (seal); docs/security.md says what it is for");
    host->seals_settled = true;
    return NULL;
}

int64_t host_seal_tick(struct host_cluster *cluster, struct moment now) {
    if (cluster->index != ENGINE_MANAGEMENT || cluster->link || host_seal_is_settled(cluster->host))
        return CLOCK_NEVER;
    if (!cluster->seal_asked && now.mono_ns >= cluster->seal_at_ns)
        ask(cluster, now);
    int64_t next_ns = cluster->seal_client ? client_tick(cluster->seal_client, now) : CLOCK_NEVER;
    return cluster->seal_asked || next_ns < cluster->seal_at_ns ? next_ns : cluster->seal_at_ns;
}

void host_seal_stop(struct host_cluster *cluster) {
    client_free(cluster->seal_client);
    cluster->seal_client = NULL;
}
