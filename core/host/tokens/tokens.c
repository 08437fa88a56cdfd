// SPDX-License-Identifier: Apache-2.0
#include "core/host/tokens/tokens.h"

#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/sources/sources.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

#include <openssl/evp.h>

#define TOKEN_MAX ((size_t)64 * 1024)
#define HOUR_S 3600
#define YEAR_9999_S INT64_C(9000000000) // times beyond are not believed
#define LOOK_NS (10 * CLOCK_MINUTE)     // at most, as the wall clock may be set
#define RETRY_FIRST_NS (30 * CLOCK_SECOND)
#define RETRY_MAX_NS (10 * CLOCK_MINUTE)
#define STANDBY_NS (10 * CLOCK_SECOND)
#define LIFE_MIN_S 600              // of a TokenRequest
#define LEAST_NS (2 * CLOCK_MINUTE) // between renewals, for tokens of any lifetime

// base64url without padding (RFC 7515 section 2), as base64.
static bool to_base64(const char *text, size_t len, struct buffer *out) {
    for (size_t i = 0; i < len; i++)
        buffer_char(out, text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
    while (!out->failed && out->len % 4 != 0)
        buffer_char(out, '=');
    return !out->failed;
}

bool token_claims_read(const char *token, struct json **out) {
    const char *begin = strchr(token, '.');
    const char *end = begin ? strchr(begin + 1, '.') : NULL;
    AUTO_BUFFER(base64, TOKEN_MAX);
    AUTO_BUFFER(text, TOKEN_MAX);
    if (!end || !to_base64(begin + 1, (size_t)(end - begin - 1), &base64) || base64.len == 0)
        return false;
    struct error *error = text_base64_decode(base64.data, &text);
    if (!error)
        error = json_parse(text.data ? text.data : "", text.len, out);
    bool good = !error;
    error_free(error);
    return good;
}

bool token_life_read(const char *token, struct token_life *out) {
    AUTO_JSON claims = NULL;
    if (!token || !token_claims_read(token, &claims))
        return false;
    int64_t expires_s = json_int64(json_get(claims, "exp"), 0);
    int64_t issued_s = json_int64(json_get(claims, "iat"), expires_s - HOUR_S);
    if (expires_s <= 0 || expires_s > YEAR_9999_S || issued_s < 0 || issued_s >= expires_s)
        return false;
    *out = (struct token_life){.issued_wall_ns = issued_s * CLOCK_SECOND, .expires_wall_ns = expires_s * CLOCK_SECOND};
    return true;
}

int64_t token_life_renew_at(const struct token_life *life) {
    return life->issued_wall_ns + (life->expires_wall_ns - life->issued_wall_ns) / 5 * 4;
}

// Renewal ----------------------------------------------------------------------------------------------------------

// One TokenRequest to a worker, on a detached thread: the renewal may leave before the end of the request.
struct token_job {
    const char *namespace_, *account;
    int64_t seconds;
    struct endpoint *endpoint;
    void (*wake)(void *ctx); // at the end of the request, unless the renewal has left
    void *ctx;
    pthread_mutex_t mutex;
    unsigned users; // under the mutex, like the rest: the thread and the renewal
    bool done;
    char *token;
    struct error *error;
};

struct renewal {     // one block with its texts
    const char *key; // "wharf-system/w1"
    const char *secret_namespace, *secret_name, *version;
    const char *account_namespace, *account;
    const char *kubeconfig, *context;
    struct renewals *all;
    struct exec_policy *policy;
    struct token_life life;
    int64_t retry_ns, wait_ns; // after a failure; 0: none
    int64_t begun_ns;          // the last one of this Secret, also of a former version; 0: none
    struct token_job *job;     // the TokenRequest is in flight
    uint64_t request;          // the patch is in flight; 0: neither
    bool patched;              // and accepted: the watch will show the change
};
#define RENEWAL_TEXTS 8

struct renewals {
    struct renewals_options options;
    struct map list; // struct renewal by key
    struct client *client;
};

static void job_free(struct token_job *job) {
    endpoint_free(job->endpoint);
    pthread_mutex_destroy(&job->mutex);
    error_free(job->error);
    free(job->token);
    free(job);
}

static void job_release(struct token_job *job) {
    pthread_mutex_lock(&job->mutex);
    bool last = --job->users == 0;
    pthread_mutex_unlock(&job->mutex);
    if (last)
        job_free(job);
}

static struct error *request_token(struct token_job *job, char **token) {
    __attribute__((cleanup(blocking_client_close))) struct blocking_client client = {.client = NULL};
    __attribute__((cleanup(token_request_clear))) struct token_request wanted = {.body = NULL};
    __attribute__((cleanup(ask_cleanup))) struct response response = {0};
    int64_t expires_ns;
    TRY(blocking_client_open(TAKE(job->endpoint), "worker", NULL, &client));
    TRY(token_request_make(job->namespace_, job->account, job->seconds, NULL, &wanted));
    TRY(ask(client.client, &wanted.request, &response));
    return token_request_read(&response, token, &expires_ns);
}

static void *job_main(void *arg) {
    struct token_job *job = arg;
    char *token = NULL;
    struct error *error = request_token(job, &token);
    pthread_mutex_lock(&job->mutex);
    job->done = true;
    job->token = token;
    job->error = error;
    if (job->users > 1)
        job->wake(job->ctx);
    pthread_mutex_unlock(&job->mutex);
    job_release(job);
    return NULL;
}

static void renewal_free(struct renewal *renewal) {
    if (!renewal)
        return;
    if (renewal->request && renewal->all->client)
        client_cancel(renewal->all->client, renewal->request);
    if (renewal->job)
        job_release(renewal->job);
    exec_policy_free(renewal->policy);
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

struct error *renewals_see(struct renewals *renewals, const char *key, const struct json *secret,
                           const struct worker_spec *spec, const struct token_life *life,
                           const struct exec_policy *policy) {
    char namespace_[64];
    const char *account = NULL;
    const struct renewal *former = map_get(&renewals->list, key);
    int64_t begun_ns = former ? former->begun_ns : 0;
    renewals_forget(renewals, key);
    struct error *error = worker_secret_account(secret, namespace_, &account);
    if (error && error->code == ERROR_NOT_FOUND) {
        error_free(error);
        return NULL;
    }
    if (error || life->expires_wall_ns == 0)
        return error;
    const struct renewal fresh = {.key = key,
                                  .secret_namespace = object_namespace(secret),
                                  .secret_name = object_name(secret),
                                  .version = object_version(secret),
                                  .account_namespace = namespace_,
                                  .account = account,
                                  .kubeconfig = spec->kubeconfig_text,
                                  .context = spec->context ? spec->context : "",
                                  .all = renewals,
                                  .life = *life,
                                  .retry_ns = begun_ns > 0 ? begun_ns + LEAST_NS : 0,
                                  .begun_ns = begun_ns};
    struct renewal *renewal = struct_copy_with_texts(&fresh, sizeof fresh, RENEWAL_TEXTS);
    if (renewal && exec_policy_copy(policy, &renewal->policy) && map_put(&renewals->list, renewal->key, renewal))
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

static struct error *start_job(struct renewal *renewal) {
    int64_t seconds = (renewal->life.expires_wall_ns - renewal->life.issued_wall_ns) / CLOCK_SECOND;
    struct token_job fresh = {.namespace_ = renewal->account_namespace,
                              .account = renewal->account,
                              .seconds = seconds > LIFE_MIN_S ? seconds : LIFE_MIN_S,
                              .wake = renewal->all->options.wake,
                              .ctx = renewal->all->options.ctx,
                              .users = 2};
    TRY(kubeconfig_parse(renewal->kubeconfig, strlen(renewal->kubeconfig), "kubeconfig", renewal->context,
                         renewal->policy, &fresh.endpoint));
    struct token_job *job = struct_copy_with_texts(&fresh, sizeof fresh, 2);
    if (!job) {
        endpoint_free(fresh.endpoint);
        return error_no_memory();
    }
    pthread_mutex_init(&job->mutex, NULL);
    int code = thread_start("token", 0, job_main, job, NULL);
    if (code != 0) {
        job_free(job);
        return error_new(ERROR_IO, "cannot start a thread: %s", strerror(code));
    }
    renewal->job = job;
    return NULL;
}

// NULL: the step succeeded.
static void end_step(struct renewal *renewal, struct error *error) {
    if (error)
        report_failure(renewal, error_text(error));
    error_free(error);
}

static void end_job(struct renewal *renewal) {
    struct token_job *job = renewal->job;
    pthread_mutex_lock(&job->mutex);
    bool done = job->done;
    AUTO_TEXT token = TAKE(job->token);
    struct error *error = TAKE(job->error);
    pthread_mutex_unlock(&job->mutex);
    if (!done)
        return;
    job_release(TAKE(renewal->job));
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
        end_step(renewal, start_job(renewal));
    }
    return renewal->job ? CLOCK_NEVER : renewal->retry_ns;
}

int64_t renewals_tick(struct renewals *renewals, struct client *management, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    size_t cursor = 0;
    struct renewal *renewal;
    renewals->client = management;
    while ((renewal = map_next(&renewals->list, &cursor)))
        next_ns = clock_earlier(next_ns, tick_one(renewal, now));
    return next_ns;
}
