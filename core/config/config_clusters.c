// SPDX-License-Identifier: Apache-2.0
// The management cluster and the workers.
#include "core/base/text.h"
#include "core/config/config_reader.h"

#include <stdlib.h>
#include <string.h>

#define MANAGEMENT "management"

static void read_label(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       struct worker_spec *cluster) {
    const char *text = json_string(value);
    if (!text_is_label_key(place->key)) {
        config_problem(reader, place, "found \"%s\", expected a valid Kubernetes label key", place->key);
        return;
    }
    if (!text || !text_is_label_value(text)) {
        config_wrong(
            reader, place, value,
            "a valid Kubernetes label value: at most 63 letters, digits, '-', '_' and '.' (in quotes if it looks "
            "like a number)");
        return;
    }
    reader->no_memory |= !worker_spec_add_label(cluster, place->key, text);
}

static void read_labels(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    if (!json_is(value, JSON_OBJECT)) {
        config_wrong(reader, place, value, "a mapping of labels");
        return;
    }
    for (const struct json *member = json_first(value); member; member = json_next(member)) {
        struct config_place at = {.up = place, .key = json_key(member)};
        read_label(reader, &at, member, target);
    }
}

static void read_worker_name(struct config_reader *reader, const struct config_place *place, const struct json *value,
                             void *target) {
    config_read_text(reader, place, value, target);
    if (text_equal(json_string(value), MANAGEMENT))
        config_wrong(reader, place, value, "another name: this one is reserved for the management cluster");
}

// "" is current-context.
static void read_context(struct config_reader *reader, const struct config_place *place, const struct json *value,
                         void *target) {
    const char *text = json_string(value);
    if (!text)
        config_wrong(reader, place, value, "the name of a context, or \"\" for the current one");
    else
        config_keep(reader, target, text);
}

static const struct config_word drains[] = {{"finish", DRAIN_FINISH}, {"move", DRAIN_MOVE}};

static void read_weight(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    int64_t weight = *(uint32_t *)target;
    config_read_whole(reader, place, value, &weight);
    *(uint32_t *)target = (uint32_t)weight;
}

static void read_rate_limit(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    struct worker_spec *cluster = target;
    size_t known = reader->problems->count;
    config_read_rates(reader, place, value, &cluster->settings.qps, &cluster->settings.burst, NULL);
    if (cluster->settings.qps <= 0 && known == reader->problems->count)
        config_problem(reader, place, "qps: found nothing or 0, expected more than 0");
}

void config_read_management(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    static const struct config_field fields[] = {
        {"kubeconfig", config_read_paths, offsetof(struct worker_spec, kubeconfig_path), false,
         .help = "Several are merged, as in KUBECONFIG.", .line_at = offsetof(struct worker_spec, kubeconfig_line)},
        {"context", read_context, offsetof(struct worker_spec, context), false, .help = "Default \"\"."},
    };
    struct worker_spec *cluster = target;
    cluster->line = config_line(reader, place);
    config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), cluster);
    if (!cluster->kubeconfig_path && cluster->context[0] != '\0')
        config_problem(reader, place, "found a context without a kubeconfig, expected both or neither");
}

// Reads one worker. Drops an invalid worker (not a mapping, no kubeconfig).
static void read_worker(struct config_reader *reader, const struct config_place *place, const struct json *value) {
    static const struct config_field fields[] = {
        {"name", read_worker_name, offsetof(struct worker_spec, settings.name), true,
         .help = "Recorded in annotations of workloads: a renamed cluster is a different cluster.", CONFIG_LABEL},
        {"kubeconfig", config_read_paths, offsetof(struct worker_spec, kubeconfig_path), true,
         .help = "Several are merged, as in KUBECONFIG.", .line_at = offsetof(struct worker_spec, kubeconfig_line)},
        {"context", read_context, offsetof(struct worker_spec, context), false, .help = "Default \"\"."},
        {"labels", read_labels, 0, false, .help = "Labels of the worker."},
        {"cordoned", config_read_bool, offsetof(struct worker_spec, cordoned), false,
         .help = "Default false. Whether to place nothing new there."},
        {"drain", config_read_word, offsetof(struct worker_spec, drain), false,
         .help = "Empties the worker: running workloads finish there, or move to other workers.", CONFIG_WORDS(drains)},
        {"maxActive", config_read_max_active, 0, false,
         .help = "Default: any number. How many unfinished workloads the worker may have."},
        {"capacity", config_read_choice, offsetof(struct worker_spec, capacity), false,
         .help = "Instead of placement.capacity."},
        {"weight", read_weight, offsetof(struct worker_spec, settings.weight), false,
         .help = "Default 1. The worker's share with policy weighted.", .min = 1, .max = 1000000},
        {"rateLimit", read_rate_limit, 0, false, .help = "Instead of the host's."},
        {"namespaces", config_read_worker_namespaces, offsetof(struct worker_spec, settings.namespaces), false,
         .help = "Namespaces with workloads to place there, besides the host's rule."},
    };
    struct config *config = reader->config;
    struct worker_spec *worker = config_grow(reader, &config->workers, config->n_workers, sizeof(*worker));
    if (!worker)
        return;
    worker->line = config_line(reader, place);
    worker->settings.weight = 1;
    worker->settings.order = (uint32_t)config->n_workers + 1;
    worker->origin_text = text_format("%s:%zu", reader->file, worker->line);
    reader->no_memory |= !worker->origin_text;
    config_keep(reader, &worker->context, "");
    config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), worker);
    if (!worker->settings.name) {
        worker->settings.name = text_format("workers[%zu]", place->index);
        reader->no_memory |= !worker->settings.name;
    }
    if (!worker->kubeconfig_path || !worker->origin_text || !worker->settings.name || !worker->context)
        worker_spec_clear(worker);
    else
        config->n_workers++;
}

void config_read_workers(struct config_reader *reader, const struct config_place *place, const struct json *value,
                         void *target) {
    (void)target;
    const struct json *from = json_get(reader->yaml.value, "workersFrom");
    if (json_is(value, JSON_ARRAY) && json_size(value) == 0 && json_is(from, JSON_OBJECT))
        return;
    config_each(reader, place, value, "worker", read_worker);
}

static bool same_cluster(const struct worker_spec *a, const struct worker_spec *b) {
    return a->kubeconfig_path && b->kubeconfig_path && strcmp(a->kubeconfig_path, b->kubeconfig_path) == 0 &&
           strcmp(a->context, b->context) == 0;
}

static void check_worker(struct config_reader *reader, size_t index) {
    const struct config *config = reader->config;
    const struct worker_spec *worker = &config->workers[index];
    if (same_cluster(&config->management, worker))
        problems_add(reader->problems,
                     "%s:%zu: worker %s: found the kubeconfig and context of the management cluster, "
                     "expected a different cluster: mirrors would collide with their workloads",
                     reader->file, worker->line, worker->settings.name);
    for (size_t i = 0; i < index; i++) {
        const struct worker_spec *other = &config->workers[i];
        if (strcmp(worker->settings.name, other->settings.name) == 0)
            problems_add(reader->problems, "%s:%zu: worker %s: duplicate name: line %zu has it already", reader->file,
                         worker->line, worker->settings.name, other->line);
        if (same_cluster(worker, other))
            problems_add(reader->problems,
                         "%s:%zu: worker %s: found the kubeconfig and context of worker %s (line "
                         "%zu), expected a different cluster",
                         reader->file, worker->line, worker->settings.name, other->settings.name, other->line);
    }
}

void config_check_clusters(struct config_reader *reader) {
    for (size_t i = 0; i < reader->config->n_workers; i++)
        check_worker(reader, i);
}
