// SPDX-License-Identifier: Apache-2.0
// The token with which the host knows the caller. The caller's own token opens the management cluster, so only an
// endpoint that has proven its identity gets it: an API server over TLS, the host over TLS, or at its Unix socket. Any
// program of this machine can listen on a loopback port; it gets a token that is of use at the host alone.
#include "core/base/address.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/remote/internal.h"
#include "core/host/check/rights.h"
#include "core/host/tokens/token_life.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"
#include "core/kube/kubeconfig/server_url.h"

#include <stdlib.h>
#include <string.h>

#define TOKEN_HEADER "Wharf-Authorization: Bearer %s" // an API server that proxies removes Authorization
#define AUDIENCE "wharf.dev"
#define TOKEN_SECONDS 3600
#define ACCOUNT_PREFIX "system:serviceaccount:"

static const struct endpoint *endpoint_of(const struct remote *remote) {
    return remote->host.connection.endpoint;
}

// *proven: only the host, or its API server, reads the request.
static struct error *check_confidential(const struct remote *remote, bool *proven) {
    const char *server = endpoint_of(remote)->server;
    struct server_url url;
    struct error *error = server_url_parse(server, &url);
    if (error)
        return error;
    *proven = url.tls || endpoint_of(remote)->socket;
    if (!*proven && !address_is_local(url.host))
        error = error_new(ERROR_REFUSED,
                          "a token is needed, and is not sent over plain HTTP to %s: use https, --context for the API "
                          "server's service proxy, or kubectl port-forward",
                          server);
    server_url_free(&url);
    return error;
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
    struct token_request request = {.body = NULL};
    int64_t expires_ns = 0;
    struct error *error = remote_open_management(remote);
    if (!error)
        error = token_request_make(namespace_, account, TOKEN_SECONDS, AUDIENCE, &request);
    if (!error)
        error = ask(remote->management.client, &request.request, &response);
    token_request_clear(&request);
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

char *remote_account(const struct remote *remote) {
    return remote->account ? strdup(remote->account) : NULL;
}

bool remote_withholds_token(const struct remote *remote) {
    return remote->withheld;
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
    struct error *error = endpoint_fetch_token(remote->management.connection.endpoint, &remote->token);
    if (!error && remote->token && !proven &&
        (!token_claims_read(remote->token, &claims) || !is_for_host_alone(claims)))
        return replace_token(remote, claims);
    if (error || remote->token)
        return error;
    // A client certificate is nothing that the host could have reviewed.
    return error_wrap(request_token(remote, NULL), "no token for the host: %s has none",
                      remote->management.connection.endpoint ? remote->management.connection.endpoint->description
                                                             : "the kubeconfig");
}

void remote_forget_token(struct remote *remote) {
    if (remote->token)
        explicit_bzero(remote->token, strlen(remote->token));
    free(remote->token);
    remote->token = NULL;
    free(remote->account);
    remote->account = NULL;
    remote->withheld = false;
    remote->authorized = false;
}

struct error *remote_send_token(struct remote *remote) {
    bool proven = false;
    TRY(check_confidential(remote, &proven));
    if (!remote->token)
        TRY(obtain_token(remote, proven));
    AUTO_TEXT header = text_format(TOKEN_HEADER, remote->token);
    remote->authorized = header && curl_transport_header(remote_transport(remote), header);
    if (header)
        explicit_bzero(header, strlen(header));
    return remote->authorized ? NULL : error_no_memory();
}
