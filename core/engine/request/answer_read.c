// SPDX-License-Identifier: Apache-2.0
// Answers to reads of workloads, see shard.h.
#include "core/engine/request/answer_parts.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/limits/orphans.h"
#include "core/engine/observe/observe.h"
#include "core/engine/observe/stale_version.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"

#define NOT_FOUND_MAX 5 // reads that do not find a known workload, before the host distrusts the watch
#define RELIST_NS CLOCK_MINUTE

// Watch events that came meanwhile are newer.
static bool is_older(struct engine *engine, struct entry *entry, const struct object *object) {
    bool known = true;
    return entry->workload->facts.exists &&
           object_version_compare(object_version(object->value), doc_version(&engine->store, &entry->workload->doc),
                                  &known) < 0;
}

// The watch has meanwhile shown the deletion or the end of the delegation, and will not do so again.
static bool is_gone(const struct entry *entry, const struct request_in_flight *request, const struct object *object) {
    const char *uid = object_uid(object->value);
    return !entry->workload->facts.exists &&
           (request->workload == text_hash(TEXT_HASH, uid) || orphans_was_deleted(entry, uid));
}

// If a read does not find a known workload, the watch will show the deletion, unless its list came late, from before
// the cluster was restored from a backup. Such a watch waits for future versions and shows no deletion.
static void doubt_watch(struct engine *engine, const struct entry *entry) {
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind);
    if (entry->read_failures < NOT_FOUND_MAX || watch->doubted_until_ns > engine->now.mono_ns)
        return;
    watch->doubted_until_ns = clock_after(engine->now.mono_ns, RELIST_NS);
    cluster_relist(engine, ENGINE_MANAGEMENT, entry->kind);
}

static bool take_read(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                      struct response *response) {
    if (response->reason != REASON_OK)
        return response->reason == REASON_NOT_FOUND && !entry->workload->facts.exists;
    bool stale = stale_version_must_read(engine, entry);
    if (entry->workload->facts.exists)
        entry->workload->listed_older = false;
    if (!response->object) // too large: the known version is older, unless it is a stub
        return entry->workload->facts.exists && entry->workload->facts.too_large;
    if (is_gone(entry, request, response->object))
        return false;
    if (stale && is_older(engine, entry, response->object))
        stale_version_reset_workload(entry);
    if (!is_older(engine, entry, response->object))
        observe_seen(engine, ENGINE_MANAGEMENT, entry->kind, answer_take_object(response));
    return true;
}

void answer_of_read(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                    struct response *response) {
    entry->busy = false;
    if (take_read(engine, entry, request, response)) {
        entry->read_term = request->term;
        entry->read_failures = 0;
        entry->read_at_ns = 0;
        return;
    }
    // The next read shows the present state of a workload that was deleted.
    entry->read_at_ns = answer_next_try_ns(engine, response, &entry->read_failures);
    if (response->reason == REASON_NOT_FOUND)
        doubt_watch(engine, entry);
    if (reason_is_permanent(response->reason))
        report_event(engine, entry, true, reason_text(response->reason), "Place",
                     "the management cluster rejected the read: %s", response->message);
}
