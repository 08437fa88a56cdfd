// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/sources.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/trust.h"
#include "core/host/folder_watcher.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#define FILE_MAX ((size_t)1 << 20) // of a kubeconfig

struct source_folder {
    const char *directory; // in the same block
    struct sources *sources;
    struct folder_watcher *watcher;
    struct watched_folder *watched;
    struct exec_policy *policy;
    struct source_items items;
    bool read; // at least once
};

// The length of the worker's name, or 0.
static size_t name_len(const char *file) {
    static const char *const suffixes[] = {".kubeconfig", ".yaml"};
    for (size_t i = 0; i < 2 && *file != '.'; i++)
        if (text_has_suffix(file, suffixes[i]))
            return strlen(file) - strlen(suffixes[i]);
    return 0;
}

// Mounts replace names that begin with two dots.
static bool is_worker_file(void *ctx, const char *name) {
    (void)ctx;
    return name_len(name) > 0 || text_has_prefix(name, "..");
}

static struct error *check_name(const char *name) {
    if (text_is_dns_label(name) && strcmp(name, "management") != 0)
        return NULL;
    return error_new(ERROR_INVALID,
                     "found worker name \"%.80s\", expected at most 63 lower-case letters, digits and '-', and not "
                     "management",
                     name);
}

// The author of the file chooses which other files the host reads, and the environment of credential plugins. Opening a
// FIFO would block until another process writes.
static struct error *check_file(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0)
        return error_new(errno == ENOENT ? ERROR_NOT_FOUND : ERROR_IO, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return error_new(ERROR_REFUSED, "%s is not a regular file", path);
    return trust_owner_check(path, "file", &info);
}

// Other changes are credentials, which the connection reads again by itself.
static uint64_t address_of(const struct endpoint *endpoint) {
    const char *const texts[] = {endpoint->server, endpoint->proxy_url, endpoint->tls_server_name,
                                 endpoint->insecure ? "insecure" : "verified"};
    uint64_t hash = TEXT_HASH;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        hash = text_hash(text_hash(hash, texts[i] ? texts[i] : "-"), " ");
    return hash;
}

static struct error *read_spec(const struct exec_policy *policy, const char *file, const char *path,
                               struct worker_spec *out) {
    *out = (struct worker_spec){.source = SOURCE_DIRECTORY,
                                .settings.name = strndup(file, name_len(file)),
                                .origin_text = strdup(path),
                                .kubeconfig_path = strdup(path)};
    if (!out->settings.name || !out->origin_text || !out->kubeconfig_path)
        return error_no_memory();
    struct endpoint *endpoint = NULL;
    TRY(check_name(out->settings.name));
    TRY(check_file(path));
    TRY(kubeconfig_load(path, NULL, policy, &endpoint));
    out->revision = address_of(endpoint);
    endpoint_free(endpoint);
    AUTO_BUFFER(text, FILE_MAX);
    TRY(text_read_regular_file(path, FILE_MAX, &text));
    return worker_placement_of_kubeconfig(text.data ? text.data : "", text.len, out);
}

static void read_file(struct source_folder *folder, const char *file) {
    AUTO_TEXT path = text_resolve_path(folder->directory, file);
    struct source_item *item = path ? source_items_at(&folder->items, file, path) : NULL;
    if (!item)
        return;
    item->seen = true;
    if (folder->watched && folder_watcher_is_partial(folder->watched, file))
        return; // the former version stays until the writer closes the file
    struct worker_spec spec;
    struct error *error = read_spec(folder->policy, file, path, &spec);
    if (error)
        source_item_refuse(&folder->items, item, error);
    else if (!item->spec.settings.name || item->problem || item->spec.revision != spec.revision ||
             !worker_settings_equal(&item->spec.settings, &spec.settings))
        source_item_accept(&folder->items, item, &spec);
    worker_spec_clear(&spec);
}

static void scan_folder(void *ctx, bool forced) {
    (void)forced;
    struct source_folder *folder = ctx;
    DIR *handle = opendir(folder->directory);
    if (handle) {
        const struct dirent *entry;
        source_items_unsee(&folder->items);
        while ((entry = readdir(handle)))
            if (name_len(entry->d_name) > 0)
                read_file(folder, entry->d_name);
        closedir(handle);
        source_items_sweep(&folder->items);
    } else if (folder->read) {
        log_fields(LOG_WARN, "directory of workers cannot be read: its workers stay as they were",
                   {"directory", folder->directory}, {"error", strerror(errno)});
    }
    folder->items.changed |= !folder->read; // an empty set replaces that of another directory
    folder->read = true;
    source_items_publish(&folder->items, folder->sources);
}

struct error *source_folder_new(struct sources *sources, struct folder_watcher *watcher, const char *directory,
                                const struct exec_policy *policy, struct source_folder **out) {
    const struct source_folder fresh = {
        .directory = directory, .sources = sources, .watcher = watcher, .items = {.source = SOURCE_DIRECTORY}};
    struct source_folder *folder = struct_copy_with_texts(&fresh, sizeof fresh, 1);
    if (!folder)
        return error_no_memory();
    struct folder_watcher_options options = {
        .directory = directory, .matters = is_worker_file, .partial = true, .changed = scan_folder, .ctx = folder};
    struct error *error = exec_policy_copy(policy, &folder->policy)
                              ? folder_watcher_add(watcher, &options, &folder->watched)
                              : error_no_memory();
    if (error)
        source_folder_free(folder);
    else
        *out = folder;
    return error;
}

void source_folder_free(struct source_folder *folder) {
    if (!folder)
        return;
    folder_watcher_remove(folder->watcher, folder->watched);
    source_items_free(&folder->items);
    exec_policy_free(folder->policy);
    free(folder);
}

const char *source_folder_directory(const struct source_folder *folder) {
    return folder->directory;
}

static void check_item(const char *path, const char *file, const struct exec_policy *policy, const char *where,
                       struct problems *problems, struct source_items *good) {
    struct worker_spec spec;
    struct error *error = read_spec(policy, file, path, &spec);
    struct source_item *item = !error && good ? source_items_at(good, file, path) : NULL;
    if (item)
        source_item_accept(good, item, &spec);
    else if (!error && good)
        error = error_no_memory();
    problems_add_error(problems, error_wrap(error, "%s: %s", where, path));
    worker_spec_clear(&spec);
}

void source_folder_check(const char *directory, const struct exec_policy *policy, const char *where,
                         struct problems *problems, struct source_items *good) {
    DIR *handle = opendir(directory);
    if (!handle) {
        problems_add(problems, "%s: %s: %s", where, directory, strerror(errno));
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(handle))) {
        AUTO_TEXT path = name_len(entry->d_name) > 0 ? text_resolve_path(directory, entry->d_name) : NULL;
        if (path)
            check_item(path, entry->d_name, policy, where, problems, good);
    }
    closedir(handle);
}
