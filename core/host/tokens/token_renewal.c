// SPDX-License-Identifier: Apache-2.0
#include "core/host/tokens/token_renewal.h"

#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/tokens/token_job.h"
#include "core/kube/client/client.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS (10 * CLOCK_MINUTE) // at most, as the wall clock may be set
#define RETRY_FIRST_NS (30 * CLOCK_SECOND)
#define RETRY_MAX_NS (10 * CLOCK_MINUTE)
#define STANDBY_NS (10 * CLOCK_SECOND)
#define LIFE_MIN_S 600              // of a TokenRequest
#define LEAST_NS (2 * CLOCK_MINUTE) // between renewals, for tokens of any lifetime

struct renewal {
    struct renewals *all;
    char *key; // "wharf-system/w1"
    char *secret_namespace, *secret_name, *version;
    char *account_namespace, *account;
    char *kubeconfig, *context;
    struct exec_policy *policy;
    struct token_life life;
    int64_t retry_ns, wait_ns; // after a failure; 0: none
    int64_t begun_ns;          // the last one of this Secret, also of a former version; 0: none
    struct token_job *job;     // the TokenRequest is in flight
    uint64_t request;          // the patch is in flight; 0: neither
    bool patched;              // and accepted: the watch will show the change
};

struct renewals {
    struct renewals_options options;
    struct map list; // struct renewal by key
    struct client *client;
};

static void renewal_free(struct renewal *renewal) {
    if (!renewal)
        return;
    if (renewal->request && renewal->all->client)
        client_cancel(renewal->all->client, renewal->request);
    token_job_leave(renewal->job);
    exec_policy_free(renewal->policy);
    char *const texts[] = {renewal->key,     renewal->secret_namespace,  renewal->secret_name,
                           renewal->version, renewal->account_namespace, renewal->account,
                           renewal->context, renewal->kubeconfig};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    free(renewal);
}

struct error *renewals_new(const struct renewals_options *options, struct renewals **out) {
    *out = calloc(1, sizeof **out);
    if (!*out)
        return error_no_memory();
    (*out)->options = *options;
    map_init(&(*out)->list, random_system());
    return NULL;
}

void renewals_stop(struct renewals *renewals) {
    size_t cursor = 0;
    struct renewal *renewal;
    while ((renewal = map_next(&renewals->list, &cursor)))
        renewal->request = 0;
    client_free(renewals->client);
    renewals->client = NULL;
}

void renewals_free(struct renewals *renewals) {
    if (!renewals)
        return;
    renewals_stop(renewals);
    size_t cursor = 0;
    struct renewal *renewal;
    while ((renewal = map_next(&renewals->list, &cursor)))
        renewal_free(renewal);
    map_free(&renewals->list);
    free(renewals);
}

void renewals_forget(struct renewals *renewals, const char *key) {
    renewal_free(map_remove(&renewals->list, key));
}

static bool fill_renewal(struct renewal *renewal, const char *key, const struct json *secret,
                         const struct worker_spec *spec, const struct exec_policy *policy) {
    return text_set(&renewal->key, key) && text_set(&renewal->secret_namespace, object_namespace(secret)) &&
           text_set(&renewal->secret_name, object_name(secret)) &&
           text_set(&renewal->version, object_version(secret)) &&
           text_set(&renewal->kubeconfig, spec->kubeconfig_text) &&
           text_set(&renewal->context, spec->context ? spec->context : "") &&
           exec_policy_copy(policy, &renewal->policy);
}

struct error *renewals_see(struct renewals *renewals, const char *key, const struct json *secret,
                           const struct worker_spec *spec, const struct token_life *life,
                           const struct exec_policy *policy) {
    AUTO_TEXT namespace_ = NULL;
    AUTO_TEXT account = NULL;
    const struct renewal *former = map_get(&renewals->list, key);
    int64_t begun_ns = former ? former->begun_ns : 0;
    renewals_forget(renewals, key);
    struct error *error = worker_secret_account(secret, &namespace_, &account);
    if (error && error->code == ERROR_NOT_FOUND) {
        error_free(error);
        return NULL;
    }
    if (error || life->expires_wall_ns == 0)
        return error;
    struct renewal *renewal = calloc(1, sizeof *renewal);
    if (!renewal)
        return error_no_memory();
    *renewal = (struct renewal){.all = renewals,
                                .account_namespace = TAKE(namespace_),
                                .account = TAKE(account),
                                .life = *life,
                                .retry_ns = begun_ns > 0 ? begun_ns + LEAST_NS : 0,
                                .begun_ns = begun_ns};
    if (fill_renewal(renewal, key, secret, spec, policy) && map_put(&renewals->list, renewal->key, renewal))
        return NULL;
    renewal_free(renewal);
    return error_no_memory();
}

static void report_failure(struct renewal *renewal, const char *problem) {
    int64_t wait_ns = renewal->wait_ns > 0 ? 2 * renewal->wait_ns : RETRY_FIRST_NS;
    renewal->wait_ns = clock_earlier(wait_ns, RETRY_MAX_NS);
    renewal->retry_ns = clock_now().mono_ns + renewal->wait_ns;
    AUTO_TEXT text = text_format("its token cannot be renewed: %s", problem);
    char expires[CLOCK_RFC3339_MAX];
    clock_rfc3339(renewal->life.expires_wall_ns, expires);
    log_fields(LOG_WARN, "token of a worker cannot be renewed", {"secret", renewal->key}, {"expires", expires},
               {"error", problem});
    renewal->all->options.trouble(renewal->all->options.ctx, renewal->key, text);
}

static void on_patched(void *ctx, struct response *response) {
    struct renewal *renewal = ctx;
    renewal->request = 0;
    if (response->reason == REASON_OK) {
        renewal->patched = true;
        log_fields(LOG_INFO, "token of a worker renewed", {"secret", renewal->key});
        return;
    }
    AUTO_TEXT problem = text_format("patch of the Secret: %s", response->message);
    report_failure(renewal, problem ? problem : reason_text(response->reason));
}

// {"metadata": {"resourceVersion": ...}, "data": {"kubeconfig": ...}}
static char *patch_body(const struct renewal *renewal, const char *kubeconfig) {
    size_t len = strlen(kubeconfig);
    AUTO_TEXT base64 = malloc(4 * ((len + 2) / 3) + 1);
    AUTO_BUFFER(body, REQUEST_BODY_MAX);
    if (!base64)
        return NULL;
    EVP_EncodeBlock((unsigned char *)base64, (const unsigned char *)kubeconfig, (int)len);
    buffer_text(&body, "{\"metadata\":{\"resourceVersion\":");
    buffer_json_string(&body, renewal->version, strlen(renewal->version));
    buffer_printf(&body, "},\"data\":{\"kubeconfig\":\"%s\"}}", base64);
    return buffer_take(&body, NULL);
}

static struct error *patch_secret(struct renewal *renewal, const char *token) {
    AUTO_TEXT kubeconfig = NULL;
    TRY(kubeconfig_with_token(renewal->kubeconfig, renewal->context, token, &kubeconfig));
    AUTO_TEXT body = patch_body(renewal, kubeconfig);
    if (!body)
        return error_no_memory();
    struct request request = {.verb = VERB_MERGE_PATCH,
                              .resource = {.group = "", .version = "v1", .plural = "secrets"},
                              .namespace_ = renewal->secret_namespace,
                              .name = renewal->secret_name,
                              .body = body,
                              .body_len = strlen(body),
                              .gate = renewal->all->options.gate};
    return client_submit(renewal->all->client, &request, on_patched, renewal, &renewal->request);
}

static struct error *request_token(struct renewal *renewal) {
    struct endpoint *endpoint = NULL;
    TRY(kubeconfig_parse(renewal->kubeconfig, strlen(renewal->kubeconfig), "kubeconfig", renewal->context,
                         renewal->policy, &endpoint));
    int64_t seconds = (renewal->life.expires_wall_ns - renewal->life.issued_wall_ns) / CLOCK_SECOND;
    struct token_job_options options = {.namespace_ = renewal->account_namespace,
                                        .account = renewal->account,
                                        .seconds = seconds > LIFE_MIN_S ? seconds : LIFE_MIN_S,
                                        .wake = renewal->all->options.wake,
                                        .ctx = renewal->all->options.ctx};
    return token_job_start(endpoint, &options, &renewal->job);
}

// NULL: the step succeeded.
static void end_step(struct renewal *renewal, struct error *error) {
    if (error)
        report_failure(renewal, error_text(error));
    error_free(error);
}

static void end_job(struct renewal *renewal) {
    AUTO_TEXT token = NULL;
    struct error *error = NULL;
    if (!token_job_result(renewal->job, &token, &error))
        return;
    token_job_leave(TAKE(renewal->job));
    end_step(renewal, error ? error : patch_secret(renewal, token));
}

// When the renewal is due for the next check.
static int64_t tick_one(struct renewal *renewal, struct moment now) {
    if (renewal->job)
        end_job(renewal);
    if (renewal->job || renewal->request || renewal->patched)
        return CLOCK_NEVER;
    int64_t left_ns = token_life_renew_at(&renewal->life) - now.wall_ns;
    if (left_ns > 0)
        return now.mono_ns + clock_earlier(left_ns, LOOK_NS);
    if (!gate_is_open(renewal->all->options.gate, now.mono_ns)) // another replica renews the token
        return now.mono_ns + STANDBY_NS;
    if (now.mono_ns >= renewal->retry_ns) {
        renewal->begun_ns = now.mono_ns;
        end_step(renewal, request_token(renewal));
    }
    return renewal->job ? CLOCK_NEVER : renewal->retry_ns;
}

int64_t renewals_tick(struct renewals *renewals, const struct cluster_connection *management, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    size_t cursor = 0;
    struct renewal *renewal;
    if (renewals->list.count == 0)
        return CLOCK_NEVER;
    if (!renewals->client) {
        struct error *error = connection_client(management, "management", &renewals->client);
        error_free(error);
        if (!renewals->client)
            return now.mono_ns + RETRY_FIRST_NS;
    }
    while ((renewal = map_next(&renewals->list, &cursor)))
        next_ns = clock_earlier(next_ns, tick_one(renewal, now));
    return clock_earlier(next_ns, client_tick(renewals->client, now));
}
