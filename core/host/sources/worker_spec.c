// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/worker_spec.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

void worker_spec_clear(struct worker_spec *spec) {
    free(spec->name);
    free(spec->origin_text);
    free(spec->kubeconfig_path);
    free(spec->kubeconfig_text);
    free(spec->context);
    free(spec->namespaces);
    free(spec->max_kinds);
    free(spec->created);
    free(spec->uid);
    free(spec->recorded);
    for (size_t i = 0; i < spec->n_labels; i++) {
        free(spec->labels[i].key);
        free(spec->labels[i].value);
    }
    free(spec->labels);
    *spec = (struct worker_spec){.name = NULL};
}

void worker_specs_free(struct worker_spec *specs, size_t count) {
    for (size_t i = 0; specs && i < count; i++)
        worker_spec_clear(&specs[i]);
    free(specs);
}

bool worker_spec_add_label(struct worker_spec *spec, const char *key, const char *value) {
    struct config_label *label = array_next(&spec->labels, spec->n_labels, sizeof *label);
    if (!label)
        return false;
    spec->n_labels++;
    return text_set(&label->key, key) && text_set(&label->value, value);
}

static bool add_labels(struct worker_spec *spec, const struct config_label *labels, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!worker_spec_add_label(spec, labels[i].key, labels[i].value))
            return false;
    return true;
}

bool worker_spec_copy(const struct worker_spec *from, struct worker_spec *to) {
    *to = (struct worker_spec){.source = from->source,
                               .revision = from->revision,
                               .cordoned = from->cordoned,
                               .unsettled = from->unsettled,
                               .drain = from->drain,
                               .max_active = from->max_active,
                               .capacity = from->capacity,
                               .weight = from->weight,
                               .order = from->order,
                               .qps = from->qps,
                               .burst = from->burst};
    if (text_set(&to->name, from->name) && text_set(&to->origin_text, from->origin_text) &&
        text_set(&to->kubeconfig_path, from->kubeconfig_path) &&
        text_set(&to->kubeconfig_text, from->kubeconfig_text) && text_set(&to->context, from->context) &&
        text_set(&to->namespaces, from->namespaces) && text_set(&to->max_kinds, from->max_kinds) &&
        text_set(&to->created, from->created) && text_set(&to->uid, from->uid) &&
        text_set(&to->recorded, from->recorded) && add_labels(to, from->labels, from->n_labels))
        return true;
    worker_spec_clear(to);
    return false;
}

bool worker_spec_of_config(const struct config_cluster *cluster, const char *config_path, struct worker_spec *out) {
    *out = (struct worker_spec){.source = SOURCE_CONFIG,
                                .cordoned = cluster->cordoned,
                                .drain = cluster->drain,
                                .max_active = cluster->max_active,
                                .capacity = cluster->capacity,
                                .weight = cluster->weight,
                                .order = cluster->order,
                                .qps = cluster->qps,
                                .burst = cluster->burst,
                                .origin_text = text_format("%s:%zu", config_path, cluster->line)};
    if (out->origin_text && text_set(&out->name, cluster->name) &&
        text_set(&out->kubeconfig_path, cluster->kubeconfig) && text_set(&out->context, cluster->context) &&
        text_set(&out->namespaces, cluster->namespaces) && text_set(&out->max_kinds, cluster->max_kinds) &&
        add_labels(out, cluster->labels, cluster->n_labels))
        return true;
    worker_spec_clear(out);
    return false;
}
