// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/namespace_retry.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/queue.h"

#include <string.h>

// Whether such a change can end the rejection.
static bool is_of_namespace(const char *reason) {
    static const char *const reasons[] = {"QuotaExceeded", "NamespaceNotFound", "NamespaceTerminating"};
    for (size_t i = 0; reason && i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i], reason) == 0)
            return true;
    return !reason;
}

void namespace_retry_wait(struct engine *engine, struct entry *entry, uint32_t cluster, const char *reason) {
    if (!is_of_namespace(reason))
        return;
    cluster_relist(engine, cluster, RELIST_NAMESPACES); // watched for a while from now
    if (entry->awaits_namespace ||
        !array_reserve(&engine->placement.namespace_waiters.list, &engine->placement.namespace_waiters.capacity,
                       engine->placement.namespace_waiters.count + 1, sizeof *engine->placement.namespace_waiters.list))
        return;
    entry->awaits_namespace = true;
    engine->placement.namespace_waiters.list[engine->placement.namespace_waiters.count++] = entry;
}

static void drop(struct engine *engine, size_t at) {
    engine->placement.namespace_waiters.list[at]->awaits_namespace = false;
    engine->placement.namespace_waiters.list[at] =
        engine->placement.namespace_waiters.list[--engine->placement.namespace_waiters.count];
}

void namespace_retry_forget(struct engine *engine, struct entry *entry) {
    for (size_t i = 0; entry->awaits_namespace && i < engine->placement.namespace_waiters.count; i++)
        if (engine->placement.namespace_waiters.list[i] == entry)
            drop(engine, i);
}

// A worker has rejected the workload or not started its mirror.
static bool waits(const struct entry *entry) {
    for (const struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (m->facts.excluded_until_ns || m->facts.tried)
            return entry->workload->facts.exists && !entry->workload->facts.finished;
    return false;
}

static void retry(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    int64_t now_ns = engine->now.mono_ns, at_ns = now_ns;
    if (mirror->namespace_retry_s)
        at_ns = clock_later(now_ns, (mirror->namespace_retry_s + NAMESPACE_RETRY_S) * CLOCK_SECOND);
    bool later = at_ns > now_ns;
    if (later && mirror->facts.excluded_until_ns <= at_ns && !mirror->facts.tried)
        return; // soon enough
    mirror->namespace_retry_s = (uint32_t)(at_ns / CLOCK_SECOND);
    mirror->facts.tried = false;
    mirror->facts.excluded_until_ns = later ? at_ns : 0;
    queue_entry(engine, entry);
}

void namespace_retry_changed(struct engine *engine, size_t cluster, const char *namespace_) {
    for (size_t i = engine->placement.namespace_waiters.count; i-- > 0;) {
        struct entry *entry = engine->placement.namespace_waiters.list[i];
        struct mirror *mirror = entry_mirror(entry, cluster);
        size_t len = entry->name_at - 1U;
        if (!waits(entry))
            drop(engine, i);
        else if (mirror && (mirror->facts.excluded_until_ns > engine->now.mono_ns || mirror->facts.tried) &&
                 (!namespace_ || (strlen(namespace_) == len && memcmp(namespace_, entry->key, len) == 0)))
            retry(engine, entry, mirror);
    }
}
