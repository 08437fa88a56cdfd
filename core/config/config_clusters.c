// SPDX-License-Identifier: Apache-2.0
// The management cluster and the workers, in the file and from other sources.
#include "core/base/selector.h"
#include "core/config/config_reader.h"

#include <stdio.h>

#define ACTIVE_MAX 1000000
#define KINDS_MAX ((size_t)16 << 10)

// maxActive -------------------------------------------------------------------------------------------------------

#define AT(member) offsetof(struct worker_spec, member)

static const struct config_field limit = {.min = 1, .max = ACTIVE_MAX};

static bool read_kind_limits(const struct config_value *value) {
    AUTO_BUFFER(text, KINDS_MAX);
    if (!json_is(value->json, JSON_OBJECT))
        return config_wrong(value, "a mapping of kinds to numbers, such as {jobs.batch: 10}");
    for (const struct json *member = json_first(value->json); member; member = json_next(member)) {
        size_t most = 0;
        char number[24];
        struct config_value at = config_child(value, member, 0);
        at.field = &limit;
        at.target = &most;
        if (!text_is_label_key(at.key))
            config_problem(value, "found \"%s\", expected a kind such as Job or jobs.batch", at.key);
        config_read_whole(&at);
        snprintf(number, sizeof number, "%zu", most);
        labels_add(&text, at.key, number);
    }
    return text.len == 0 && !text.failed ? true : config_take(value, buffer_take(&text, NULL));
}

static bool read_max_active(const struct config_value *value) {
    static const struct config_field fields[] = {
        {"total", config_read_whole, AT(settings.max_active), .help = "Of all kinds.", .min = 1, .max = ACTIVE_MAX},
        {"kinds", read_kind_limits, AT(settings.max_kinds), .help = "Of each kind."},
        {.key = NULL},
    };
    struct worker_spec *worker = value->target;
    struct config_value total = *value;
    total.field = &limit;
    total.target = &worker->settings.max_active;
    if (value->reader->describe || json_is(value->json, JSON_OBJECT))
        return config_mapping(value, fields, worker);
    return json_is(value->json, JSON_NUMBER)
               ? config_read_whole(&total)
               : config_wrong(value, "a whole number, or {total: N, kinds: {jobs.batch: N}}");
}

// Clusters --------------------------------------------------------------------------------------------------------

static bool read_labels(const struct config_value *value) {
    if (!json_is(value->json, JSON_OBJECT))
        return config_wrong(value, "a mapping of labels");
    for (const struct json *member = json_first(value->json); member; member = json_next(member)) {
        struct config_value at = config_child(value, member, 0);
        const char *text = json_string(member);
        if (!text_is_label_key(at.key))
            config_problem(&at, "found \"%s\", expected a valid Kubernetes label key", at.key);
        else if (!text || !text_is_label_value(text))
            config_wrong(&at, "a valid Kubernetes label value: at most 63 letters, digits, '-', '_' and '.' (in quotes "
                              "if it looks like a number)");
        else
            value->reader->no_memory |= !worker_spec_add_label(value->target, at.key, text);
    }
    return true;
}

static bool check_name(const struct config_value *value) {
    return !text_equal(json_string(value->json), "management") ||
           config_wrong(value, "another name: this one is reserved for the management cluster");
}

// "" is current-context.
static bool read_context(const struct config_value *value) {
    const char *text = json_string(value->json);
    return text ? config_take(value, strdup(text))
                : config_wrong(value, "the name of a context, or \"\" for the current one");
}

static bool read_weight(const struct config_value *value) {
    int64_t weight = 0;
    struct config_value at = *value;
    at.target = &weight;
    bool good = config_read_whole(&at);
    if (good)
        *(uint32_t *)value->target = (uint32_t)weight;
    return good;
}

static bool read_choice(const struct config_value *value) {
    bool yes = false;
    struct config_value at = *value;
    at.target = &yes;
    bool good = config_read_bool(&at);
    if (good)
        *(enum choice *)value->target = yes ? CHOICE_YES : CHOICE_NO;
    return good;
}

static const struct config_field rate_limit[] = {
    {"qps", config_read_rate, AT(settings.qps), .help = "Default 500. Requests per second; 0: no limit."},
    {"burst", config_read_rate, AT(settings.burst),
     .help = "Default 1000, twice qps if only qps is given. Requests at once after a pause."},
    {.key = NULL},
};

static bool check_rate_limit(const struct config_value *value) {
    struct worker_settings *settings = value->target;
    if (settings->qps <= 0 && value->known == value->reader->problems->count)
        config_problem(value, "qps: found nothing or 0, expected more than 0");
    return config_check_rates(value, settings->qps, &settings->burst);
}

const struct config_field config_management[] = {
    {"kubeconfig", config_read_paths, AT(kubeconfig_path), .help = "Several are merged, as in KUBECONFIG.",
     .line_at = AT(kubeconfig_line)},
    {"context", read_context, AT(context), .help = "Default \"\"."},
    {.key = NULL},
};

bool config_check_management(const struct config_value *value) {
    const struct worker_spec *cluster = value->target;
    return cluster->kubeconfig_path || cluster->context[0] == '\0' ||
           config_problem(value, "found a context without a kubeconfig, expected both or neither");
}

static const struct config_field worker_fields[] = {
    {"name", config_read_text, AT(settings.name),
     .help = "Recorded in annotations of workloads: a renamed cluster is a different cluster.", .required = true,
     .check = check_name, CONFIG_LABEL},
    {"kubeconfig", config_read_paths, AT(kubeconfig_path),
     .help = "Several are merged, as in KUBECONFIG. Required without self.", .line_at = AT(kubeconfig_line)},
    {"context", read_context, AT(context), .help = "Default \"\"."},
    {"self", config_read_bool, AT(settings.is_self),
     .help = "Default false. Whether the worker is the management cluster; needs namespaces.map (docs/workers.md)."},
    {"labels", read_labels, 0, .help = "Labels of the worker."},
    {"cordoned", config_read_bool, AT(cordoned), .help = "Default false. Whether to place nothing new there."},
    {"drain", config_read_word, AT(drain),
     .help = "Empties the worker: running workloads finish there, or move to other workers.",
     CONFIG_WORDS({"finish", DRAIN_FINISH}, {"move", DRAIN_MOVE})},
    {"maxActive", read_max_active, 0,
     .help = "Default: any number. How many unfinished workloads the worker may have."},
    {"capacity", read_choice, AT(capacity), .help = "Instead of placement.capacity."},
    {"weight", read_weight, AT(settings.weight), .help = "Default 1. The worker's share with policy weighted.",
     .min = 1, .max = 1000000},
    {"rateLimit", config_read_section, 0, .help = "Instead of the host's.", .fields = rate_limit,
     .check = check_rate_limit},
    {"namespaces", config_read_section, AT(settings.namespaces),
     .help = "Namespaces with workloads to place there, besides the host's rule; and their names there.",
     .fields = config_worker_namespaces},
    {.key = NULL},
};

static bool check_connection(const struct config_value *value) {
    const struct worker_spec *worker = value->target;
    if (worker->settings.is_self && (worker->kubeconfig_path || *worker->context))
        return config_problem(value, "found self with a kubeconfig or context, expected one of them: the management "
                                     "cluster has its own");
    if (!worker->settings.is_self && !config_has(value, "kubeconfig"))
        config_problem(value, "kubeconfig: found nothing, expected a value: it is required without self");
    return worker->settings.is_self || worker->kubeconfig_path;
}

// Drops an invalid worker (not a mapping, no kubeconfig).
bool config_read_worker(const struct config_value *value) {
    struct worker_spec *worker = value->target;
    worker->line = json_line(value->json);
    worker->settings.weight = 1;
    worker->settings.order = (uint32_t)value->reader->config->n_workers + 1;
    worker->origin_text = text_format("%s:%zu", value->reader->file, worker->line);
    worker->context = strdup("");
    config_mapping(value, worker_fields, worker);
    if (!worker->settings.name)
        worker->settings.name = text_format("workers[%zu]", value->index);
    bool complete = worker->origin_text && worker->settings.name && worker->context;
    value->reader->no_memory |= !complete;
    if (complete && !value->reader->describe && json_is(value->json, JSON_OBJECT) && check_connection(value))
        return true;
    worker_spec_clear(worker);
    return false;
}

bool config_read_workers(const struct config_value *value) {
    const struct json *from = json_get(value->reader->yaml.value, "workersFrom");
    bool none = json_is(value->json, JSON_ARRAY) && json_size(value->json) == 0 && json_is(from, JSON_OBJECT);
    return none || config_read_list(value);
}

static bool is_same_cluster(const struct worker_spec *a, const struct worker_spec *b) {
    if (a->settings.is_self || b->settings.is_self)
        return a->settings.is_self && b->settings.is_self;
    return a->kubeconfig_path && b->kubeconfig_path && strcmp(a->kubeconfig_path, b->kubeconfig_path) == 0 &&
           strcmp(a->context, b->context) == 0;
}

static void check_worker(struct config_reader *reader, size_t index) {
    const struct config *config = reader->config;
    struct worker_spec *worker = &config->workers[index];
    if (is_same_cluster(&config->management, worker))
        problems_add(reader->problems,
                     "%s:%zu: worker %s: found the kubeconfig and context of the management cluster, expected a "
                     "different cluster, or self: true: mirrors would collide with their workloads",
                     reader->file, worker->line, worker->settings.name);
    config_check_namespaces(reader, worker);
    for (size_t i = 0; i < index; i++) {
        const struct worker_spec *other = &config->workers[i];
        if (strcmp(worker->settings.name, other->settings.name) == 0)
            problems_add(reader->problems, "%s:%zu: worker %s: duplicate name: line %zu has it already", reader->file,
                         worker->line, worker->settings.name, other->line);
        if (is_same_cluster(worker, other))
            problems_add(reader->problems,
                         "%s:%zu: worker %s: found the %s of worker %s (line %zu), expected a different cluster",
                         reader->file, worker->line, worker->settings.name,
                         worker->settings.is_self ? "self" : "kubeconfig and context", other->settings.name,
                         other->line);
    }
}

// The management cluster as a worker has the management cluster's connection.
static void connect_self(struct config_reader *reader) {
    const struct worker_spec *management = &reader->config->management;
    for (size_t i = 0; i < reader->config->n_workers; i++) {
        struct worker_spec *worker = &reader->config->workers[i];
        if (!worker->settings.is_self)
            continue;
        worker->kubeconfig_line = management->kubeconfig_line;
        reader->no_memory |= !text_set(&worker->kubeconfig_path, management->kubeconfig_path) ||
                             !text_set(&worker->context, management->context);
    }
}

void config_check_clusters(const struct config_value *root) {
    connect_self(root->reader);
    for (size_t i = 0; i < root->reader->config->n_workers; i++)
        check_worker(root->reader, i);
}

// workersFrom -----------------------------------------------------------------------------------------------------

#undef AT
#define AT(member) offsetof(struct config_workers_from, member)

// The credentials code reads the rest like the exec entry of a kubeconfig.
static bool check_exec(const struct config_value *value) {
    static const char *const keys[] = {"apiVersion", "command"};
    for (size_t i = 0; i < CONFIG_COUNT(keys); i++) {
        const struct json *member = json_get(value->json, keys[i]);
        struct config_value at = config_child(value, member, 0);
        if (!member)
            config_problem(value, "%s: found nothing, expected a value: it is required", keys[i]);
        else
            (void)config_text(&at, "a string");
    }
    return true;
}

static const struct config_field provider_fields[] = {
    {"name", config_read_text, offsetof(struct config_access_provider, name), .help = "As in ClusterProfiles.",
     .required = true},
    {"execConfig", config_read_object, offsetof(struct config_access_provider, exec),
     .help = "As exec in a kubeconfig; credentialPlugins must allow the command.", .required = true,
     .expected = "a mapping, as `exec` in a kubeconfig", .check = check_exec},
    {.key = NULL},
};

static bool read_provider(const struct config_value *value) {
    const struct config_workers_from *from = &value->reader->config->workers_from;
    struct config_access_provider *provider = value->target;
    provider->line = json_line(value->json);
    config_mapping(value, provider_fields, provider);
    if (!provider->name || !provider->exec) {
        config_clear(provider_fields, provider);
        return false;
    }
    for (size_t i = 0; i < from->n_providers; i++)
        if (strcmp(from->providers[i].name, provider->name) == 0)
            config_problem(value, "duplicate name \"%s\": line %zu has it already", provider->name,
                           from->providers[i].line);
    return true;
}

static const struct config_field cluster_profiles[] = {
    {"namespace", config_read_text, AT(profile_namespace),
     .help = "Namespace of the ClusterProfiles. The right to create ClusterProfiles there is the right to add workers.",
     .required = true, CONFIG_LABEL},
    {"accessProviders", config_read_list, AT(providers),
     .help = "Where credentials come from; the first one that a ClusterProfile offers is used.", .required = true,
     .item = "access provider", .read_item = read_provider, .item_size = sizeof(struct config_access_provider),
     .fields = provider_fields},
    {.key = NULL},
};

const struct config_field config_workers_from[] = {
    {"directory", config_read_path, AT(directory), .help = "Each NAME.kubeconfig or NAME.yaml there is a worker."},
    {"secrets", config_read_bool, AT(secrets),
     .help = "Default false. Secrets labelled wharf.dev/worker=true in the host's namespace."},
    {"clusterProfiles", config_read_section, 0,
     .help = "ClusterProfile objects (multicluster.x-k8s.io) of the management cluster.",
     .given_at = AT(cluster_profiles), .fields = cluster_profiles},
    {.key = NULL},
};

bool config_check_workers_from(const struct config_value *value) {
    const struct config_workers_from *from = value->target;
    return from->directory || from->secrets || from->cluster_profiles ||
           value->known < value->reader->problems->count ||
           config_problem(value, "found no source of workers, expected a directory, secrets: true or clusterProfiles");
}
