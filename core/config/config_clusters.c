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
    static const char expected[] = "a name of at most 63 lower-case letters, digits and '-' (RFC 1123 label)";
    const char *text = config_text(reader, place, value, expected);
    if (!text)
        return;
    if (!text_is_dns_label(text))
        config_wrong(reader, place, value, expected);
    else if (strcmp(text, MANAGEMENT) == 0)
        config_wrong(reader, place, value, "another name: this one is reserved for the management cluster");
    config_keep(reader, target, text);
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

// The line is for messages about the files.
static void read_kubeconfig(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    struct worker_spec *cluster = target;
    cluster->kubeconfig_line = config_line(reader, place);
    config_read_paths(reader, place, value, &cluster->kubeconfig_path);
}

static void read_drain(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    static const char *const words[] = {"finish", "move"};
    int index = config_read_word(reader, place, value, words, 2, "finish or move");
    if (index >= 0)
        *(enum drain *)target = index == 0 ? DRAIN_FINISH : DRAIN_MOVE;
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
        {"kubeconfig", read_kubeconfig, 0, false, "Several are merged, as in KUBECONFIG."},
        {"context", read_context, offsetof(struct worker_spec, context), false, "Default \"\"."},
    };
    struct worker_spec *cluster = target;
    cluster->line = config_line(reader, place);
    config_mapping(reader, place, value, fields, sizeof(fields) / sizeof(fields[0]), cluster);
    if (!cluster->kubeconfig_path && cluster->context[0] != '\0')
        config_problem(reader, place, "found a context without a kubeconfig, expected both or neither");
}

// Reads one worker. An invalid one (not a mapping, no kubeconfig) is dropped.
static void read_worker(struct config_reader *reader, const struct config_place *place, const struct json *value) {
    static const struct config_field fields[] = {
        {"name", read_worker_name, offsetof(struct worker_spec, settings.name), true,
         "Recorded in annotations of workloads: a renamed cluster is a different cluster."},
        {"kubeconfig", read_kubeconfig, 0, true, "Several are merged, as in KUBECONFIG."},
        {"context", read_context, offsetof(struct worker_spec, context), false, "Default \"\"."},
        {"labels", read_labels, 0, false, "Labels of the worker."},
        {"cordoned", config_read_bool, offsetof(struct worker_spec, cordoned), false,
         "Default false. Whether nothing new is placed there."},
        {"drain", read_drain, offsetof(struct worker_spec, drain), false,
         "Empties the worker: what runs there ends there, or is moved."},
        {"maxActive", config_read_max_active, 0, false,
         "Default: any number. How many unfinished workloads it may have."},
        {"capacity", config_read_choice, offsetof(struct worker_spec, capacity), false,
         "Instead of placement.capacity."},
        {"weight", config_read_weight, offsetof(struct worker_spec, settings.weight), false,
         "Default 1. Its share with policy weighted."},
        {"rateLimit", read_rate_limit, 0, false, "Instead of the host's."},
        {"namespaces", config_read_worker_namespaces, offsetof(struct worker_spec, settings.namespaces), false,
         "Whose workloads are placed there, of those that the host's rule permits."},
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
    config_mapping(reader, place, value, fields, sizeof(fields) / sizeof(fields[0]), worker);
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
