// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/run/reload.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/setup.h"
#include "core/host/io/cluster_connection.h"
#include "core/json/yaml.h"

#include <string.h>

#define FILE_MAX ((size_t)1 << 20)

// Of the others a change takes effect after a restart.
static const char *const live_keys[] = {
    "workers",   "workersFrom",       "removal",           "namespace",       "log",          "createNamespaces",
    "kueue",     "mirrorFinalizer",   "workerLostTimeout", "mirrorRetention", "massDeletion", "orphanGrace",
    "rateLimit", "credentialPlugins", "podEvents",         "memory",          "namespaces",   "maxWorkloads",
    "placement", "onWorkerLost",      "drainTimeout",
    "fencing",  // but for its namespace
    "adapters", // where adapters_extend says nothing else
};

static bool is_live(const char *key) {
    for (size_t i = 0; i < sizeof live_keys / sizeof live_keys[0]; i++)
        if (strcmp(live_keys[i], key) == 0)
            return true;
    return false;
}

char *reload_text(const char *path) {
    AUTO_BUFFER(text, FILE_MAX);
    struct error *error = text_read_file(path, FILE_MAX, &text);
    bool good = !error;
    error_free(error);
    return good ? buffer_take(&text, NULL) : NULL;
}

static void check_worker(const struct config *config, const struct worker_spec *worker, struct problems *problems) {
    struct cluster_connection connection = {0};
    struct error *error = connection_load(&connection, worker, &config->credential_plugins, clock_now().wall_ns);
    problems_add_error(problems,
                       error_wrap(error, "%s:%zu: %s", config->path, worker->kubeconfig_line, worker->settings.name));
    connection_close(&connection);
}

struct error *reload_read(const char *path, const char *adapter_directory, struct problems *problems,
                          struct config **out) {
    struct config *config = NULL;
    *out = NULL;
    struct error *error = setup_config(path, adapter_directory, problems, &config);
    if (error || !config)
        return error;
    for (size_t i = 0; i < config->n_workers; i++)
        check_worker(config, &config->workers[i], problems);
    setup_find_adapters(config, problems);
    if (problems->count > 0 || problems->lost > 0)
        config_free(config);
    else
        *out = config;
    return NULL;
}

static void add_changed(const struct json *a, const struct json *b, bool missing_only, struct buffer *out) {
    for (const struct json *member = json_first(a); member; member = json_next(member)) {
        const struct json *other = json_get(b, json_key(member));
        bool differs = missing_only ? !other : !json_equal(member, other);
        if (differs && !is_live(json_key(member)))
            buffer_printf(out, "%s%s", out->len > 0 ? ", " : "", json_key(member));
    }
}

static const char *fencing_namespace(const struct json *config) {
    return json_string_or(json_path(config, "fencing", "namespace", NULL), "");
}

void reload_compare(const char *path, const char *former, const char *text, struct buffer *out) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml a = {.value = NULL};
    __attribute__((cleanup(yaml_cleanup))) struct yaml b = {.value = NULL};
    struct error *error = yaml_parse(path, former, strlen(former), &a);
    if (!error)
        error = yaml_parse(path, text, strlen(text), &b);
    if (!error) {
        add_changed(b.value, a.value, false, out);
        add_changed(a.value, b.value, true, out);
        if (!text_equal(fencing_namespace(a.value), fencing_namespace(b.value)))
            buffer_printf(out, "%sfencing.namespace", out->len > 0 ? ", " : "");
    }
    error_free(error);
}
