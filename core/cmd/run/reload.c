// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"
#include "core/cmd/run/run.h"
#include "core/cmd/setup.h"
#include "core/host/check/dependencies.h"
#include "core/host/folder_watcher.h"
#include "core/host/host.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/sources/sources.h"
#include "core/json/yaml.h"

#define FILE_MAX ((size_t)1 << 20)

// A change of any other key takes effect after a restart.
static const char *const live_keys[] = {
    "workers",   "workersFrom",       "removal",           "namespace",       "log",          "createNamespaces",
    "kueue",     "mirrorFinalizer",   "workerLostTimeout", "mirrorRetention", "massDeletion", "orphanGrace",
    "rateLimit", "credentialPlugins", "podEvents",         "memory",          "namespaces",   "maxWorkloads",
    "placement", "onWorkerLost",      "drainTimeout",      "dependencies",    "tenancy",      "lastWords",
    "fencing",  // except its namespace
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
    AUTO_ERROR error = text_read_file(path, FILE_MAX, &text);
    return error ? NULL : buffer_take(&text, NULL);
}

static void check_worker(const struct config *config, const struct worker_spec *worker, struct problems *problems) {
    struct cluster_connection connection = {0};
    struct error *error = connection_load(&connection, worker, &config->credential_plugins, clock_now().wall_ns);
    problems_add_error(problems,
                       error_wrap(error, "%s:%zu: %s", config->path, worker->kubeconfig_line, worker->settings.name));
    connection_close(&connection);
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
    AUTO_ERROR error = yaml_parse(path, former, strlen(former), &a);
    if (!error)
        error = yaml_parse(path, text, strlen(text), &b);
    if (error)
        return;
    add_changed(b.value, a.value, false, out);
    add_changed(a.value, b.value, true, out);
    if (!text_equal(fencing_namespace(a.value), fencing_namespace(b.value)))
        buffer_printf(out, "%sfencing.namespace", out->len > 0 ? ", " : "");
}

#define MESSAGE_MAX ((size_t)4096)

struct reload {
    struct reload_options options;
    const struct config *config; // in use
    struct config *reloaded;     // the same, if not from the options; owned
    struct sources *sources;
    struct source_objects *objects;
    struct folder_watcher *watcher;
    struct watched_folder *file;  // the directory of the configuration
    struct source_folder *folder; // NULL: none is configured
    char *first;                  // the text of the configuration at the start; NULL: not known
    uint64_t seen;                // hash of the text that was read last, in use or not
    char *directory, *name;       // of the file
};

static void apply_workers(void *ctx, struct source_list *list, enum removal removal) {
    struct host *host = ((struct reload *)ctx)->options.host;
    host_set_workers(host, list->specs, list->count, removal);
    host_report_sources(host, list->notes, list->n_notes);
}

static struct error *set_folder(struct reload *reload, const struct config *config) {
    const char *wanted = config->workers_from.directory;
    bool same = exec_policy_equal(&reload->config->credential_plugins, &config->credential_plugins);
    if (reload->folder && same && text_equal(source_folder_directory(reload->folder), wanted))
        return NULL;
    bool had = reload->folder;
    source_folder_free(reload->folder);
    reload->folder = NULL;
    if (!wanted && had)
        sources_set(reload->sources, SOURCE_DIRECTORY, (struct source_list){.specs = NULL});
    return wanted ? source_folder_new(reload->sources, reload->watcher, wanted, &config->credential_plugins,
                                      &reload->folder)
                  : NULL;
}

// Applies a valid configuration.
static struct error *apply_config(struct reload *reload, const struct config *config) {
    sources_set_removal(reload->sources, config->removal);
    struct error *error = sources_set_config(reload->sources, config);
    source_objects_configure(reload->objects, config);
    return error ? error : set_folder(reload, config);
}

static void report_refused(struct reload *reload, const struct problems *problems, const struct error *error) {
    AUTO_BUFFER(message, MESSAGE_MAX);
    if (error)
        buffer_text(&message, error_text(error));
    for (size_t i = 0; i < problems->count; i++) {
        log_fields(LOG_ERROR, "configuration not reloaded: it has a problem", {"problem", problems->list[i]});
        if (message.len + strlen(problems->list[i]) + 64 < MESSAGE_MAX)
            buffer_printf(&message, "%s%s", message.len > 0 ? "; " : "", problems->list[i]);
    }
    if (error)
        log_fields(LOG_ERROR, "configuration not reloaded", {"config", reload->options.config->path},
                   {"error", error_text(error)});
    host_report_reload(reload->options.host, false, clock_now().wall_ns, message.data ? message.data : "");
}

// A valid configuration with the adapters.
struct good {
    struct config *config;
    struct adapters *adapters; // NULL: no further ones
    const char *text;          // or NULL
    struct buffer later;       // unchanged adapters
    struct problems refused;   // kinds in the settings of adapters that are refused alone
};

// The changes that adapters_extend postponed, and the kinds that it refused.
static void report_used(struct reload *reload, const struct good *good) {
    const struct buffer *adapters = &good->later;
    AUTO_BUFFER(later, MESSAGE_MAX);
    if (reload->first && good->text)
        reload_compare(reload->options.config->path, reload->first, good->text, &later);
    if (adapters->len > 0)
        buffer_printf(&later, "%s%s", later.len > 0 ? ", " : "", adapters->data);
    AUTO_BUFFER(message, 2 * MESSAGE_MAX);
    if (later.len > 0)
        buffer_printf(&message, "takes effect after a restart: %s", later.data);
    for (size_t i = 0; i < good->refused.count; i++) {
        log_fields(LOG_ERROR, "a kind is not loaded", {"problem", good->refused.list[i]});
        if (message.len + strlen(good->refused.list[i]) < MESSAGE_MAX)
            buffer_printf(&message, "%s%s", message.len > 0 ? "; " : "", good->refused.list[i]);
    }
    log_fields(later.len > 0 ? LOG_WARN : LOG_INFO,
               later.len > 0 ? "configuration reloaded; a part of it takes effect after a restart"
                             : "configuration reloaded",
               {"config", reload->options.config->path}, {"keys", later.data});
    host_report_reload(reload->options.host, true, clock_now().wall_ns, message.len > 0 ? message.data : NULL);
}

static void report_kinds(const struct adapters *adapters) {
    for (size_t k = adapters->former->n_kinds; k < adapters->n_kinds; k++) {
        const struct kind *kind = adapters->kinds[k];
        log_fields(LOG_INFO, "a kind is added", {"kind", kind->plural_group}, {"adapter", kind->adapter->name},
                   {"version", kind->adapter->version}, {"file", kind->adapter->file},
                   {"sha256", kind->adapter->sha256});
    }
    for (size_t i = adapters->former->n_scorers; i < adapters->n_scorers; i++)
        log_fields(LOG_INFO, "an adapter that rates workers is added", {"adapter", adapters->scorers[i]->name});
}

static void use_config(struct reload *reload, struct good *good) {
    struct config *config = good->config;
    if (good->adapters) {
        report_kinds(good->adapters);
        host_add_adapters(reload->options.host, good->adapters);
    }
    host_configure(reload->options.host, config); // before the workers, which may depend on the plugins
    AUTO_ERROR error = apply_config(reload, config);
    if (error) // out of memory: as much as was possible
        log_fields(LOG_ERROR, "configuration not reloaded completely", {"error", error_text(error)});
    log_setup(config->log_format, config->log_level);
    report_used(reload, good);
    config_free(reload->reloaded);
    reload->reloaded = config;
    reload->config = config;
}

static bool are_none(const struct problems *problems) {
    return problems->count == 0 && problems->lost == 0;
}

// Reads and checks the file as `wharf check` does, and loads new adapters. good->config is NULL if there is any
// problem.
static struct error *read_config(struct reload *reload, struct problems *problems, struct good *good) {
    const struct config *first = reload->options.config;
    struct adapters *former = (struct adapters *)host_adapters(reload->options.host);
    struct config *config = NULL;
    TRY(setup_config(first->path, reload->options.adapter_directory, problems, &config));
    for (size_t i = 0; config && i < config->n_workers; i++)
        check_worker(config, &config->workers[i], problems);
    if (config)
        setup_find_adapters(config, problems);
    struct error *error = NULL;
    if (config && are_none(problems)) { // another name of the controller takes effect after a restart
        struct adapters_options options = config_adapters_of(config, first->controller_name);
        options.patient = false;
        struct adapter_reports reports = {problems, &good->refused, &good->later};
        error = adapters_extend(former, &options, &reports, &good->adapters);
        if (!error && are_none(problems))
            dependencies_check(config, good->adapters ? good->adapters : former, problems);
        if (!are_none(problems))
            adapters_free_newer(TAKE(good->adapters), former);
    }
    if (!error && are_none(problems))
        good->config = TAKE(config);
    config_free(config);
    return error;
}

static void on_change(void *ctx, bool forced) {
    struct reload *reload = ctx;
    AUTO_TEXT text = reload_text(reload->options.config->path);
    uint64_t hash = text ? text_hash(TEXT_HASH, text) : 0;
    if (!forced && (!text || hash == reload->seen)) // a mount that is being replaced has no file for a moment
        return;
    reload->seen = hash;
    notify_reloading(reload->options.notify);
    struct problems problems = {0};
    struct good good = {.text = text};
    buffer_init(&good.later, MESSAGE_MAX);
    AUTO_ERROR error = read_config(reload, &problems, &good);
    if (good.config)
        use_config(reload, &good);
    else
        report_refused(reload, &problems, error);
    notify_reloaded(reload->options.notify,
                    good.config ? "running" : "running; the configuration was not reloaded, see the log");
    buffer_free(&good.later);
    problems_free(&good.refused);
    problems_free(&problems);
}

// A mount replaces entries that begin with two dots.
static bool is_config_file(void *ctx, const char *name) {
    const struct reload *reload = ctx;
    return strcmp(name, reload->name) == 0 || text_has_prefix(name, "..");
}

static struct error *watch_file(struct reload *reload) {
    const char *path = reload->options.config->path, *slash = strrchr(path, '/');
    reload->directory = text_directory(path);
    reload->name = strdup(slash ? slash + 1 : path);
    if (!reload->directory || !reload->name)
        return error_no_memory();
    struct folder_watcher_options options = {
        .directory = reload->directory, .matters = is_config_file, .changed = on_change, .ctx = reload};
    return folder_watcher_add(reload->watcher, &options, &reload->file);
}

static struct error *start_watching(struct reload *reload) {
    struct sources_options options = {.apply = apply_workers, .ctx = reload};
    reload->first = reload->options.text ? strdup(reload->options.text) : NULL;
    reload->seen = reload->first ? text_hash(TEXT_HASH, reload->first) : 0;
    TRY(sources_new(&options, &reload->sources));
    TRY(source_objects_new(reload->sources, reload->options.host, &reload->objects));
    TRY(folder_watcher_new(&reload->watcher));
    TRY(watch_file(reload));
    TRY(apply_config(reload, reload->config));
    struct error *error = folder_watcher_start(reload->watcher);
    return error ? error : source_objects_attach(reload->objects); // last: runs until the host stops
}

void reload_stop(struct reload *reload) {
    if (!reload)
        return;
    folder_watcher_stop(reload->watcher);
    source_folder_free(reload->folder);
    folder_watcher_free(reload->watcher);
    source_objects_free(reload->objects);
    sources_free(reload->sources);
    config_free(reload->reloaded);
    free(reload->first);
    free(reload->directory);
    free(reload->name);
    free(reload);
}

struct error *reload_start(const struct reload_options *options, struct reload **out) {
    struct reload *reload = calloc(1, sizeof *reload);
    if (!reload)
        return error_no_memory();
    reload->options = *options;
    reload->config = options->config;
    struct error *error = start_watching(reload);
    if (error)
        reload_stop(reload);
    else
        *out = reload;
    return error;
}

void reload_now(struct reload *reload) {
    folder_watcher_call(reload->watcher);
}
