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
#define API_VERSION "wharf.dev/v1alpha1"
#define KIND "HostConfiguration"
#define FILE_MAX ((size_t)1 << 20)
#define CONTROLLER_NAME_MAX 63 // batch/v1 JobSpec.managedBy
#define MASS_MAX 1000000
#define ORPHAN_SHARE ((size_t)6 << 10) // of a cluster's memory budget, per orphan

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct config *config_share(const struct config *config) {
    struct config *shared = (struct config *)config;
    atomic_fetch_add(&shared->owners, 1);
    return shared;
}

void config_free(struct config *config) {
    if (!config || atomic_fetch_sub(&config->owners, 1) > 1)
        return;
    worker_spec_clear(&config->management);
    config_seal_clear(&config->seal);
    config_placement_clear(&config->engine.placement);
    config_election_clear(&config->election);
    exec_policy_clear(&config->credential_plugins);
    config_workers_from_clear(&config->workers_from);
    worker_specs_free(config->workers, config->n_workers);
    for (size_t i = 0; i < config->n_adapters; i++)
        config_adapter_clear(&config->adapters[i]);
    free(config->adapters);
    free(config->path);
    free(config->controller_name);
    free(config->origin);
    free(config->namespace_);
    free(config->adapter_directory);
    config_serve_clear(&config->serve);
    free((char *)config->engine.namespaces);
    free(config->fencing_namespace);
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

static void read_constant(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          const char *expected) {
    if (!text_equal(json_string(value), expected))
        config_wrong(reader, place, value, expected);
}

static void read_api_version(struct config_reader *reader, const struct config_place *place, const struct json *value,
                             void *target) {
    (void)target;
    read_constant(reader, place, value, API_VERSION);
}

static void read_kind(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    (void)target;
    read_constant(reader, place, value, KIND);
}

static void read_controller_name(struct config_reader *reader, const struct config_place *place,
                                 const struct json *value, void *target) {
    static const char expected[] = "a domain-prefixed path of at most 63 characters, like wharf.dev/host";
    const char *text = config_text(reader, place, value, expected);
    if (text && (strlen(text) > CONTROLLER_NAME_MAX || !text_is_domain_prefixed_path(text)))
        config_wrong(reader, place, value, expected);
    else if (text)
        config_keep(reader, target, text);
}

static void read_rate_limit(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    struct config *config = target;
    config_read_rates(reader, place, value, &config->engine.qps, &config->engine.burst, &config->engine.status_bytes);
}

static void read_whole(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       int64_t max, const char *expected, int64_t *target) {
    double found = json_double(value, -1);
    if (found >= 0 && found <= (double)max && found == (double)(int64_t)found)
        *target = (int64_t)found;
    else
        config_wrong(reader, place, value, expected);
}

static void read_mass_max(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          void *target) {
    read_whole(reader, place, value, MASS_MAX, "a whole number from 0 to 1000000", target);
}

static void read_percent(struct config_reader *reader, const struct config_place *place, const struct json *value,
                         void *target) {
    read_whole(reader, place, value, 100, "a whole number from 0 to 100", target);
}

static void read_mass_deletion(struct config_reader *reader, const struct config_place *place, const struct json *value,
                               void *target) {
    static const struct config_field fields[] = {
        {"max", read_mass_max, offsetof(struct config, engine.mass_deletion_max), false,
         "Default 20. Orphans that may appear in a worker within ten minutes; if there are more, they are held."},
        {"percent", read_percent, offsetof(struct config, engine.mass_deletion_percent), false,
         "Default 30. The same, as a percentage of the worker's mirrors."},
    };
    config_mapping(reader, place, value, fields, COUNT(fields), target);
}

static void read_log_format(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    static const char *const words[] = {"text", "json"};
    static const enum log_format formats[] = {LOG_TEXT, LOG_JSON};
    int index = config_read_word(reader, place, value, words, COUNT(words), "text or json");
    if (index >= 0)
        *(enum log_format *)target = formats[index];
}

static void read_log_level(struct config_reader *reader, const struct config_place *place, const struct json *value,
                           void *target) {
    static const char *const words[] = {"error", "warn", "info", "debug"};
    static const enum log_level levels[] = {LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG};
    int index = config_read_word(reader, place, value, words, COUNT(words), "error, warn, info or debug");
    if (index >= 0)
        *(enum log_level *)target = levels[index];
}

static void read_log(struct config_reader *reader, const struct config_place *place, const struct json *value,
                     void *target) {
    static const struct config_field fields[] = {
        {"format", read_log_format, offsetof(struct config, log_format), false, "Default text. Lines go to stderr."},
        {"level", read_log_level, offsetof(struct config, log_level), false,
         "Default info. debug logs each request and each decision."},
    };
    config_mapping(reader, place, value, fields, COUNT(fields), target);
}

static void read_removal(struct config_reader *reader, const struct config_place *place, const struct json *value,
                         void *target) {
    static const char *const words[] = {"finish", "move", "abandon"};
    static const enum removal removals[] = {REMOVAL_FINISH, REMOVAL_MOVE, REMOVAL_ABANDON};
    int index = config_read_word(reader, place, value, words, COUNT(words), "finish, move or abandon");
    if (index >= 0)
        *(enum removal *)target = removals[index];
}

static void read_pod_events(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    static const char *const words[] = {"warnings", "all", "none"};
    static const enum pod_events_level levels[] = {POD_EVENTS_WARNINGS, POD_EVENTS_ALL, POD_EVENTS_NONE};
    int index = config_read_word(reader, place, value, words, COUNT(words), "warnings, all or none");
    if (index >= 0)
        *(enum pod_events_level *)target = levels[index];
}

static void read_kueue(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    static const char *const words[] = {"strip", "carry"};
    *(bool *)target = config_read_word(reader, place, value, words, COUNT(words), "strip or carry") == 1;
}

static bool read_mapping(struct config_reader *reader, const struct config_place *root) {
    static const struct config_field fields[] = {
        {"apiVersion", read_api_version, 0, true, "The version of this format."},
        {"kind", read_kind, 0, true, "The kind of this document."},
        {"controllerName", read_controller_name, offsetof(struct config, controller_name), false,
         "Default wharf.dev/host. The value of .spec.managedBy (or the kind's equivalent) that this host manages."},
        {"origin", config_read_label, offsetof(struct config, origin), false,
         "Identifies this host on its mirrors; must not change while there are any. Default: derived from the uid of "
         "the management cluster's namespace kube-system."},
        {"management", config_read_management, offsetof(struct config, management), false,
         "Where users create workloads. Without it: the cluster that the host runs in."},
        {"namespace", config_read_label, offsetof(struct config, namespace_), false,
         "The host's own namespace in the management cluster: worker Secrets, ConfigMap wharf-workers. Default: the "
         "pod's, else wharf-system."},
        {"workers", config_read_workers, 0, false, "Where the mirrors run. Required without workersFrom."},
        {"workersFrom", config_read_workers_from, offsetof(struct config, workers_from), false,
         "Further sources of workers, which are watched."},
        {"removal", read_removal, offsetof(struct config, removal), false,
         "Default finish. How a worker leaves that no source has any more: what runs there ends there, is moved, or is "
         "abandoned."},
        {"drainTimeout", config_read_duration, offsetof(struct config, engine.placement.drain_timeout_ns), false,
         "Default 0. With drain: move, how long what has started may go on before it is moved."},
        {"placement", config_read_placement, offsetof(struct config, engine.placement), false,
         "Which worker a workload is placed in (docs/placement.md)."},
        {"onWorkerLost", config_read_lost, offsetof(struct config, engine.placement.otherwise.wait_when_lost), false,
         "Default redispatch. What happens after workerLostTimeout: another attempt elsewhere, or the worker is waited "
         "for."},
        {"adapters", config_read_adapters, 0, true, "The kinds that are handled."},
        {"serve", config_read_serve, offsetof(struct config, serve), false,
         "The HTTP server: page, API (docs/api.md), /metrics, /healthz, /livez and /readyz. Without it nothing is "
         "served."},
        {"credentialPlugins", config_read_credential_plugins, 0, false,
         "Programs that kubeconfigs may run for their credentials (docs/credentials.md)."},
        {"seal", config_read_seal, offsetof(struct config, seal), false,
         "The key that seals mirrors (docs/security.md)."},
        {"namespaces", config_read_namespaces, offsetof(struct config, engine.namespaces), false,
         "Whose workloads are placed (docs/guards.md). What is placed already is followed to its end."},
        {"createNamespaces", config_read_bool, offsetof(struct config, engine.create_namespaces), false,
         "Default false. Whether missing namespaces are created in workers."},
        {"kueue", read_kueue, offsetof(struct config, engine.kueue_carried), false,
         "Default strip. Whether Kueue's labels on a workload that the management cluster's Kueue has admitted are "
         "copied to its mirror (docs/kueue.md)."},
        {"podEvents", read_pod_events, offsetof(struct config, pod_events), false,
         "Default warnings. Which Events of a mirror's pods are shown on its workload (docs/pod-events.md)."},
        {"mirrorFinalizer", config_read_bool, offsetof(struct config, engine.mirror_finalizer), false,
         "Default false. Whether mirrors get a finalizer until their final status was copied."},
        {"workerLostTimeout", config_read_positive, offsetof(struct config, engine.worker_lost_timeout_ns), false,
         "Default 15m. How long a worker may be unreachable before its workloads are rescheduled."},
        {"fencing", config_read_fencing, 0, false,
         "Guards in the workers, which stop mirrors that this host has lost (docs/fencing.md)."},
        {"mirrorRetention", config_read_duration, offsetof(struct config, engine.mirror_retention_ns), false,
         "Default 10m. How long a finished mirror is kept in its worker, for its logs."},
        {"massDeletion", read_mass_deletion, 0, false, "When orphans are not deleted but held (docs/lifecycle.md)."},
        {"orphanGrace", config_read_duration, offsetof(struct config, engine.orphan_grace_ns), false,
         "Default 1h. How long they are held; 0: nothing is held."},
        {"memory", config_read_memory, 0, false, "Limits of memory (docs/memory.md)."},
        {"rateLimit", read_rate_limit, 0, false,
         "An upper bound of the requests to each cluster, without watches and lists, and of the space for statuses."},
        {"leaderElection", config_read_election, offsetof(struct config, election), false,
         "Which of several replicas writes (docs/availability.md)."},
        {"shards", config_read_shards, offsetof(struct config, election), false,
         "Default 1. Into how many parts the workloads are divided among replicas with leaderElection; the same in all "
         "of them."},
        {"log", read_log, 0, false, "The host's log."},
    };
    return config_mapping(reader, root, reader->yaml.value, fields, COUNT(fields), reader->config);
}

static bool read_document(struct config_reader *reader) {
    struct config_place root = {.up = NULL};
    if (!read_mapping(reader, &root))
        return false;
    config_read_rules(reader, &root);
    reader->config->engine.max_orphans = reader->config->memory_per_cluster / ORPHAN_SHARE;
    reader->config->engine.log_decisions = reader->config->log_level == LOG_DEBUG;
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
    struct error *error = error_wrap(trust_file_check(path), "%s is not read, as others could change it", path);
    if (!error)
        error = text_read_file(path, FILE_MAX, &text);
    if (!error)
        error = yaml_parse(path, !text.data ? "" : text.data, text.len, &reader->yaml);
    if (!error)
        error = absolute_directory(path, &reader->directory);
    return error;
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
        (void)read_mapping(&reader, &(struct config_place){.up = NULL});
    bool failed = !reader.config || reader.no_memory;
    config_free(reader.config);
    problems_free(&problems);
    return failed ? error_no_memory() : NULL;
}
