// SPDX-License-Identifier: Apache-2.0
#include "core/engine/limits/large_mirrors.h"

#include "core/base/text.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/kube/object/object.h"

static size_t limit_of(const struct engine *engine) {
    return engine->settings.max_orphans * LARGE_MIRRORS_SHARE;
}

static size_t excess_of(const struct entry *entry, size_t len) {
    size_t allowed = entry->workload->doc.text.len + LARGE_MIRRORS_ALLOWED;
    return entry->workload->facts.exists && len > allowed ? len - allowed : 0;
}

void large_mirrors_bound(struct engine *engine, size_t cluster, size_t kind, struct object **object) {
    const struct object *o = *object;
    size_t max = limit_of(engine);
    if (max == 0 || o->too_large || o->len <= LARGE_MIRRORS_ALLOWED)
        return;
    const struct entry *entry = store_get(&engine->store, kind, object_namespace(o->value), object_name(o->value));
    const struct mirror *m = entry ? entry_mirror(entry, cluster) : NULL;
    size_t others = engine->clusters[cluster].limits.excess - (m ? m->excess : 0);
    size_t excess = entry ? excess_of(entry, o->len) : 0;
    if (excess == 0 || others + excess <= max)
        return;
    struct object *stub = NULL;
    AUTO_TEXT why = text_format("the mirrors of this worker together exceed their workloads by more than %zu bytes; "
                                "raise memory.perCluster",
                                max);
    struct error *error = object_stub(o->text, o->len, NULL, NULL, NULL, why, &stub);
    if (error) {
        error_free(error);
        return;
    }
    object_free(*object);
    *object = stub;
    cluster_watch(engine, cluster, kind)->large_ignored = true;
}

static void list_ignored(struct engine *engine, size_t cluster) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        struct watch_state *watch = cluster_watch(engine, cluster, k);
        if (watch->large_ignored)
            cluster_relist(engine, cluster, k);
        watch->large_ignored = false;
    }
}

static void count(struct engine *engine, struct mirror *m, size_t excess) {
    size_t *sum = &engine->clusters[m->facts.cluster].limits.excess;
    size_t before = *sum, half = limit_of(engine) / 2;
    *sum += excess - m->excess;
    m->excess = (uint32_t)excess;
    if (before > half && *sum <= half)
        list_ignored(engine, m->facts.cluster);
}

void large_mirrors_account(struct engine *engine, const struct entry *entry) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        count(engine, m, m->facts.present && m->facts.of_workload ? excess_of(entry, m->doc.text.len) : 0);
}

void large_mirrors_forget(struct engine *engine, struct mirror *m) {
    count(engine, m, 0);
}
