// SPDX-License-Identifier: Apache-2.0
#include "core/config/worker_settings.h"

#include <stdlib.h>
#include <string.h>

const char **worker_settings_text(struct worker_settings *settings, size_t index) {
    static const size_t texts[WORKER_SETTINGS_TEXTS] = {
        offsetof(struct worker_settings, name),   offsetof(struct worker_settings, namespaces),
        offsetof(struct worker_settings, labels), offsetof(struct worker_settings, max_kinds),
        offsetof(struct worker_settings, uid),    offsetof(struct worker_settings, recorded)};
    return (const char **)((char *)settings + texts[index]);
}

void worker_settings_clear(struct worker_settings *settings) {
    for (size_t i = 0; i < WORKER_SETTINGS_TEXTS; i++)
        free((char *)*worker_settings_text(settings, i));
    *settings = (struct worker_settings){.name = NULL};
}

bool worker_settings_copy(const struct worker_settings *from, struct worker_settings *to) {
    bool complete = true;
    *to = *from;
    for (size_t i = 0; i < WORKER_SETTINGS_TEXTS; i++) {
        const char **text = worker_settings_text(to, i), *former = *text;
        *text = complete && former && *former ? strdup(former) : NULL;
        complete = complete && (*text || !former || !*former);
    }
    if (!complete)
        worker_settings_clear(to);
    return complete;
}

bool worker_settings_equal(const struct worker_settings *a, const struct worker_settings *b) {
    struct worker_settings left = *a, right = *b;
    bool equal = a->policy == b->policy && a->qps == b->qps && a->burst == b->burst && a->max_active == b->max_active &&
                 a->weight == b->weight && a->order == b->order;
    for (size_t i = 0; equal && i < WORKER_SETTINGS_TEXTS; i++) {
        const char *x = *worker_settings_text(&left, i), *y = *worker_settings_text(&right, i);
        equal = strcmp(x ? x : "", y ? y : "") == 0;
    }
    return equal;
}
