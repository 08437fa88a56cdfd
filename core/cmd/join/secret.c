// SPDX-License-Identifier: Apache-2.0
// The management cluster's side: the Secret with the kubeconfig of the worker.
#include "core/base/digest.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/join/join.h"
#include "core/json/writer.h"
#include "core/json/yaml.h"

#include <stdlib.h>
#include <string.h>

#define SECRET_MAX (2 * JOIN_KUBECONFIG_MAX)

static bool write_cluster(struct writer *writer, const struct endpoint *endpoint, const char *server) {
    AUTO_BUFFER(ca, JOIN_KUBECONFIG_MAX);
    writer_string(writer, "server", server ? server : endpoint->server);
    if (endpoint->ca_pem && text_base64_encode(endpoint->ca_pem, strlen(endpoint->ca_pem), &ca))
        writer_string(writer, "certificate-authority-data", ca.data);
    if (endpoint->insecure)
        writer_bool(writer, "insecure-skip-tls-verify", true);
    if (endpoint->tls_server_name)
        writer_string(writer, "tls-server-name", endpoint->tls_server_name);
    if (endpoint->proxy_url)
        writer_string(writer, "proxy-url", endpoint->proxy_url);
    return !ca.failed;
}

static bool write_kubeconfig(struct writer *writer, const struct join *join, const char *server, const char *token) {
    writer_object(writer, NULL);
    writer_string(writer, "apiVersion", "v1");
    writer_string(writer, "kind", "Config");
    writer_string(writer, "current-context", join->name);
    writer_array(writer, "clusters");
    writer_object(writer, NULL);
    writer_string(writer, "name", join->name);
    writer_object(writer, "cluster");
    bool made = write_cluster(writer, join->worker.connection.endpoint, server);
    writer_end(writer, '}');
    writer_end(writer, '}');
    writer_end(writer, ']');
    writer_array(writer, "users");
    writer_object(writer, NULL);
    writer_string(writer, "name", join->rights.account);
    writer_object(writer, "user");
    writer_string(writer, "token", token);
    writer_end(writer, '}');
    writer_end(writer, '}');
    writer_end(writer, ']');
    writer_array(writer, "contexts");
    writer_object(writer, NULL);
    writer_string(writer, "name", join->name);
    writer_object(writer, "context");
    writer_string(writer, "cluster", join->name);
    writer_string(writer, "user", join->rights.account);
    writer_end(writer, '}');
    writer_end(writer, '}');
    writer_end(writer, ']');
    writer_end(writer, '}');
    return made && !writer->out->failed;
}

struct error *join_kubeconfig(const struct join *join, const char *server, const char *token, struct buffer *out) {
    AUTO_BUFFER(text, JOIN_KUBECONFIG_MAX);
    struct writer writer = {.out = &text};
    if (!write_kubeconfig(&writer, join, server, token))
        return error_new(ERROR_TOO_LARGE, "the worker's CA certificates do not fit into a Secret");
    AUTO_JSON value = NULL;
    struct error *error = json_parse(text.data, text.len, &value);
    if (!error && !yaml_print(value, out))
        error = error_no_memory();
    return error;
}

// Calls `each` for each "key=value".
static struct error *each_label(const char *labels, void (*each)(void *ctx, const char *key, const char *value),
                                void *ctx) {
    for (const char *at = labels ? labels : ""; *at != '\0';) {
        size_t len = strcspn(at, ","), key_len = strcspn(at, "=,");
        AUTO_TEXT key = text_format(JOIN_LABELS "%.*s", (int)key_len, at);
        AUTO_TEXT value = key_len < len ? strndup(at + key_len + 1, len - key_len - 1) : strdup("");
        if (!key || !value)
            return error_no_memory();
        if (key_len == len || !text_is_label_key(key) || !text_is_label_value(value))
            return error_new(ERROR_USAGE, "--labels: found \"%.*s\", expected labels like region=eu,gpu=a100", (int)len,
                             at);
        if (each)
            each(ctx, key, value);
        at += len + (at[len] == ',' ? 1 : 0);
    }
    return NULL;
}

struct error *join_check_labels(const char *labels) {
    return each_label(labels, NULL, NULL);
}

static void write_label(void *ctx, const char *key, const char *value) {
    writer_string(ctx, key, value);
}

static struct error *write_secret(struct writer *writer, const struct join *join, const char *kubeconfig,
                                  bool readable) {
    AUTO_TEXT account = text_format("%s/%s", join->namespace_, join->rights.account);
    writer_object(writer, NULL);
    writer_string(writer, "apiVersion", "v1");
    writer_string(writer, "kind", "Secret");
    writer_object(writer, "metadata");
    writer_string(writer, "name", join->name);
    writer_string(writer, "namespace", join->namespace_);
    writer_object(writer, "labels");
    writer_string(writer, JOIN_LABEL, "true");
    struct error *error = each_label(join->labels, write_label, writer);
    writer_end(writer, '}');
    writer_object(writer, "annotations");
    writer_string(writer, JOIN_UID, join->worker.uid);
    writer_string(writer, JOIN_ACCOUNT, account);
    writer_end(writer, '}');
    writer_end(writer, '}');
    writer_object(writer, readable ? "stringData" : "data");
    writer_string(writer, "kubeconfig", kubeconfig);
    writer_end(writer, '}');
    writer_end(writer, '}');
    return !error && (!account || writer->out->failed) ? error_no_memory() : error;
}

struct error *join_secret(const struct join *join, const char *token, bool readable, struct json **out) {
    AUTO_BUFFER(kubeconfig, JOIN_KUBECONFIG_MAX);
    AUTO_BUFFER(encoded, SECRET_MAX);
    AUTO_BUFFER(text, SECRET_MAX);
    struct writer writer = {.out = &text};
    struct error *error = join_kubeconfig(join, join->server, token, &kubeconfig);
    if (!error && !text_base64_encode(kubeconfig.data, kubeconfig.len, &encoded))
        error = error_no_memory();
    if (!error)
        error = write_secret(&writer, join, readable ? kubeconfig.data : encoded.data, readable);
    return error ? error : json_parse(text.data, text.len, out);
}
