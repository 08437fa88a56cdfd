// SPDX-License-Identifier: Apache-2.0
// The objects on both sides: the Secret with the worker's kubeconfig in the management cluster; the host's namespace,
// account, rights and token in the worker.
#include "core/base/digest.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/document.h"
#include "core/cmd/join/join.h"
#include "core/json/yaml.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_MAX (2 * JOIN_KUBECONFIG_MAX)

// Nothing for NULL.
static bool set_text(struct json *object, const char *key, const char *text) {
    return !text || json_set(object, key, json_new_string(text));
}

static struct json *make_cluster(const struct endpoint *endpoint, const char *server) {
    AUTO_BUFFER(ca, JOIN_KUBECONFIG_MAX);
    AUTO_JSON cluster = document_make("{'server':%s}", server ? server : endpoint->server);
    bool made = !endpoint->ca_pem || text_base64_encode(endpoint->ca_pem, strlen(endpoint->ca_pem), &ca);
    made = made && set_text(cluster, "certificate-authority-data", ca.data) &&
           (!endpoint->insecure || json_set(cluster, "insecure-skip-tls-verify", json_new_bool(true))) &&
           set_text(cluster, "tls-server-name", endpoint->tls_server_name) &&
           set_text(cluster, "proxy-url", endpoint->proxy_url);
    return made ? TAKE(cluster) : NULL;
}

struct error *join_kubeconfig(const struct join *join, const char *server, const char *token, struct buffer *out) {
    const char *name = join->name, *account = join->rights.account;
    AUTO_JSON cluster = make_cluster(join->worker.connection.endpoint, server);
    AUTO_JSON kubeconfig = document_make(
        "{'apiVersion':'v1','kind':'Config','current-context':%s,'clusters':[{'name':%s,'cluster':%j}],'users':[{'name'"
        ":%s,'user':{'token':%s}}],'contexts':[{'name':%s,'context':{'cluster':%s,'user':%s}}]}",
        name, name, cluster, account, token, name, name, account);
    if (!cluster || !kubeconfig)
        return error_new(ERROR_TOO_LARGE, "the worker's CA certificates do not fit into a Secret");
    return yaml_print(kubeconfig, out) ? NULL : error_no_memory();
}

struct json *join_namespace(const char *namespace_) {
    return document_make("{'apiVersion':'v1','kind':'Namespace','metadata':{'name':%s}}", namespace_);
}

struct error *join_read_labels(const char *labels, struct json **out) {
    AUTO_JSON made = json_new_object();
    size_t len = 0;
    for (const char *rest = labels ? labels : "", *at; document_next_word(&rest, ',', &at, &len);) {
        size_t key_len = strcspn(at, "=,");
        AUTO_TEXT key = text_format(JOIN_LABELS "%.*s", (int)key_len, at);
        AUTO_TEXT value = key_len < len ? strndup(at + key_len + 1, len - key_len - 1) : strdup("");
        if (!key || !value)
            return error_no_memory();
        if (key_len == len || !text_is_label_key(key) || !text_is_label_value(value))
            return error_new(ERROR_USAGE, "--labels: found \"%.*s\", expected labels like region=eu,gpu=a100", (int)len,
                             at);
        if (!json_set(made, key, json_new_string(value)))
            return error_no_memory();
    }
    *out = TAKE(made);
    return *out ? NULL : error_no_memory();
}

struct error *join_secret(const struct join *join, const char *token, bool readable, struct json **out) {
    AUTO_BUFFER(kubeconfig, JOIN_KUBECONFIG_MAX);
    AUTO_BUFFER(encoded, SECRET_MAX);
    AUTO_JSON labels = NULL;
    AUTO_TEXT account = text_format("%s/%s", join->namespace_, join->rights.account);
    TRY(join_kubeconfig(join, join->server, token, &kubeconfig));
    TRY(join_read_labels(join->labels, &labels));
    if (account && json_set(labels, JOIN_LABEL, json_new_string("true")) &&
        text_base64_encode(kubeconfig.data, kubeconfig.len, &encoded))
        *out = document_make("{'apiVersion':'v1','kind':'Secret','metadata':{'name':%s,'namespace':%s,'labels':%j,'"
                             "annotations':{'" JOIN_UID "':%s,'" JOIN_ACCOUNT "':%s}},%s:{'kubeconfig':%s}}",
                             join->name, join->namespace_, labels, join->worker.uid, account,
                             readable ? "stringData" : "data", readable ? kubeconfig.data : encoded.data);
    return *out ? NULL : error_no_memory();
}

struct error *join_print_rights(const struct join *join, struct buffer *out) {
    AUTO_JSON namespace_ = join_namespace(join->namespace_);
    if (!namespace_ || !yaml_print(namespace_, out) || !buffer_text(out, "---\n"))
        return error_no_memory();
    return rbac_print(&join->rights, &join->setup, out);
}

// Marks the account with the host's management cluster.
static struct error *mark_account(const struct join *join, struct json *object) {
    if (strcmp(json_string_or(json_get(object, "kind"), ""), "ServiceAccount") != 0)
        return NULL;
    bool made = json_set(json_get(object, "metadata"), "annotations",
                         document_make("{'" JOIN_OWNER "':%s}", join->management.uid));
    return made ? NULL : error_no_memory();
}

struct error *join_grant(struct join *join) {
    AUTO_BUFFER(text, RBAC_TEXT_MAX);
    __attribute__((cleanup(yaml_cleanup))) struct yaml objects = {.value = NULL};
    TRY(join_print_rights(join, &text));
    TRY(yaml_parse_all("rbac", text.data, text.len, &objects));
    for (struct json *o = json_first(objects.value); o; o = json_next(o)) {
        TRY(mark_account(join, o));
        TRY(cluster_apply(&join->worker, o));
    }
    return NULL;
}

static void print_expiry(const struct join *join, int64_t expires_ns) {
    char when[CLOCK_RFC3339_MAX] = "";
    if (expires_ns > 0)
        clock_rfc3339(expires_ns, when);
    printf("%s: token for serviceaccount/%s created%s%s\n", join->worker.role, join->rights.account,
           expires_ns > 0 ? ", valid until " : "", when);
    fflush(stdout);
}

struct error *join_request_token(struct join *join) {
    __attribute__((cleanup(token_request_clear))) struct token_request made = {.body = NULL};
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    int64_t expires_ns = 0;
    struct error *error = token_request_make(join->namespace_, join->rights.account, join->token_seconds, NULL, &made);
    if (!error)
        error = ask(join->worker.client, &made.request, &response);
    if (!error)
        error = token_request_read(&response, &join->token, &expires_ns);
    if (error)
        return error_wrap(error, "%s", join->worker.role);
    print_expiry(join, expires_ns);
    return NULL;
}
