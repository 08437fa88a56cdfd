// SPDX-License-Identifier: Apache-2.0
#include "core/config/worker_spec.h"

#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS 5

static char **text_of(struct worker_spec *spec, size_t index) {
    char **texts[TEXTS] = {&spec->origin_text, &spec->kubeconfig_path, &spec->kubeconfig_text, &spec->context,
                           &spec->created};
    return texts[index];
}

void worker_spec_clear(struct worker_spec *spec) {
    worker_settings_clear(&spec->settings);
    for (size_t i = 0; i < TEXTS; i++)
        free(*text_of(spec, i));
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
    for (size_t i = 0; i < TEXTS; i++) {
        char **text = text_of(to, i), *former = *text;
        *text = complete && former ? strdup(former) : NULL;
        complete = complete && (*text || !former);
    }
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
