// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/run/live.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/cmd/run/reload.h"
#include "core/host/folder_watcher.h"
#include "core/host/sources/source_folder.h"
#include "core/host/sources/source_objects.h"
#include "core/host/startup/load_adapters.h"
#include "core/host/workers.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX ((size_t)4096)

struct live_program {
    struct live_options options;
    const struct config *config; // in use
    struct config *reloaded;     // the same, once it is not that of the options; owned
    struct sources *sources;
    struct source_objects *objects;
    struct folder_watcher *watcher;
    struct watched_folder *file;  // the directory of the configuration
    struct source_folder *folder; // NULL: none is configured
    char *first;                  // the text of the configuration at the start; NULL: not known
    uint64_t seen;                // hash of the text that was read last, in use or not
    char *directory, *name;       // of its file
};

static void apply_workers(void *ctx, struct worker_spec *specs, size_t count, enum removal removal) {
    struct live_program *live = ctx;
    host_set_workers(live->options.host, specs, count, removal);
}

static void tell_sources(void *ctx, struct source_note *notes, size_t count) {
    struct live_program *live = ctx;
    host_tell_sources(live->options.host, notes, count);
}

static struct error *set_folder(struct live_program *live, const struct config *config) {
    const char *wanted = config->workers_from.directory;
    bool same = exec_policy_equal(&live->config->credential_plugins, &config->credential_plugins);
    if (live->folder && same && text_equal(source_folder_directory(live->folder), wanted))
        return NULL;
    bool had = live->folder;
    source_folder_free(live->folder);
    live->folder = NULL;
    if (!wanted && had)
        sources_set(live->sources, SOURCE_DIRECTORY, NULL, 0, NULL, 0);
    return wanted ? source_folder_new(live->sources, live->watcher, wanted, &config->credential_plugins, &live->folder)
                  : NULL;
}

// Everything of a configuration that was found good.
static struct error *use(struct live_program *live, const struct config *config) {
    sources_set_removal(live->sources, config->removal);
    struct error *error = sources_set_config(live->sources, config);
    source_objects_configure(live->objects, config);
    return error ? error : set_folder(live, config);
}

static void tell_refused(struct live_program *live, const struct problems *problems, const struct error *error) {
    AUTO_BUFFER(message, MESSAGE_MAX);
    if (error)
        buffer_text(&message, error_text(error));
    for (size_t i = 0; i < problems->count; i++) {
        log_fields(LOG_ERROR, "configuration not reloaded: it has a problem", {"problem", problems->list[i]});
        if (message.len + strlen(problems->list[i]) + 64 < MESSAGE_MAX)
            buffer_printf(&message, "%s%s", message.len > 0 ? "; " : "", problems->list[i]);
    }
    if (error)
        log_fields(LOG_ERROR, "configuration not reloaded", {"config", live->options.config->path},
                   {"error", error_text(error)});
    host_tell_reload(live->options.host, false, clock_now().wall_ns, message.data ? message.data : "");
}

// `adapters`: what adapters_extend has left for later.
static void tell_used(struct live_program *live, const char *text, const struct buffer *adapters) {
    AUTO_BUFFER(later, MESSAGE_MAX);
    if (live->first && text)
        reload_compare(live->options.config->path, live->first, text, &later);
    if (adapters->len > 0)
        buffer_printf(&later, "%s%s", later.len > 0 ? ", " : "", adapters->data);
    AUTO_TEXT message = later.len > 0 ? text_format("takes effect after a restart: %s", later.data) : NULL;
    log_fields(later.len > 0 ? LOG_WARN : LOG_INFO,
               later.len > 0 ? "configuration reloaded; a part of it takes effect after a restart"
                             : "configuration reloaded",
               {"config", live->options.config->path}, {"keys", later.data});
    host_tell_reload(live->options.host, true, clock_now().wall_ns, message);
}

static void tell_kinds(const struct adapters *adapters) {
    for (size_t k = adapters->former->n_kinds; k < adapters->n_kinds; k++) {
        const struct kind *kind = adapters->kinds[k];
        log_fields(LOG_INFO, "a kind is added", {"kind", kind->plural_group}, {"adapter", kind->adapter->name},
                   {"version", kind->adapter->version}, {"file", kind->adapter->file},
                   {"sha256", kind->adapter->sha256});
    }
}

// A configuration that was found good, and what it brings.
struct good {
    struct config *config;
    struct adapters *adapters; // NULL: no further ones
    const char *text;          // or NULL
    struct buffer later;       // adapters that go on as they were
};

static void replace(struct live_program *live, struct good *good) {
    struct config *config = good->config;
    if (good->adapters) {
        tell_kinds(good->adapters);
        host_add_adapters(live->options.host, good->adapters);
    }
    host_configure(live->options.host, config); // before the workers, which it may allow
    struct error *error = use(live, config);
    if (error) { // out of memory: as much as was possible
        log_fields(LOG_ERROR, "configuration not reloaded completely", {"error", error_text(error)});
        error_free(error);
    }
    log_setup(config->log_format, config->log_level);
    tell_used(live, good->text, &good->later);
    config_free(live->reloaded);
    live->reloaded = config;
    live->config = config;
}

// good->config is NULL if there is any problem.
static struct error *read_again(struct live_program *live, struct problems *problems, struct good *good) {
    struct config *config = NULL;
    const struct config *first = live->options.config;
    struct error *error = reload_read(first->path, live->options.adapter_directory, problems, &config);
    if (!config)
        return error;
    struct adapters *former = (struct adapters *)host_adapters(live->options.host);
    error = load_more_adapters(former, config, first->controller_name, problems, &good->later, &good->adapters);
    if (error || problems->count > 0 || problems->lost > 0)
        config_free(config);
    else
        good->config = config;
    return error;
}

static void changed(void *ctx, bool forced) {
    struct live_program *live = ctx;
    AUTO_TEXT text = reload_text(live->options.config->path);
    uint64_t hash = text ? text_hash(TEXT_HASH, text) : 0;
    if (!forced && (!text || hash == live->seen)) // a mount that is being replaced has no file for a moment
        return;
    live->seen = hash;
    live->options.reloading(live->options.ctx);
    struct problems problems = {0};
    struct good good = {.text = text};
    buffer_init(&good.later, MESSAGE_MAX);
    struct error *error = read_again(live, &problems, &good);
    if (good.config)
        replace(live, &good);
    else
        tell_refused(live, &problems, error);
    live->options.reloaded(live->options.ctx, good.config);
    buffer_free(&good.later);
    error_free(error);
    problems_free(&problems);
}

// A mount replaces what begins with two dots.
static bool matters(void *ctx, const char *name) {
    const struct live_program *live = ctx;
    return strcmp(name, live->name) == 0 || text_has_prefix(name, "..");
}

static struct error *watch_file(struct live_program *live) {
    const char *path = live->options.config->path, *slash = strrchr(path, '/');
    live->directory = text_directory(path);
    live->name = strdup(slash ? slash + 1 : path);
    if (!live->directory || !live->name)
        return error_no_memory();
    struct folder_watcher_options options = {
        .directory = live->directory, .matters = matters, .changed = changed, .ctx = live};
    return folder_watcher_add(live->watcher, &options, &live->file);
}

static struct error *start(struct live_program *live) {
    struct sources_options options = {.apply = apply_workers, .tell = tell_sources, .ctx = live};
    live->first = live->options.text ? strdup(live->options.text) : NULL;
    live->seen = live->first ? text_hash(TEXT_HASH, live->first) : 0;
    struct error *error = sources_new(&options, &live->sources);
    if (!error)
        error = source_objects_new(live->sources, live->options.host, &live->objects);
    if (!error)
        error = folder_watcher_new(&live->watcher);
    if (!error)
        error = watch_file(live);
    if (!error)
        error = use(live, live->config);
    if (!error)
        error = folder_watcher_start(live->watcher);
    return error ? error : source_objects_attach(live->objects); // last: it runs until the host stops
}

void live_stop(struct live_program *live) {
    if (!live)
        return;
    folder_watcher_stop(live->watcher);
    source_folder_free(live->folder);
    folder_watcher_free(live->watcher);
    source_objects_free(live->objects);
    sources_free(live->sources);
    config_free(live->reloaded);
    free(live->first);
    free(live->directory);
    free(live->name);
    free(live);
}

struct error *live_start(const struct live_options *options, struct live_program **out) {
    struct live_program *live = calloc(1, sizeof *live);
    if (!live)
        return error_no_memory();
    live->options = *options;
    live->config = options->config;
    struct error *error = start(live);
    if (error)
        live_stop(live);
    else
        *out = live;
    return error;
}

void live_reload(struct live_program *live) {
    folder_watcher_call(live->watcher);
}
