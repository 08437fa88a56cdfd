// SPDX-License-Identifier: Apache-2.0
// The configuration, the output and the last credential of a plugin (credentials.h).
#include "core/kube/credentials/credentials.h"

#include "core/base/thread.h"
#include "core/json/json.h"

void exec_plugin_free(struct exec_plugin *plugin) {
    if (!plugin)
        return;
    free(plugin->where);
    free(plugin->command);
    free(plugin->directory);
    free(plugin->api_version);
    text_list_free(plugin->args);
    text_list_free(plugin->env);
    free(plugin->info);
    free(plugin->install_hint);
    exec_policy_free(plugin->policy);
    exec_cache_free(plugin->cache);
    free(plugin);
}

static bool equal_lists(char *const *a, char *const *b) {
    size_t i = 0;
    while (a[i] && b[i] && strcmp(a[i], b[i]) == 0)
        i++;
    return !a[i] && !b[i];
}

bool exec_plugin_equal(const struct exec_plugin *a, const struct exec_plugin *b) {
    if (!a || !b)
        return a == b;
    return strcmp(a->command, b->command) == 0 && text_equal(a->directory, b->directory) &&
           strcmp(a->api_version, b->api_version) == 0 && strcmp(a->info, b->info) == 0 &&
           equal_lists(a->args, b->args) && equal_lists(a->env, b->env);
}

struct error *exec_plugin_find(const struct exec_plugin *plugin, char **path) {
    struct error *error = exec_policy_resolve(plugin->policy, plugin->command, plugin->directory, path);
    if (error && error->code == ERROR_NOT_FOUND && plugin->install_hint) {
        struct error *longer = error_new(ERROR_NOT_FOUND, "%s; %s", error_text(error), plugin->install_hint);
        error_free(error);
        error = longer;
    }
    return error_wrap(error, "%s.command", plugin->where);
}

void exec_credential_clear(struct exec_credential *credential) {
    sensitive_free(credential->token);
    free(credential->cert);
    sensitive_free(credential->key);
    *credential = (struct exec_credential){.token = NULL};
}

struct exec_cache {
    pthread_mutex_t mutex;
    struct exec_credential held; // zeros, so expired: none
};

struct exec_cache *exec_cache_new(void) {
    struct exec_cache *cache = calloc(1, sizeof *cache);
    if (cache)
        pthread_mutex_init(&cache->mutex, NULL);
    return cache;
}

void exec_cache_free(struct exec_cache *cache) {
    if (!cache)
        return;
    exec_credential_clear(&cache->held);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

// Apart from the expiry.
static bool are_equal(const struct exec_credential *a, const struct exec_credential *b) {
    return text_equal(a->token, b->token) && text_equal(a->cert, b->cert) && text_equal(a->key, b->key);
}

// False when out of memory; *to is empty then.
static bool copy(const struct exec_credential *from, struct exec_credential *to) {
    *to = (struct exec_credential){.expires_ns = from->expires_ns};
    if (text_set(&to->token, from->token) && text_set(&to->cert, from->cert) && text_set(&to->key, from->key))
        return true;
    exec_credential_clear(to);
    return false;
}

void exec_cache_put(struct exec_cache *cache, const struct exec_credential *fresh) {
    if (!cache)
        return;
    AUTO_LOCK(&cache->mutex);
    exec_credential_clear(&cache->held);
    (void)copy(fresh, &cache->held);
}

bool exec_cache_get(struct exec_cache *cache, const struct exec_credential *other_than, int64_t until_ns,
                    struct exec_credential *out) {
    if (!cache)
        return false;
    AUTO_LOCK(&cache->mutex);
    return cache->held.expires_ns > until_ns && !(other_than && are_equal(&cache->held, other_than)) &&
           copy(&cache->held, out);
}

static struct error *check_constant(const struct json *value, const char *field, const char *expected) {
    const char *found = json_string(json_get(value, field));
    if (text_equal(found, expected))
        return NULL;
    AUTO_BUFFER(shown, 256);
    text_show(&shown, found ? found : "");
    return error_new(ERROR_INVALID, "its output's %s is \"%s\", expected \"%s\"", field,
                     shown.len > 0 ? shown.data : "", expected);
}

// A text of `status`; *out stays NULL if absent or empty.
static struct error *read_text(const struct json *status, const char *field, char **out) {
    const struct json *value = json_get(status, field);
    const char *text = json_string(value);
    if (!text && value && !json_is(value, JSON_NULL))
        return error_new(ERROR_INVALID, "status.%s of its output is not a string", field);
    return text_set_filled(out, text) ? NULL : error_no_memory();
}

static struct error *read_expiry(const struct json *status, int64_t *out) {
    const struct json *value = json_get(status, "expirationTimestamp");
    *out = CLOCK_NEVER;
    if (!value || json_is(value, JSON_NULL))
        return NULL;
    const char *text = json_string(value);
    return text && clock_parse_rfc3339(text, out)
               ? NULL
               : error_new(ERROR_INVALID, "status.expirationTimestamp of its output is no RFC 3339 time");
}

static struct error *check_credential(const struct exec_credential *found) {
    if (!found->token && !found->cert && !found->key)
        return error_new(ERROR_INVALID, "its output has neither status.token nor a client certificate");
    if (!found->cert != !found->key)
        return error_new(ERROR_INVALID, "its output has only a client %s, expected both certificate and key",
                         found->cert ? "certificate" : "key");
    if (found->token)
        TRY(error_wrap(endpoint_check_token(found->token), "status.token"));
    return found->cert ? error_wrap(certs_check_pair(found->cert, found->key), "status.clientCertificateData") : NULL;
}

static struct error *read_status(const struct exec_plugin *plugin, const struct json *value,
                                 struct exec_credential *out) {
    const struct json *status = json_get(value, "status");
    TRY(check_constant(value, "kind", "ExecCredential"));
    TRY(check_constant(value, "apiVersion", plugin->api_version));
    if (!json_is(status, JSON_OBJECT))
        return error_new(ERROR_INVALID, "its output has no status");
    TRY(read_text(status, "token", &out->token));
    TRY(read_text(status, "clientCertificateData", &out->cert));
    TRY(read_text(status, "clientKeyData", &out->key));
    TRY(read_expiry(status, &out->expires_ns));
    return check_credential(out);
}

struct error *exec_credential_read(const struct exec_plugin *plugin, const char *text, size_t len,
                                   struct exec_credential *out) {
    static const struct json_limits limits = {.max_nodes = 4096};
    *out = (struct exec_credential){.expires_ns = CLOCK_NEVER};
    AUTO_JSON value = NULL;
    struct error *error = json_parse_limited(text, len, &limits, &value);
    if (error && error->code != ERROR_NO_MEMORY) {
        error_free(error); // may quote the output, which may be a secret
        error = error_new(ERROR_INVALID, "its output is not JSON, expected an ExecCredential");
    }
    if (!error)
        error = read_status(plugin, value, out);
    if (error)
        exec_credential_clear(out);
    return error;
}
