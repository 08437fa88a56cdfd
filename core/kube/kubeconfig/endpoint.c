// SPDX-License-Identifier: Apache-2.0
// Checks and credentials of an endpoint, also of a pod's own (kubeconfig.h).
#include "core/kube/credentials/credentials.h"

// Far larger than any token that etcd and header limits allow.
#define TOKEN_MAX ((size_t)64 * 1024)
#define FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"
#define NAMESPACE_MAX ((size_t)1024)

struct endpoint *endpoint_hold(struct endpoint *endpoint) {
    atomic_fetch_add(&endpoint->more, 1);
    return endpoint;
}

void endpoint_free(struct endpoint *endpoint) {
    if (!endpoint || (atomic_load(&endpoint->more) > 0 && atomic_fetch_sub(&endpoint->more, 1) > 0))
        return;
    sensitive_free(endpoint->client_key_pem);
    char *texts[] = {endpoint->server,          endpoint->ca_pem,     endpoint->tls_server_name,
                     endpoint->proxy_url,       endpoint->token,      endpoint->client_cert_pem,
                     endpoint->token_file,      endpoint->namespace_, endpoint->description,
                     endpoint->ca_file,         endpoint->socket,     endpoint->client_cert_file,
                     endpoint->client_key_file, endpoint->paths,      endpoint->context};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    text_list_free(endpoint->impersonation);
    exec_plugin_free(endpoint->exec);
    exec_policy_free(endpoint->policy);
    free(endpoint);
}

void endpoint_cleanup(struct endpoint **endpoint) {
    endpoint_free(*endpoint);
}

bool endpoint_same_address(const struct endpoint *a, const struct endpoint *b) {
    return strcmp(a->server, b->server) == 0 && text_equal(a->proxy_url, b->proxy_url) &&
           text_equal(a->tls_server_name, b->tls_server_name) && a->insecure == b->insecure;
}

static struct error *check_all(const struct endpoint *endpoint, int64_t wall_ns) {
    TRY(error_wrap(server_url_check(endpoint->server), "server"));
    if (endpoint->proxy_url)
        TRY(error_wrap(proxy_check(endpoint->proxy_url), "proxy-url"));
    if (endpoint->ca_pem)
        TRY(error_wrap(certs_check_time(endpoint->ca_pem, CERTS_ANY_VALID, wall_ns), "certificate authority"));
    const char *cert = endpoint->client_cert_pem, *key = endpoint->client_key_pem;
    if (!cert != !key)
        return error_new(ERROR_INVALID, "found only a client %s, expected both certificate and key",
                         cert ? "certificate" : "key");
    if (!cert)
        return NULL;
    TRY(error_wrap(certs_check_pair(cert, key), "client certificate"));
    return error_wrap(certs_check_time(cert, CERTS_ALL_VALID, wall_ns), "client certificate");
}

struct error *endpoint_check(const struct endpoint *endpoint, int64_t wall_ns) {
    struct error *error = check_all(endpoint, wall_ns);
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
    TRY(text_read_regular_file(path, TOKEN_MAX, &buffer));
    if (memchr(buffer.data, '\0', buffer.len))
        return error_new(ERROR_INVALID, "%s: found a NUL byte, expected a bearer token", path);
    const char *found = trim_spaces(buffer.data);
    TRY(error_wrap(endpoint_check_token(found), "%s", path));
    *token = strdup(found);
    return *token ? NULL : error_no_memory();
}

struct error *endpoint_token(const struct endpoint *endpoint, char **token) {
    *token = NULL;
    if (endpoint->token_file) {
        struct error *error = read_token(endpoint->token_file, token);
        if (!error || !endpoint->token)
            return error_wrap(error, "token file");
        error_free(error);
    }
    if (!endpoint->token)
        return NULL;
    TRY(error_wrap(endpoint_check_token(endpoint->token), "token"));
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

// The credentials of a pod (k8s.io/client-go/rest InClusterConfig).

// The file is optional: without it, no namespace is set.
static struct error *read_namespace(const char *path, char **out) {
    AUTO_BUFFER(content, NAMESPACE_MAX);
    struct error *error = text_read_file(path, NAMESPACE_MAX, &content);
    if (error && error->code == ERROR_NOT_FOUND) {
        error_free(error);
        return NULL;
    }
    TRY(error);
    *out = strndup(content.data, strcspn(content.data, " \t\r\n"));
    return *out ? NULL : error_no_memory();
}

static struct error *fill_in_cluster(const char *root, const char *host, const char *port, struct endpoint *endpoint) {
    const char *open = strchr(host, ':') ? "[" : "";
    AUTO_TEXT namespace_file = text_format("%s" FOLDER "/namespace", root);
    endpoint->server = text_format("https://%s%s%s:%s", open, host, *open ? "]" : "", port);
    endpoint->description = strdup("in-cluster");
    endpoint->token_file = text_format("%s" FOLDER "/token", root);
    endpoint->ca_file = text_format("%s" FOLDER "/ca.crt", root);
    if (!namespace_file || !endpoint->server || !endpoint->description || !endpoint->token_file || !endpoint->ca_file)
        return error_no_memory();
    AUTO_TEXT token = NULL;
    TRY(endpoint_token(endpoint, &token));
    TRY(certs_read_file(endpoint->ca_file, &endpoint->ca_pem));
    TRY(error_wrap(certs_check_certificates(endpoint->ca_pem), "%s", endpoint->ca_file));
    return read_namespace(namespace_file, &endpoint->namespace_);
}

struct error *kubeconfig_in_cluster(const char *root, struct endpoint **out) {
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    if (!host || !*host || !port || !*port)
        return error_new(ERROR_NOT_FOUND, "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
                                          "set, expected them or a kubeconfig");
    AUTO_ENDPOINT endpoint = calloc(1, sizeof *endpoint);
    TRY(error_wrap(endpoint ? fill_in_cluster(root, host, port, endpoint) : error_no_memory(), "in-cluster"));
    *out = TAKE(endpoint);
    return NULL;
}
