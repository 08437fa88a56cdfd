// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/config/worker_spec.h"

#define SPEC_TEXTS 6 // origin_text and those after it

static const char **spec_texts(struct worker_spec *spec) {
    return (const char **)((char *)spec + offsetof(struct worker_spec, origin_text));
}

static void free_texts(const char **texts, size_t count) {
    for (size_t i = 0; i < count; i++)
        free((char *)texts[i]);
}

// Replaces texts by copies. False: out of memory; the rest is NULL.
static bool copy_texts(const char **texts, size_t count, bool keep_empty) {
    bool complete = true;
    for (size_t i = 0; i < count; i++) {
        bool wanted = complete && texts[i] && (keep_empty || *texts[i]);
        texts[i] = wanted ? strdup(texts[i]) : NULL;
        complete = complete && (!wanted || texts[i]);
    }
    return complete;
}

void worker_settings_clear(struct worker_settings *settings) {
    free_texts((const char **)settings, WORKER_SETTINGS_TEXTS);
    *settings = (struct worker_settings){.name = NULL};
}

bool worker_settings_copy(const struct worker_settings *from, struct worker_settings *to) {
    *to = *from;
    bool complete = copy_texts((const char **)to, WORKER_SETTINGS_TEXTS, false);
    if (!complete)
        worker_settings_clear(to);
    return complete;
}

bool worker_settings_equal(const struct worker_settings *a, const struct worker_settings *b) {
    bool equal = a->policy == b->policy && a->qps == b->qps && a->burst == b->burst && a->max_active == b->max_active &&
                 a->weight == b->weight && a->order == b->order && a->is_self == b->is_self;
    for (size_t i = 0; equal && i < WORKER_SETTINGS_TEXTS; i++) {
        const char *x = ((const char *const *)a)[i], *y = ((const char *const *)b)[i];
        equal = strcmp(x ? x : "", y ? y : "") == 0;
    }
    return equal;
}

void worker_spec_clear(struct worker_spec *spec) {
    worker_settings_clear(&spec->settings);
    free_texts(spec_texts(spec), SPEC_TEXTS);
    *spec = (struct worker_spec){.source = SOURCE_CONFIG};
}

void worker_specs_free(struct worker_spec *specs, size_t count) {
    for (size_t i = 0; specs && i < count; i++)
        worker_spec_clear(&specs[i]);
    free(specs);
}

bool worker_spec_copy(const struct worker_spec *from, struct worker_spec *to) {
    *to = *from;
    bool complete = worker_settings_copy(&from->settings, &to->settings);
    complete = copy_texts(spec_texts(to), SPEC_TEXTS, true) && complete;
    if (!complete)
        worker_spec_clear(to);
    return complete;
}

bool worker_spec_add_label(struct worker_spec *spec, const char *key, const char *value) {
    const char *former = spec->settings.labels;
    char *labels = text_format("%s%s%s=%s", former ? former : "", former ? "," : "", key, value);
    if (!labels)
        return false;
    free((char *)former);
    spec->settings.labels = labels;
    return true;
}
