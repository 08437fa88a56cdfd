// SPDX-License-Identifier: Apache-2.0
#include "core/kube/kubeconfig/kubeconfig_sections.h"

#include "core/base/text.h"
#include "core/kube/kubeconfig/certs.h"
#include "core/kube/kubeconfig/server_url.h"
#include "core/kube/transport/proxy.h"

#include <stdlib.h>
#include <string.h>

#define PEM_MAX ((size_t)4 * 1024 * 1024)

// A copy of a text field; *out stays NULL if it is absent.
static struct error *copy_text(const struct kubeconfig_entry *entry, const char *field, char **out) {
    const char *text;
    struct error *error = entry_text(entry, field, &text);
    return error || text_set(out, text) ? error : error_no_memory();
}

// The same for a path, made absolute.
static struct error *copy_path(const struct kubeconfig_entry *entry, const char *field, char **out) {
    const char *text;
    struct error *error = entry_text(entry, field, &text);
    if (error || !text)
        return error;
    if (!entry->file->directory)
        return entry_error(entry, field, ERROR_REFUSED,
                           "found the path of a file, expected the data itself: a kubeconfig that is not a file may "
                           "not name files of this machine");
    if (text[0] == '~')
        return entry_error(entry, field, ERROR_INVALID, "found %s, expected an absolute path: ~ is not expanded", text);
    *out = text_resolve_path(entry->file->directory, text);
    return *out ? NULL : error_no_memory();
}

static struct error *take(struct buffer *content, char **out) {
    if (memchr(content->data, '\0', content->len))
        return error_new(ERROR_INVALID, "found a NUL byte, expected PEM text");
    *out = buffer_take(content, NULL);
    return *out ? NULL : error_no_memory();
}

static struct error *decode(const char *base64, char **out) {
    AUTO_BUFFER(content, PEM_MAX);
    struct error *error = text_base64_decode(base64, &content);
    if (error)
        return error_wrap(error, "expected PEM text in base64");
    return content.len == 0 ? error_new(ERROR_INVALID, "found nothing, expected PEM text in base64")
                            : take(&content, out);
}

static struct error *read_pem_file(const char *path, char **out) {
    AUTO_BUFFER(content, PEM_MAX);
    struct error *error = text_read_regular_file(path, PEM_MAX, &content);
    return error ? error : take(&content, out);
}

// A PEM text, from "<field>-data" if set, else from the file at <field> (*file is then its path).
static struct error *read_pem(const struct kubeconfig_entry *entry, const char *field, const char *data_field,
                              struct error *(*check)(const char *pem), char **pem, char **file) {
    const char *data;
    struct error *error = entry_text(entry, data_field, &data);
    if (!error && data) {
        error = decode(data, pem);
        return entry_wrap(entry, data_field, error ? error : check(*pem));
    }
    if (!error)
        error = copy_path(entry, field, file);
    if (error || !*file)
        return error;
    error = read_pem_file(*file, pem);
    if (!error)
        error = error_wrap(check(*pem), "%s", *file);
    return entry_wrap(entry, field, error);
}

static struct error *has_tls_settings(const struct kubeconfig_entry *entry, bool *out) {
    static const char *const fields[] = {"certificate-authority", "certificate-authority-data"};
    for (size_t i = 0; i < 2; i++) {
        const char *text;
        struct error *error = entry_text(entry, fields[i], &text);
        if (error)
            return error;
        *out = *out || text;
    }
    return NULL;
}

// Without a scheme, as client-go: host:port with TLS if the cluster has TLS settings.
static struct error *read_server(const struct kubeconfig_entry *entry, struct endpoint *endpoint) {
    const char *text;
    struct error *error = entry_text(entry, "server", &text);
    if (error)
        return error;
    if (!text)
        return entry_error(entry, "server", ERROR_INVALID, "found nothing, expected a URL like https://host:6443");
    bool tls = endpoint->insecure;
    error = has_tls_settings(entry, &tls);
    if (error)
        return error;
    endpoint->server = text_format("%s%s", strstr(text, "://") ? "" : tls ? "https://" : "http://", text);
    if (!endpoint->server)
        return error_no_memory();
    size_t len = strlen(endpoint->server);
    size_t host = (size_t)(strstr(endpoint->server, "://") + 3 - endpoint->server);
    while (len > host && endpoint->server[len - 1] == '/')
        endpoint->server[--len] = '\0';
    struct server_url url;
    error = server_url_parse(endpoint->server, &url);
    server_url_free(&url);
    return entry_wrap(entry, "server", error);
}

struct error *kubeconfig_read_cluster(const struct kubeconfig_entry *entry, struct endpoint *endpoint) {
    struct error *error = entry_bool(entry, "insecure-skip-tls-verify", &endpoint->insecure);
    if (!error)
        error = entry_bool(entry, "disable-compression", &endpoint->disable_compression);
    if (!error)
        error = read_server(entry, endpoint);
    if (!error)
        error = read_pem(entry, "certificate-authority", "certificate-authority-data", certs_check_certificates,
                         &endpoint->ca_pem, &endpoint->ca_file);
    if (!error && endpoint->ca_pem && endpoint->insecure)
        error = entry_error(entry, "insecure-skip-tls-verify", ERROR_INVALID,
                            "found true together with a certificate authority, expected only one of them");
    if (!error)
        error = copy_text(entry, "tls-server-name", &endpoint->tls_server_name);
    if (!error)
        error = copy_text(entry, "proxy-url", &endpoint->proxy_url);
    if (!error && endpoint->proxy_url)
        error = entry_wrap(entry, "proxy-url", proxy_check(endpoint->proxy_url));
    return error;
}

static bool is_empty(const struct json *value) {
    const char *text = json_string(value);
    return !value || json_is(value, JSON_NULL) || (text && !*text) ||
           ((json_is(value, JSON_ARRAY) || json_is(value, JSON_OBJECT)) && json_size(value) == 0);
}

// Unsupported authentication is rejected rather than ignored: requests would be sent as a different user.
static struct error *refuse_unsupported(const struct kubeconfig_entry *entry) {
    static const char *const basic[] = {"username", "password"}; // gone since Kubernetes 1.19
    if (!is_empty(json_get(entry->value, "auth-provider")))
        return entry_error(entry, "auth-provider", ERROR_UNSUPPORTED,
                           "auth-provider is not supported, expected exec with a credential plugin (for oidc: kubectl "
                           "oidc-login), a token, a tokenFile or a client certificate");
    for (size_t i = 0; i < 2; i++)
        if (!is_empty(json_get(entry->value, basic[i])))
            return entry_error(entry, basic[i], ERROR_UNSUPPORTED,
                               "basic authentication (username and password) is not supported, expected a token, a "
                               "tokenFile or a client certificate");
    return NULL;
}

static struct error *read_certificate(const struct kubeconfig_entry *entry, struct endpoint *endpoint) {
    struct error *error = read_pem(entry, "client-certificate", "client-certificate-data", certs_check_certificates,
                                   &endpoint->client_cert_pem, &endpoint->client_cert_file);
    if (!error)
        error = read_pem(entry, "client-key", "client-key-data", certs_check_key, &endpoint->client_key_pem,
                         &endpoint->client_key_file);
    if (error || !endpoint->client_cert_pem == !endpoint->client_key_pem)
        return error;
    const char *missing = endpoint->client_cert_pem ? "client-key" : "client-certificate";
    return entry_error(entry, missing, ERROR_INVALID, "found nothing, expected it along with the client %s",
                       endpoint->client_cert_pem ? "certificate" : "key");
}

static struct error *read_token(const struct kubeconfig_entry *entry, struct endpoint *endpoint) {
    struct error *error = copy_text(entry, "token", &endpoint->token);
    if (!error)
        error = copy_path(entry, "tokenFile", &endpoint->token_file);
    if (error)
        return error;
    char *token;
    error = endpoint_token(endpoint, &token);
    free(token);
    return entry_wrap(entry, endpoint->token_file && !endpoint->token ? "tokenFile" : "token", error);
}

struct error *kubeconfig_read_user(const struct kubeconfig_entry *entry, const struct kubeconfig_entry *cluster,
                                   const struct exec_policy *policy, struct endpoint *endpoint) {
    struct error *error = read_certificate(entry, endpoint);
    if (!error)
        error = read_token(entry, endpoint);
    if (!error)
        error = refuse_unsupported(entry);
    if (!error)
        error = kubeconfig_read_impersonation(entry, endpoint);
    // As in client-go, which runs no plugin if there are other credentials.
    bool has_own = endpoint->token || endpoint->token_file || endpoint->client_cert_pem;
    return error || has_own ? error : kubeconfig_read_exec(entry, cluster, policy, endpoint);
}
