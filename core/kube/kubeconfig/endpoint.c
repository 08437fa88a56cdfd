// SPDX-License-Identifier: Apache-2.0
// Checks and credentials of an endpoint (kubeconfig.h).
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/credentials/exec_plugin.h"
#include "core/kube/kubeconfig/certs.h"
#include "core/kube/kubeconfig/kubeconfig.h"
#include "core/kube/kubeconfig/server_url.h"
#include "core/kube/transport/proxy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Far larger than any token that etcd and header limits allow.
#define TOKEN_MAX ((size_t)64 * 1024)

struct endpoint *endpoint_hold(struct endpoint *endpoint) {
    atomic_fetch_add(&endpoint->more, 1);
    return endpoint;
}

void endpoint_source_free(struct endpoint_source *source) {
    if (!source)
        return;
    free(source->paths);
    free(source->context);
    exec_policy_free(source->policy);
    free(source);
}

void endpoint_free(struct endpoint *endpoint) {
    if (!endpoint || (atomic_load(&endpoint->more) > 0 && atomic_fetch_sub(&endpoint->more, 1) > 0))
        return;
    if (endpoint->client_key_pem)
        explicit_bzero(endpoint->client_key_pem, strlen(endpoint->client_key_pem));
    char *texts[] = {endpoint->server,          endpoint->ca_pem,          endpoint->tls_server_name,
                     endpoint->proxy_url,       endpoint->client_cert_pem, endpoint->client_key_pem,
                     endpoint->token,           endpoint->token_file,      endpoint->namespace_,
                     endpoint->description,     endpoint->ca_file,         endpoint->client_cert_file,
                     endpoint->client_key_file, endpoint->socket};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    for (size_t i = 0; endpoint->impersonation && endpoint->impersonation[i]; i++)
        free(endpoint->impersonation[i]);
    free(endpoint->impersonation);
    exec_plugin_free(endpoint->exec);
    endpoint_source_free(endpoint->source);
    free(endpoint);
}

bool endpoint_same_address(const struct endpoint *a, const struct endpoint *b) {
    return strcmp(a->server, b->server) == 0 && text_equal(a->proxy_url, b->proxy_url) &&
           text_equal(a->tls_server_name, b->tls_server_name) && a->insecure == b->insecure;
}

static struct error *check_ca(const char *ca, int64_t wall_ns) {
    if (!ca)
        return NULL;
    struct error *error = certs_check_certificates(ca);
    if (!error)
        error = certs_check_time(ca, CERTS_ANY_VALID, wall_ns);
    return error_wrap(error, "certificate authority");
}

static struct error *check_identity(const char *cert, const char *key, int64_t wall_ns) {
    if (!cert && !key)
        return NULL;
    if (!cert || !key)
        return error_new(ERROR_INVALID, "found only a client %s, expected both certificate and key",
                         cert ? "certificate" : "key");
    struct error *error = certs_check_certificates(cert);
    if (!error)
        error = certs_check_pair(cert, key);
    if (!error)
        error = certs_check_time(cert, CERTS_ALL_VALID, wall_ns);
    return error_wrap(error, "client certificate");
}

struct error *endpoint_check(const struct endpoint *endpoint, int64_t wall_ns) {
    struct server_url url = {0};
    struct error *error = error_wrap(server_url_parse(endpoint->server, &url), "server");
    server_url_free(&url);
    if (!error && endpoint->proxy_url)
        error = error_wrap(proxy_check(endpoint->proxy_url), "proxy-url");
    if (!error)
        error = check_ca(endpoint->ca_pem, wall_ns);
    if (!error)
        error = check_identity(endpoint->client_cert_pem, endpoint->client_key_pem, wall_ns);
    return endpoint->description ? error_wrap(error, "%s", endpoint->description) : error;
}

// RFC 6750 section 2.1: a token is visible ASCII, which also keeps line breaks out of the header.
struct error *endpoint_check_token(const char *token) {
    if (!*token)
        return error_new(ERROR_INVALID, "found nothing, expected a bearer token");
    for (const char *c = token; *c; c++)
        if (*c <= ' ' || *c > '~')
            return error_new(ERROR_INVALID, "found an invalid byte at offset %zu, expected a bearer token",
                             (size_t)(c - token));
    return NULL;
}

static struct error *read_token(const char *path, char **token) {
    AUTO_BUFFER(buffer, TOKEN_MAX);
    struct error *error = text_read_regular_file(path, TOKEN_MAX, &buffer);
    if (error)
        return error;
    if (memchr(buffer.data, '\0', buffer.len))
        return error_new(ERROR_INVALID, "%s: found a NUL byte, expected a bearer token", path);
    char *begin = buffer.data;
    while (isspace((unsigned char)*begin))
        begin++;
    size_t len = strlen(begin);
    while (len > 0 && isspace((unsigned char)begin[len - 1]))
        begin[--len] = '\0';
    error = endpoint_check_token(begin);
    if (error)
        return error_wrap(error, "%s", path);
    *token = strdup(begin);
    return *token ? NULL : error_no_memory();
}

struct error *endpoint_token(const struct endpoint *endpoint, char **token) {
    *token = NULL;
    struct error *error = NULL;
    if (endpoint->token_file) {
        error = read_token(endpoint->token_file, token);
        if (!error || !endpoint->token)
            return error_wrap(error, "token file");
        error_free(error);
    }
    if (!endpoint->token)
        return NULL;
    error = endpoint_check_token(endpoint->token);
    if (error)
        return error_wrap(error, "token");
    *token = strdup(endpoint->token);
    return *token ? NULL : error_no_memory();
}

struct error *endpoint_fetch_token(const struct endpoint *endpoint, char **token) {
    if (!endpoint->exec)
        return endpoint_token(endpoint, token);
    struct exec_credential found;
    struct error *error = exec_plugin_run(endpoint->exec, EXEC_TIMEOUT, -1, &found);
    *token = TAKE(found.token);
    exec_credential_clear(&found);
    return error;
}
