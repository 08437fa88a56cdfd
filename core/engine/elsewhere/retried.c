// SPDX-License-Identifier: Apache-2.0
#include "core/engine/elsewhere/retried.h"

#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/placement/placing.h"

unsigned retried_count(const char *names) {
    unsigned count = 0;
    const char *name;
    for (size_t len; count < UINT8_MAX && text_next_word(&names, ',', &name, &len);)
        count += len > 0;
    return count;
}

const char *retried_names(struct engine *engine, const struct entry *entry) {
    return object_annotation(doc_tree(&engine->store, &entry->workload->doc), MARK_RETRIED);
}

bool retried_any(const struct entry *entry) {
    return entry->workload->elsewhere.retried;
}

bool retried_from(struct engine *engine, const struct entry *entry, size_t cluster) {
    return retried_any(entry) && text_list_has(retried_names(engine, entry), engine->clusters[cluster].name);
}

char *retried_text(struct engine *engine, const struct entry *entry) {
    if (!retried_any(entry))
        return NULL;
    const char *names = retried_names(engine, entry), *last = facts_worker_name(engine, entry), *name;
    AUTO_BUFFER(text, 4096);
    buffer_text(&text, "tried in ");
    for (size_t len; text_next_word(&names, ',', &name, &len);)
        if (len > 0)
            buffer_printf(&text, "%.*s, ", (int)len, name);
    buffer_printf(&text, "%s (retryElsewhere.max %lld)", last ? last : "another worker",
                  (long long)placement_rule_of(engine, entry, NULL, NULL)->retry.max);
    return text.failed ? NULL : buffer_take(&text, NULL);
}
