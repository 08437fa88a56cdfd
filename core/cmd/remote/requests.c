// SPDX-License-Identifier: Apache-2.0
// Requests to the host, and the token with which the host knows the caller. A caller on the host's machine needs no
// token for most paths, so the token is obtained when the host asks for one. The caller's own token opens the
// management cluster, so only an endpoint that has proven its identity gets it: an API server over TLS, the host over
// TLS, or at its Unix socket. Any program of this machine can listen on a loopback port; such a program gets a token
// that is of use at the host alone.
#include "core/cmd/remote/remote.h"

#include "core/base/text.h"
#include "core/host/check/rights.h"
#include "core/host/tokens/tokens.h"
#include "core/kube/kubeconfig/kubeconfig.h"
#include "core/kube/transport/curl_transport.h"

#define TOKEN_HEADER "Wharf-Authorization: Bearer %s" // an API server that proxies removes Authorization
#define AUDIENCE "wharf.dev"
#define TOKEN_SECONDS 3600
#define ACCOUNT_PREFIX "system:serviceaccount:"

#define ERROR_BODY_MAX ((size_t)64 << 10)
#define POLL_NS (200 * CLOCK_MS)

static const struct endpoint *endpoint_of(const struct remote *remote) {
    return remote->host.connection.endpoint;
}

// *proven: only the host, or its API server, reads the request.
static struct error *check_confidential(const struct remote *remote, bool *proven) {
    const char *server = endpoint_of(remote)->server;
    __attribute__((cleanup(server_url_free))) struct server_url url = {.tls = false};
    TRY(server_url_parse(server, &url));
    *proven = url.tls || endpoint_of(remote)->socket;
    if (*proven || address_is_local(url.host))
        return NULL;
    return error_new(ERROR_REFUSED,
                     "a token is needed, and is not sent over plain HTTP to %s: use https, --context for the API "
                     "server's service proxy, or kubectl port-forward",
                     server);
}

static bool is_audience(const struct json *value) {
    return text_equal(json_string(value), AUDIENCE);
}

static bool is_for_host_alone(const struct json *claims) {
    const struct json *audience = json_get(claims, "aud");
    return is_audience(audience) || (json_size(audience) == 1 && is_audience(json_at(audience, 0)));
}

// "NAMESPACE/NAME" of the token's ServiceAccount; NULL: none, or out of memory. free()
static char *account_of_token(const struct json *claims) {
    const char *subject = json_string_or(json_get(claims, "sub"), "");
    if (!text_has_prefix(subject, ACCOUNT_PREFIX))
        return NULL;
    char *account = strdup(subject + strlen(ACCOUNT_PREFIX));
    char *colon = account ? strchr(account, ':') : NULL;
    if (colon)
        *colon = '/';
    return account;
}

static struct error *request_token_of(struct remote *remote, const char *namespace_, const char *account) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    __attribute__((cleanup(token_request_clear))) struct token_request request = {.body = NULL};
    int64_t expires_ns = 0;
    struct error *error = remote_open_management(remote);
    if (!error)
        error = token_request_make(namespace_, account, TOKEN_SECONDS, AUDIENCE, &request);
    if (!error)
        error = ask(remote->management.client, &request.request, &response);
    if (!error && response.code == 404)
        return error_new(ERROR_REFUSED,
                         "ServiceAccount %s/%s, needed for a token, does not exist there: \"wharf rbac --for "
                         "management | kubectl apply -f -\" makes it, --service-account names another one",
                         namespace_, account);
    if (!error)
        error = token_request_read(&response, &remote->token, &expires_ns);
    if (error && response.code > 0)
        error->code = ERROR_REFUSED;
    return error_wrap(error, "ServiceAccount %s/%s", namespace_, account);
}

// For the account of the flag, else the caller's own, else the command line's.
static struct error *request_token(struct remote *remote, char *own) {
    free(remote->account);
    remote->account = remote->options.service_account ? strdup(remote->options.service_account)
                      : own                           ? strdup(own)
                            : text_format("%s/" RIGHTS_VIEWER, remote->options.host_namespace);
    const char *slash = remote->account ? strchr(remote->account, '/') : NULL;
    AUTO_TEXT namespace_ = slash ? strndup(remote->account, (size_t)(slash - remote->account)) : NULL;
    return namespace_ ? request_token_of(remote, namespace_, slash + 1) : error_no_memory();
}

static struct error *replace_token(struct remote *remote, const struct json *claims) {
    AUTO_TEXT account = account_of_token(claims);
    remote_forget_token(remote);
    remote->withheld = true;
    return error_wrap(
        request_token(remote, account),
        "%sa token is needed, and your own token is not sent over plain HTTP to %s, where any program may "
        "listen: use the host's Unix socket (--server unix:PATH), https, or --context for the API "
        "server's service proxy. No token for the host alone was obtained",
        remote->tried ? remote->tried : "", endpoint_of(remote)->description);
}

static struct error *obtain_token(struct remote *remote, bool proven) {
    AUTO_JSON claims = NULL;
    TRY(remote_load_management(remote));
    const struct endpoint *endpoint = remote->management.connection.endpoint;
    TRY(endpoint_fetch_token(endpoint, &remote->token));
    // A client certificate is nothing that the host could have reviewed.
    if (!remote->token)
        return error_wrap(request_token(remote, NULL), "no token for the host: %s has none",
                          endpoint ? endpoint->description : "the kubeconfig");
    if (!proven && (!token_claims_read(remote->token, &claims) || !is_for_host_alone(claims)))
        return replace_token(remote, claims);
    return NULL;
}

void remote_forget_token(struct remote *remote) {
    sensitive_free(remote->token);
    free(remote->account);
    remote->token = remote->account = NULL;
    remote->withheld = remote->authorized = false;
}

static struct error *send_token(struct remote *remote) {
    bool proven = false;
    TRY(check_confidential(remote, &proven));
    if (!remote->token)
        TRY(obtain_token(remote, proven));
    char *header = text_format(TOKEN_HEADER, remote->token);
    remote->authorized = header && curl_transport_header(remote->host.connection.transport, header);
    sensitive_free(header);
    return remote->authorized ? NULL : error_no_memory();
}

// The API server always needs a token: without one the host is not reached.
static struct error *begin(struct remote *remote) {
    AUTO_ERROR error = remote_locate(remote);
    if (!error && !remote_is_direct(remote) && !remote->authorized)
        error = send_token(remote);
    if (!error)
        return NULL;
    if (!remote->missing && !remote->tried) {
        remote_leave_place(remote); // the next request tries again
        return TAKE(error);
    }
    return remote_unreached(remote, error_text(error));
}

struct error *remote_authorize(struct remote *remote) {
    TRY(begin(remote));
    return remote->authorized ? NULL : send_token(remote);
}

// The API server's own answer for a Service that does not exist or has no pods.
static bool is_no_service(const struct remote *remote, const struct response *response) {
    static const char *const begins[] = {"services \"", "no endpoints available for service",
                                         "error trying to reach service"};
    for (size_t i = 0; !remote_is_direct(remote) && i < COUNT(begins); i++)
        if (text_has_prefix(response->message, begins[i]))
            return true;
    return false;
}

static struct error *failure(struct remote *remote, const struct response *response) {
    enum error_code code = ERROR_IO;
    if (response->code <= 0 || is_no_service(remote, response))
        return remote_unreached(remote, response->message);
    if (response->code == 404)
        code = ERROR_NOT_FOUND;
    else if (response->code == 401 || response->code == 403)
        code = ERROR_REFUSED;
    return error_new(code, "the host: %s", response->message);
}

struct streaming { // to standard output
    struct transport *transport;
    uint64_t id;
    bool done, answered;
    bool ended; // standard output is closed
    struct response *response;
};

static bool on_open(void *ctx) {
    const struct streaming *streaming = ctx;
    const char *note = curl_transport_response_header(streaming->transport, streaming->id, "Wharf-Note");
    if (note)
        text_print_line(stderr, note);
    return true;
}

static bool on_data(void *ctx, const char *bytes, size_t len) {
    struct streaming *streaming = ctx;
    streaming->ended = fwrite(bytes, 1, len, stdout) != len || fflush(stdout) != 0;
    return !streaming->ended;
}

static void on_done(void *ctx, const struct http_result *result) {
    struct streaming *streaming = ctx;
    streaming->done = true;
    streaming->answered = result->outcome == HTTP_ANSWERED && result->status == 200;
    if (!streaming->answered && !streaming->ended)
        response_read(streaming->response, result, VERB_RAW_GET);
}

static struct error *stream_once(struct remote *remote, const char *path, struct streaming *streaming) {
    const struct http_request request = {
        .method = HTTP_GET, .path = path, .accept = "*/*", .stream = true, .max_body = ERROR_BODY_MAX};
    const struct http_handler handler = {.opened = on_open, .data = on_data, .done = on_done, .ctx = streaming};
    struct transport *transport = remote->host.connection.transport;
    *streaming = (struct streaming){.transport = transport, .response = streaming->response};
    streaming->id = transport->ops->submit(transport, &request, &handler);
    if (streaming->id == 0)
        return error_no_memory();
    while (!streaming->done)
        curl_transport_poll(transport, POLL_NS);
    return NULL;
}

// `streaming` NULL: for the whole document. Sends a token if the host wants one.
static struct error *send_request(struct remote *remote, const char *path, struct streaming *streaming,
                                  struct response *response) {
    TRY(begin(remote));
    AUTO_TEXT whole = text_format("%s%s", remote->prefix, path);
    if (!whole)
        return error_no_memory();
    for (;;) {
        TRY(streaming ? stream_once(remote, whole, streaming) : ask_raw(remote->host.client, whole, response));
        if (response->code != 401 || remote->authorized)
            return NULL;
        response_clear(response);
        TRY(send_token(remote));
    }
}

struct error *remote_get(struct remote *remote, const char *path, struct json **out) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    *out = NULL;
    TRY(send_request(remote, path, NULL, &response));
    if (response.reason != REASON_OK || !response.value)
        return failure(remote, &response);
    *out = TAKE(response.value);
    return NULL;
}

struct error *remote_worker(struct remote *remote, const char *name, struct json **out, struct json **list) {
    AUTO_JSON workers = NULL;
    *out = NULL;
    struct error *error = remote_get(remote, "/api/v1/workers", &workers);
    for (const struct json *w = json_first(json_get(workers, "items")); !error && w && !*out; w = json_next(w))
        if (text_equal(json_string(json_get(w, "name")), name) && !(*out = json_copy(w)))
            error = error_no_memory();
    if (list)
        *list = TAKE(workers);
    return error;
}

struct error *remote_print(struct remote *remote, const char *path) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    struct streaming streaming = {.response = &response};
    TRY(send_request(remote, path, &streaming, &response));
    return streaming.answered || streaming.ended ? NULL : failure(remote, &response);
}
