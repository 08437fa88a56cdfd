// SPDX-License-Identifier: Apache-2.0
#include "core/engine/elsewhere/retried.h"

#include "core/engine/mirror/mirror.h"
#include "core/engine/placement/placing.h"

const char *retried_next_name(const char **names, size_t *len) {
    *names += strspn(*names, ",");
    const char *name = *names;
    *len = strcspn(name, ",");
    *names += *len;
    return *len > 0 ? name : NULL;
}

bool retried_any(const struct entry *entry) {
    return entry->workload->elsewhere.retried;
}

static const char *names_of(struct engine *engine, const struct entry *entry) {
    return retried_any(entry) ? object_annotation(doc_tree(&engine->store, &entry->workload->doc), MARK_RETRIED) : NULL;
}

char *retried_text(struct engine *engine, const struct entry *entry) {
    const char *names = names_of(engine, entry), *last = facts_worker_name(engine, entry);
    AUTO_BUFFER(text, 4096);
    size_t len;
    if (!names)
        return NULL;
    buffer_text(&text, "tried in ");
    for (const char *name; (name = retried_next_name(&names, &len));)
        buffer_printf(&text, "%.*s, ", (int)len, name);
    buffer_printf(&text, "%s (retryElsewhere.max %lld)", last ? last : "another worker",
                  (long long)placement_rule_of(engine, entry, NULL, NULL)->retry.max);
    return text.failed ? NULL : buffer_take(&text, NULL);
}

bool retried_from(struct engine *engine, const struct entry *entry, size_t cluster) {
    const char *names = names_of(engine, entry), *wanted = engine->clusters[cluster].name;
    size_t len;
    for (const char *name; names && (name = retried_next_name(&names, &len));)
        if (strlen(wanted) == len && memcmp(wanted, name, len) == 0)
            return true;
    return false;
}
