// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/json/json.h"
#include "core/json/writer.h"
#include "core/kube/credentials/credentials.h"
#include "core/kube/kubeconfig/kubeconfig_file.h"

#define GROUP "client.authentication.k8s.io/"
#define EXEC_INFO_MAX ((size_t)120 * 1024)
#define PEM_BASE64_MAX ((size_t)8 * 1024 * 1024)
#define HINT_MAX 400
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

// The exec entry of a user: a credential plugin (client-go's ExecConfig).

static struct error *read_version(const struct kubeconfig_entry *exec, struct exec_plugin *plugin) {
    static const char expected[] = GROUP "v1 or " GROUP "v1beta1";
    TRY(entry_copy(exec, "apiVersion", expected, &plugin->api_version));
    if (strcmp(plugin->api_version, GROUP "v1") == 0 || strcmp(plugin->api_version, GROUP "v1beta1") == 0)
        return NULL;
    return entry_error(exec, "apiVersion", ERROR_UNSUPPORTED, "found \"%s\", expected %s", plugin->api_version,
                       expected);
}

// There is no terminal. v1 has no default.
static struct error *check_mode(const struct kubeconfig_entry *exec, const struct exec_plugin *plugin) {
    const char *mode;
    TRY(entry_text(exec, "interactiveMode", &mode));
    if (!mode && strcmp(plugin->api_version, GROUP "v1") == 0)
        return entry_error(exec, "interactiveMode", ERROR_INVALID, "found nothing, expected Never or IfAvailable");
    if (!mode || strcmp(mode, "Never") == 0 || strcmp(mode, "IfAvailable") == 0)
        return NULL;
    if (strcmp(mode, "Always") == 0)
        return entry_error(exec, "interactiveMode", ERROR_UNSUPPORTED,
                           "found Always, expected Never or IfAvailable: there is no terminal");
    return entry_error(exec, "interactiveMode", ERROR_INVALID, "found \"%s\", expected Never or IfAvailable", mode);
}

static struct error *read_args(const struct kubeconfig_entry *exec, struct exec_plugin *plugin) {
    struct kubeconfig_texts args = {.list = NULL};
    const struct json *item;
    TRY(entry_list(exec, "args", &item));
    bool ok = texts_add(&args, strdup(plugin->command));
    for (; item && ok; item = json_next(item))
        ok = texts_add(&args, strdup(json_string(item)));
    plugin->args = args.list; // also after a failure: exec_plugin_free frees the list
    return ok ? NULL : error_no_memory();
}

static struct error *read_variable(const struct kubeconfig_entry *exec, const struct json *item,
                                   const struct exec_policy *policy, char **out) {
    const char *name = json_string(json_get(item, "name"));
    const struct json *given = json_get(item, "value");
    const char *value = !given || json_is(given, JSON_NULL) ? "" : json_string(given);
    if (!name || !*name || strchr(name, '=') || !value)
        return entry_error(exec, "env", ERROR_INVALID,
                           "found an item that is not a variable, expected name and value, which are strings");
    bool trusted = exec->file->directory || (policy && policy->own_entry);
    if (!trusted && !exec_policy_allows_variable(policy, name, value))
        return entry_error(
            exec, "env", ERROR_REFUSED,
            "found the variable %s, which a kubeconfig that is not a file of this machine may not set to "
            "that: credentialPlugins.env lists those that it may set",
            name);
    *out = text_format("%s=%s", name, value);
    return *out ? NULL : error_no_memory();
}

static struct error *read_env(const struct kubeconfig_entry *exec, struct exec_plugin *plugin) {
    const struct json *list = json_get(exec->value, "env");
    if (list && !json_is(list, JSON_ARRAY) && !json_is(list, JSON_NULL))
        return entry_error(exec, "env", ERROR_INVALID, "expected a list of variables, each with name and value");
    plugin->env = calloc(json_size(list) + 1, sizeof *plugin->env);
    if (!plugin->env)
        return error_no_memory();
    size_t count = 0;
    for (const struct json *item = json_first(list); item; item = json_next(item))
        TRY(read_variable(exec, item, plugin->policy, &plugin->env[count++]));
    return NULL;
}

// The installation hint is prose of several lines; an error is one.
static struct error *read_hint(const struct kubeconfig_entry *exec, struct exec_plugin *plugin) {
    const char *text;
    TRY(entry_text(exec, "installHint", &text));
    if (!text)
        return NULL;
    char cut[HINT_MAX];
    text_copy(cut, sizeof cut, text);
    AUTO_BUFFER(line, 8 * (size_t)HINT_MAX);
    text_show(&line, trim_spaces(cut));
    plugin->install_hint = buffer_take(&line, NULL);
    return plugin->install_hint ? NULL : error_no_memory();
}

// The cluster's extension for plugins, any JSON. False when out of memory.
static bool put_config(struct writer *writer, const struct kubeconfig_entry *cluster) {
    const struct json *item = json_find_item(json_get(cluster->value, "extensions"), "name", GROUP "exec");
    const struct json *extension = json_get(item, "extension");
    return !extension || (buffer_text(writer->out, ",\"config\":") && json_print(extension, writer->out));
}

static void put_text(struct writer *writer, const char *key, const char *text) {
    if (text)
        writer_string(writer, key, text);
}

// clientauthentication.Cluster. The fields have the names of the kubeconfig. False when out of memory.
static bool put_cluster(struct writer *writer, const struct kubeconfig_entry *cluster,
                        const struct endpoint *endpoint) {
    AUTO_BUFFER(ca, PEM_BASE64_MAX);
    if (endpoint->ca_pem && !text_base64_encode(endpoint->ca_pem, strlen(endpoint->ca_pem), &ca))
        return false;
    writer_object(writer, "cluster");
    writer_string(writer, "server", endpoint->server);
    put_text(writer, "tls-server-name", endpoint->tls_server_name);
    put_text(writer, "certificate-authority-data", ca.data);
    put_text(writer, "proxy-url", endpoint->proxy_url);
    if (endpoint->insecure)
        writer_bool(writer, "insecure-skip-tls-verify", true);
    if (endpoint->disable_compression)
        writer_bool(writer, "disable-compression", true);
    bool ok = put_config(writer, cluster);
    writer_end(writer, '}');
    return ok;
}

static struct error *make_info(const struct kubeconfig_entry *exec, const struct kubeconfig_entry *cluster,
                               const struct endpoint *endpoint, struct exec_plugin *plugin) {
    bool provide = false;
    TRY(entry_bool(exec, "provideClusterInfo", &provide));
    AUTO_BUFFER(text, 2 * PEM_BASE64_MAX);
    struct writer writer = {.out = &text};
    writer_object(&writer, NULL);
    writer_string(&writer, "kind", "ExecCredential");
    writer_string(&writer, "apiVersion", plugin->api_version);
    writer_object(&writer, "spec");
    writer_bool(&writer, "interactive", false);
    if (provide && !put_cluster(&writer, cluster, endpoint))
        return error_no_memory();
    writer_end(&writer, '}');
    writer_end(&writer, '}');
    // A larger one could not be passed to a program (execve(2), MAX_ARG_STRLEN).
    if (text.len > EXEC_INFO_MAX)
        return entry_error(exec, "provideClusterInfo", ERROR_TOO_LARGE,
                           "the description of the cluster is larger than %zu bytes", EXEC_INFO_MAX);
    plugin->info = buffer_take(&text, NULL);
    return plugin->info ? NULL : error_no_memory();
}

static struct error *read_plugin(const struct kubeconfig_entry *exec, const struct kubeconfig_entry *cluster,
                                 const struct exec_policy *policy, const struct endpoint *endpoint,
                                 struct exec_plugin *plugin) {
    plugin->where = entry_place(exec, NULL);
    plugin->cache = exec_cache_new();
    if (!plugin->cache || !plugin->where || !text_set(&plugin->directory, exec->file->directory) ||
        !exec_policy_copy(policy, &plugin->policy))
        return error_no_memory();
    TRY(entry_copy(exec, "command", "the credential plugin to run", &plugin->command));
    TRY(read_version(exec, plugin));
    TRY(check_mode(exec, plugin));
    TRY(read_args(exec, plugin));
    TRY(read_env(exec, plugin));
    TRY(read_hint(exec, plugin));
    return make_info(exec, cluster, endpoint, plugin);
}

static struct error *read_exec(const struct kubeconfig_entry *user, const struct kubeconfig_entry *cluster,
                               const struct exec_policy *policy, struct endpoint *endpoint) {
    struct kubeconfig_entry exec;
    TRY(entry_part(user, "exec", "user.exec", &exec));
    if (!exec.value)
        return NULL;
    endpoint->exec = calloc(1, sizeof *endpoint->exec);
    if (!endpoint->exec)
        return error_no_memory();
    TRY(read_plugin(&exec, cluster, policy, endpoint, endpoint->exec));
    AUTO_TEXT path = NULL;
    return exec_plugin_find(endpoint->exec, &path);
}

struct error *kubeconfig_read_user(const struct kubeconfig_entry *entry, const struct kubeconfig_entry *cluster,
                                   const struct exec_policy *policy, struct endpoint *endpoint) {
    TRY(read_certificate(entry, endpoint));
    TRY(read_token(entry, endpoint));
    TRY(refuse_unsupported(entry));
    TRY(read_impersonation(entry, endpoint));
    // As in client-go, which runs no plugin if there are other credentials.
    bool has_own = endpoint->token || endpoint->token_file || endpoint->client_cert_pem;
    return has_own ? NULL : read_exec(entry, cluster, policy, endpoint);
}
