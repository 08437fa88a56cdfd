// SPDX-License-Identifier: Apache-2.0

#include "core/base/trust.h"
#include "core/config/config_reader.h"
#include "core/kube/object/object.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#ifndef WHARF_ADAPTER_DIRECTORY
#define WHARF_ADAPTER_DIRECTORY "/usr/lib/wharf/adapters"
#endif
#define FILE_MAX ((size_t)1 << 20)

struct config *config_share(const struct config *config) {
    struct config *shared = (struct config *)config;
    atomic_fetch_add(&shared->owners, 1);
    return shared;
}

void config_free(struct config *config) {
    if (!config || atomic_fetch_sub(&config->owners, 1) > 1)
        return;
    config_clear_document(config);
    worker_spec_clear(&config->management);
    exec_policy_clear(&config->credential_plugins);
    worker_specs_free(config->workers, config->n_workers);
    free((char *)config->engine.namespaces);
    free(config->path);
    free(config);
}

// Of the installation; of a program that was built and not installed, the folder beside it. The build leaves a file
// there with the name of the installation's.
static char *default_directory(void) {
    char program[PATH_MAX] = "";
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    AUTO_TEXT folder = len > 0 ? text_directory(program) : NULL;
    AUTO_TEXT mark = folder ? text_format("%s/adapter-dir", folder) : NULL;
    AUTO_TEXT built = folder ? text_format("%s/adapters", folder) : NULL;
    if (len > 0 && (!mark || !built))
        return NULL;
    bool is_built = mark && access(mark, F_OK) == 0 && access(built, X_OK) == 0;
    return strdup(is_built ? built : WHARF_ADAPTER_DIRECTORY);
}

static struct config *with_defaults(const char *path) {
    struct config *config = calloc(1, sizeof(*config));
    if (!config)
        return NULL;
    *config = (struct config){
        .path = strdup(path),
        .controller_name = strdup("wharf.dev/host"),
        .management = {.settings.name = strdup("management"), .context = strdup("")},
        .adapter_directory = default_directory(),
        .credential_plugins.setting = text_format("credentialPlugins.allow in %s", path),
        .pod_events = POD_EVENTS_WARNINGS,
        .fencing_namespace = strdup("wharf-system"),
        .memory_per_cluster = BUDGET_DEFAULT,
        .max_object_size = BUDGET_OBJECT_SIZE,
        .max_object_nodes = BUDGET_OBJECT_NODES,
        .max_status_size = BUDGET_STATUS_SIZE,
        .engine = {.namespaces = strdup(CONFIG_NAMESPACES),
                   .worker_lost_timeout_ns = 15 * CLOCK_MINUTE,
                   .last_words = LAST_WORDS_LOGS,
                   .mirror_retention_ns = 10 * CLOCK_MINUTE,
                   .mass_deletion_max = 20,
                   .mass_deletion_percent = 30,
                   .fencing = {.wait = true, .after_ns = 5 * CLOCK_MINUTE},
                   .orphan_grace_ns = 60 * CLOCK_MINUTE,
                   .qps = 500,
                   .burst = 1000,
                   .status_bytes = (size_t)1 << 20},
        .election = {.lease_ns = 15 * CLOCK_SECOND,
                     .renew_ns = 10 * CLOCK_SECOND,
                     .retry_ns = 2 * CLOCK_SECOND,
                     .shards = 1},
        .isolation = ISOLATION_AUTO,
        .log_format = LOG_TEXT,
        .log_level = LOG_INFO,
    };
    atomic_init(&config->owners, 1);
    if (config->path && config->controller_name && config->management.settings.name && config->management.context &&
        config->adapter_directory && config->fencing_namespace && config->engine.namespaces &&
        config->credential_plugins.setting)
        return config;
    config_free(config);
    return NULL;
}

struct error *config_without_file(const char *name, const char *adapter_directory, struct config **out) {
    struct config *config = with_defaults(name);
    if (!config || (adapter_directory && !text_set(&config->adapter_directory, adapter_directory))) {
        config_free(config);
        return error_no_memory();
    }
    if (adapter_directory)
        config->adapter_directory_from = DIRECTORY_FLAG;
    *out = config;
    return NULL;
}

// The directory that paths in the file are relative to. Symlinks are not resolved: a file that is mounted as a symlink
// (from a ConfigMap) refers to files beside the symlink.
static struct error *absolute_directory(const char *path, char **out) {
    AUTO_TEXT directory = text_directory(path);
    char here[PATH_MAX] = "/";
    if (directory && directory[0] != '/' && !getcwd(here, sizeof(here)))
        return error_new(ERROR_IO, "cannot read the current directory: %s", strerror(errno));
    *out = directory ? config_absolute(here, directory) : NULL;
    return *out ? NULL : error_no_memory();
}

static struct error *read_yaml(const char *path, struct config_reader *reader) {
    AUTO_BUFFER(text, FILE_MAX);
    TRY(error_wrap(trust_file_check(path), "%s is not read, as others could change it", path));
    TRY(text_read_file(path, FILE_MAX, &text));
    TRY(yaml_parse(path, !text.data ? "" : text.data, text.len, &reader->yaml));
    return absolute_directory(path, &reader->directory);
}

struct error *config_load(const char *path, struct problems *problems, struct config **out) {
    return config_load_with(path, NULL, problems, out);
}

struct error *config_load_with(const char *path, const char *adapter_directory, struct problems *problems,
                               struct config **out) {
    struct config_reader reader = {.file = path, .adapter_directory = adapter_directory, .problems = problems};
    struct error *error = read_yaml(path, &reader);
    reader.config = error ? NULL : with_defaults(path);
    reader.no_memory = !error && !reader.config;
    bool usable =
        reader.config && config_read_document(&(struct config_value){.reader = &reader, .json = reader.yaml.value});
    if (reader.no_memory)
        error = error_no_memory();
    yaml_cleanup(&reader.yaml);
    free(reader.directory);
    *out = usable && !error ? TAKE(reader.config) : NULL;
    config_free(reader.config);
    if (!error || error->code == ERROR_NO_MEMORY)
        return error;
    problems_add_error(problems, error);
    return NULL;
}

struct error *config_describe(void (*take)(void *ctx, const struct config_key *key), void *ctx) {
    struct problems problems = {.count = 0};
    struct config_reader reader = {
        .file = "", .problems = &problems, .describe = take, .describe_ctx = ctx, .config = with_defaults("")};
    if (reader.config)
        (void)config_read_document(&(struct config_value){.reader = &reader});
    bool failed = !reader.config || reader.no_memory;
    config_free(reader.config);
    problems_free(&problems);
    return failed ? error_no_memory() : NULL;
}
