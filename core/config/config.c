// SPDX-License-Identifier: Apache-2.0
#include "core/config/config.h"

#include "core/base/clock.h"
#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/base/trust.h"
#include "core/config/config_reader.h"
#include "core/kube/object/budget.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef WHARF_ADAPTER_DIRECTORY
#define WHARF_ADAPTER_DIRECTORY "/usr/lib/wharf/adapters"
#endif
#define FILE_MAX ((size_t)1 << 20)
#define ORPHAN_SHARE ((size_t)6 << 10) // of a cluster's memory budget, per orphan

struct config *config_share(const struct config *config) {
    struct config *shared = (struct config *)config;
    atomic_fetch_add(&shared->owners, 1);
    return shared;
}

void config_free(struct config *config) {
    static const size_t texts[] = {
#define TEXT(member) offsetof(struct config, member)
        TEXT(path),
        TEXT(controller_name),
        TEXT(origin),
        TEXT(namespace_),
        TEXT(adapter_directory),
        TEXT(engine.namespaces),
        TEXT(fencing_namespace),
        TEXT(election.namespace_),
        TEXT(election.name),
        TEXT(seal.file),
        TEXT(seal.secret_namespace),
        TEXT(seal.secret_name),
        TEXT(seal.secret_key),
        TEXT(serve.address),
        TEXT(serve.socket),
        TEXT(serve.group),
        TEXT(serve.cert_file),
        TEXT(serve.key_file)
#undef TEXT
    };
    if (!config || atomic_fetch_sub(&config->owners, 1) > 1)
        return;
    worker_spec_clear(&config->management);
    config_placement_clear(&config->engine.placement);
    exec_policy_clear(&config->credential_plugins);
    config_workers_from_clear(&config->workers_from);
    worker_specs_free(config->workers, config->n_workers);
    for (size_t i = 0; i < config->n_adapters; i++)
        config_adapter_clear(&config->adapters[i]);
    free(config->adapters);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(*(char **)((char *)config + texts[i]));
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
    atomic_init(&config->owners, 1);
    config->path = strdup(path);
    config->controller_name = strdup("wharf.dev/host");
    config->management.settings.name = strdup("management");
    config->management.context = strdup("");
    config->adapter_directory = default_directory();
    config->engine.namespaces = strdup(CONFIG_NAMESPACES);
    config->credential_plugins.setting = text_format("credentialPlugins.allow in %s", path);
    config->engine.worker_lost_timeout_ns = 15 * CLOCK_MINUTE;
    config->pod_events = POD_EVENTS_WARNINGS;
    config->engine.mirror_retention_ns = 10 * CLOCK_MINUTE;
    config->engine.mass_deletion_max = 20;
    config->engine.mass_deletion_percent = 30;
    config->engine.fencing = (struct fence_options){.wait = true, .after_ns = 5 * CLOCK_MINUTE};
    config->fencing_namespace = strdup("wharf-system");
    config->engine.orphan_grace_ns = 60 * CLOCK_MINUTE;
    config->memory_per_cluster = BUDGET_DEFAULT;
    config->max_object_size = BUDGET_OBJECT_SIZE;
    config->max_object_nodes = BUDGET_OBJECT_NODES;
    config->max_status_size = BUDGET_STATUS_SIZE;
    config->engine.qps = 500;
    config->engine.burst = 1000;
    config->engine.status_bytes = (size_t)1 << 20;
    config->election = (struct config_election){
        .lease_ns = 15 * CLOCK_SECOND, .renew_ns = 10 * CLOCK_SECOND, .retry_ns = 2 * CLOCK_SECOND, .shards = 1};
    config->log_format = LOG_TEXT;
    config->log_level = LOG_INFO;
    if (config->path && config->controller_name && config->management.settings.name && config->management.context &&
        config->adapter_directory && config->fencing_namespace && config->engine.namespaces &&
        config->credential_plugins.setting)
        return config;
    config_free(config);
    return NULL;
}

struct error *config_without_file(const char *name, const char *adapter_directory, struct config **out) {
    struct config *config = with_defaults(name);
    char *directory = config && adapter_directory ? strdup(adapter_directory) : NULL;
    if (!config || (adapter_directory && !directory)) {
        config_free(config);
        return error_no_memory();
    }
    if (directory) {
        free(config->adapter_directory);
        config->adapter_directory = directory;
        config->adapter_directory_from = DIRECTORY_FLAG;
    }
    *out = config;
    return NULL;
}

static bool read_document(struct config_reader *reader) {
    struct config_place root = {.up = NULL};
    if (!config_read_document(reader))
        return false;
    config_read_rules(reader, &root);
    reader->config->engine.max_orphans = reader->config->memory_per_cluster / ORPHAN_SHARE;
    reader->config->engine.log_decisions = reader->config->log_level == LOG_DEBUG;
    config_check_memory(reader);
    config_check_clusters(reader);
    config_check_workers_from(reader, &root);
    config_check_adapters(reader);
    config_check_seal(reader);
    config_check_election(reader);
    config_check_fencing(reader);
    return true;
}

// The directory that paths in the file are relative to. Symlinks are not resolved: a file that is mounted as a symlink
// (from a ConfigMap) refers to files beside the symlink.
static struct error *absolute_directory(const char *path, char **out) {
    AUTO_TEXT directory = text_directory(path);
    if (!directory)
        return error_no_memory();
    char here[PATH_MAX];
    if (directory[0] != '/' && !getcwd(here, sizeof(here)))
        return error_new(ERROR_IO, "cannot read the current directory: %s", strerror(errno));
    if (directory[0] == '/' || strcmp(directory, ".") == 0)
        *out = strdup(directory[0] == '/' ? directory : here);
    else
        *out = text_resolve_path(here, directory);
    return !*out ? error_no_memory() : NULL;
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
    *out = NULL;
    struct config_reader reader = {.file = path, .adapter_directory = adapter_directory, .problems = problems};
    struct error *error = read_yaml(path, &reader);
    bool usable = false;
    if (!error) {
        reader.config = with_defaults(path);
        if (!reader.config)
            error = error_no_memory();
        else
            usable = read_document(&reader);
    }
    if (reader.no_memory)
        error = error_no_memory();
    yaml_cleanup(&reader.yaml);
    free(reader.directory);
    if (usable && !error) {
        *out = reader.config;
        return NULL;
    }
    config_free(reader.config);
    if (error && error->code != ERROR_NO_MEMORY) {
        problems_add_error(problems, error);
        return NULL;
    }
    return error;
}

struct error *config_describe(void (*take)(void *ctx, const struct config_key *key), void *ctx) {
    struct problems problems = {.count = 0};
    struct config_reader reader = {
        .file = "", .problems = &problems, .describe = take, .describe_ctx = ctx, .config = with_defaults("")};
    if (reader.config)
        (void)config_read_document(&reader);
    bool failed = !reader.config || reader.no_memory;
    config_free(reader.config);
    problems_free(&problems);
    return failed ? error_no_memory() : NULL;
}
