// SPDX-License-Identifier: Apache-2.0
#include "core/kube/kubeconfig/kubeconfig_file.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN ((size_t)16 * 1024 * 1024) // more than a whole kubeconfig, escaped

// A copy of the path in a field, made absolute; *out stays NULL if the field is absent.
static struct error *copy_path(const struct kubeconfig_entry *entry, const char *field, char **out) {
    const char *text;
    TRY(entry_text(entry, field, &text));
    if (!text)
        return NULL;
    if (!entry->file->directory)
        return entry_error(entry, field, ERROR_REFUSED,
                           "found the path of a file, expected the data itself: a kubeconfig that is not a file may "
                           "not name files of this machine");
    if (text[0] == '~')
        return entry_error(entry, field, ERROR_INVALID, "found %s, expected an absolute path: ~ is not expanded", text);
    *out = text_resolve_path(entry->file->directory, text);
    return *out ? NULL : error_no_memory();
}

static struct error *decode_pem(const char *base64, char **out) {
    AUTO_BUFFER(content, CERTS_MAX);
    TRY(error_wrap(text_base64_decode(base64, &content), "expected PEM text in base64"));
    return content.len == 0 ? error_new(ERROR_INVALID, "found nothing, expected PEM text in base64")
                            : certs_take(&content, out);
}

// A PEM text, from "<field>-data" if set, else from the file at <field> (*file is then its path).
static struct error *read_pem(const struct kubeconfig_entry *entry, const char *field,
                              struct error *(*check)(const char *pem), char **pem, char **file) {
    const char *data;
    AUTO_TEXT data_field = text_format("%s-data", field);
    TRY(data_field ? entry_text(entry, data_field, &data) : error_no_memory());
    if (data) {
        TRY(entry_wrap(entry, data_field, decode_pem(data, pem)));
        return entry_wrap(entry, data_field, check(*pem));
    }
    TRY(copy_path(entry, field, file));
    if (!*file)
        return NULL;
    TRY(entry_wrap(entry, field, certs_read_file(*file, pem)));
    return entry_wrap(entry, field, error_wrap(check(*pem), "%s", *file));
}

// Without a scheme, as client-go: host:port with TLS if the cluster has TLS settings.
static struct error *read_server(const struct kubeconfig_entry *entry, struct endpoint *endpoint) {
    const char *text;
    TRY(entry_text(entry, "server", &text));
    if (!text)
        return entry_error(entry, "server", ERROR_INVALID, "found nothing, expected a URL like https://host:6443");
    const char *scheme = endpoint->insecure || endpoint->ca_pem ? "https://" : "http://";
    endpoint->server = text_format("%s%s", strstr(text, "://") ? "" : scheme, text);
    if (!endpoint->server)
        return error_no_memory();
    size_t len = strlen(endpoint->server);
    size_t host = (size_t)(strstr(endpoint->server, "://") + 3 - endpoint->server);
    while (len > host && endpoint->server[len - 1] == '/')
        endpoint->server[--len] = '\0';
    return entry_wrap(entry, "server", server_url_check(endpoint->server));
}

struct error *kubeconfig_read_cluster(const struct kubeconfig_entry *entry, struct endpoint *endpoint) {
    TRY(entry_bool(entry, "insecure-skip-tls-verify", &endpoint->insecure));
    TRY(entry_bool(entry, "disable-compression", &endpoint->disable_compression));
    TRY(read_pem(entry, "certificate-authority", certs_check_certificates, &endpoint->ca_pem, &endpoint->ca_file));
    TRY(read_server(entry, endpoint));
    if (endpoint->ca_pem && endpoint->insecure)
        return entry_error(entry, "insecure-skip-tls-verify", ERROR_INVALID,
                           "found true together with a certificate authority, expected only one of them");
    TRY(entry_copy(entry, "tls-server-name", NULL, &endpoint->tls_server_name));
    TRY(entry_copy(entry, "proxy-url", NULL, &endpoint->proxy_url));
    return endpoint->proxy_url ? entry_wrap(entry, "proxy-url", proxy_check(endpoint->proxy_url)) : NULL;
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
    TRY(read_pem(entry, "client-certificate", certs_check_certificates, &endpoint->client_cert_pem,
                 &endpoint->client_cert_file));
    TRY(read_pem(entry, "client-key", certs_check_key, &endpoint->client_key_pem, &endpoint->client_key_file));
    if (!endpoint->client_cert_pem == !endpoint->client_key_pem)
        return NULL;
    const char *missing = endpoint->client_cert_pem ? "client-key" : "client-certificate";
    return entry_error(entry, missing, ERROR_INVALID, "found nothing, expected it along with the client %s",
                       endpoint->client_cert_pem ? "certificate" : "key");
}

static struct error *read_token(const struct kubeconfig_entry *entry, struct endpoint *endpoint) {
    TRY(entry_copy(entry, "token", NULL, &endpoint->token));
    TRY(copy_path(entry, "tokenFile", &endpoint->token_file));
    AUTO_TEXT token = NULL;
    return entry_wrap(entry, endpoint->token_file && !endpoint->token ? "tokenFile" : "token",
                      endpoint_token(endpoint, &token));
}

// Impersonation: as, as-uid, as-groups and as-user-extra of a user (k8s.io/client-go/transport,
// impersonatingRoundTripper).

// RFC 9110 section 5.5: no control characters, which also keeps line breaks out.
static bool is_value(const char *text) {
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
            return false;
    return true;
}

static struct error *add_header(struct kubeconfig_texts *headers, const struct kubeconfig_entry *entry,
                                const char *field, const char *name, const char *value) {
    if (!is_value(value))
        return entry_error(entry, field, ERROR_INVALID, "found a control character, expected the value of a header");
    return texts_add(headers, text_format("%s:%s%s", name, *value ? " " : "", value)) ? NULL : error_no_memory();
}

static struct error *add_text(struct kubeconfig_texts *headers, const struct kubeconfig_entry *user, const char *field,
                              const char *name) {
    const char *text;
    TRY(entry_text(user, field, &text));
    return text ? add_header(headers, user, field, name, text) : NULL;
}

static struct error *add_list(struct kubeconfig_texts *headers, const struct kubeconfig_entry *entry, const char *field,
                              const char *name) {
    const struct json *item;
    TRY(entry_list(entry, field, &item));
    for (; item; item = json_next(item))
        TRY(add_header(headers, entry, field, name, json_string(item)));
    return NULL;
}

// As headerKeyEscape: percent-encodes % and the characters that a header's name may not have.
static bool escape(struct buffer *out, const char *key) {
    static const char legal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&'*+-.^_`|~";
    for (const char *c = key; *c; c++)
        if (strchr(legal, *c))
            buffer_char(out, *c);
        else
            buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*c);
    return !out->failed;
}

static struct error *add_extra(struct kubeconfig_texts *headers, const struct kubeconfig_entry *user) {
    struct kubeconfig_entry extra;
    TRY(entry_part(user, "as-user-extra", "user.as-user-extra", &extra));
    for (const struct json *member = json_first(extra.value); member; member = json_next(member)) {
        AUTO_BUFFER(name, NAME_MAX_LEN);
        buffer_text(&name, "Impersonate-Extra-");
        TRY(escape(&name, json_key(member)) ? add_list(headers, &extra, json_key(member), name.data)
                                            : error_no_memory());
    }
    return NULL;
}

static struct error *add_all(struct kubeconfig_texts *headers, const struct kubeconfig_entry *user) {
    TRY(add_text(headers, user, "as", "Impersonate-User"));
    bool has_user = headers->count > 0;
    TRY(add_text(headers, user, "as-uid", "Impersonate-Uid"));
    TRY(add_list(headers, user, "as-groups", "Impersonate-Group"));
    TRY(add_extra(headers, user));
    return headers->count == 0 || has_user
               ? NULL
               : entry_error(user, "as", ERROR_INVALID,
                             "found nothing, expected a user along with as-uid, as-groups or as-user-extra");
}

static struct error *read_impersonation(const struct kubeconfig_entry *user, struct endpoint *endpoint) {
    struct kubeconfig_texts headers = {.list = NULL};
    struct error *error = add_all(&headers, user);
    endpoint->impersonation = headers.list; // also after a failure: endpoint_free frees the list
    return error;
}

struct error *kubeconfig_read_user(const struct kubeconfig_entry *entry, const struct kubeconfig_entry *cluster,
                                   const struct exec_policy *policy, struct endpoint *endpoint) {
    TRY(read_certificate(entry, endpoint));
    TRY(read_token(entry, endpoint));
    TRY(refuse_unsupported(entry));
    TRY(read_impersonation(entry, endpoint));
    // As in client-go, which runs no plugin if there are other credentials.
    bool has_own = endpoint->token || endpoint->token_file || endpoint->client_cert_pem;
    return has_own ? NULL : kubeconfig_read_exec(entry, cluster, policy, endpoint);
}
