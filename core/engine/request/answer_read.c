// SPDX-License-Identifier: Apache-2.0
// Answers to reads of workloads, see shard.h.
#include "core/engine/request/answer_parts.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/limits/orphans.h"
#include "core/engine/observe/observe.h"
#include "core/engine/observe/stale_version.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"

#define NOT_FOUND_MAX 5 // reads of a known workload that do not find it, before the watch is doubted
#define RELIST_NS CLOCK_MINUTE

// What the watch has shown meanwhile is newer.
static bool is_older(struct engine *engine, struct entry *entry, const struct object *object) {
    bool known = true;
    return entry->workload->facts.exists &&
           object_version_compare(object_version(object->value), doc_version(&engine->store, &entry->workload->doc),
                                  &known) < 0;
}

// What was read is gone, or no longer delegated, by what the watch has shown meanwhile: it will not show that again.
static bool is_gone(const struct entry *entry, const struct request_in_flight *request, const struct object *object) {
    const char *uid = object_uid(object->value);
    return !entry->workload->facts.exists &&
           (request->workload == text_hash(TEXT_HASH, uid) || orphans_was_deleted(entry, uid));
}

// Of one that is known and is not found, the watch shows the deletion; unless its list was answered late, from before
// the cluster was restored from a backup. Such a watch waits for versions to come and shows nothing of what is gone.
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
    if (!response->object) // too large: what is known is older, unless it is a stub
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
    // Of one that is gone, the next read says what is there now.
    entry->read_at_ns = answer_next_try_ns(engine, response, &entry->read_failures);
    if (response->reason == REASON_NOT_FOUND)
        doubt_watch(engine, entry);
    if (reason_is_permanent(response->reason))
        report_event(engine, entry, true, reason_text(response->reason), "Place",
                     "the management cluster rejected reading it: %s", response->message);
}
