// SPDX-License-Identifier: Apache-2.0
// The exec entry of a user: a credential plugin (client-go's ExecConfig).
#include "core/base/digest.h"
#include "core/json/items.h"
#include "core/json/writer.h"
#include "core/kube/credentials/credentials.h"
#include "core/kube/kubeconfig/kubeconfig_file.h"

#include <stdlib.h>
#include <string.h>

#define GROUP "client.authentication.k8s.io/"
#define EXEC_INFO_MAX ((size_t)120 * 1024)
#define PEM_BASE64_MAX ((size_t)8 * 1024 * 1024)
#define HINT_MAX 400

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

struct error *kubeconfig_read_exec(const struct kubeconfig_entry *user, const struct kubeconfig_entry *cluster,
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
