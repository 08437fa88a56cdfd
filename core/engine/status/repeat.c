// SPDX-License-Identifier: Apache-2.0
// Rule 10. Writes repeated although their input has not changed: another writer reverts them. The first few are
// repeated immediately; then each waits longer (throttle.h), and the other writer is reported once.
#include "core/engine/status/repeat.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/decide/decide_unstarted.h"
#include "core/engine/engine_internal.h"
#include "core/engine/facts.h"
#include "core/engine/mirror/record.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/rival_state.h"
#include "core/engine/status/writer.h"

#include <string.h>

#define FREE_PLACES 4
#define FREE_UPDATES 5
#define FREE_STATUSES 3
#define OTHER_HOST_REPORTED 3 // identical writes by somebody else before they are reported

static uint32_t fold(uint64_t hash) {
    uint32_t folded = (uint32_t)(hash ^ (hash >> 32));
    return folded ? folded : 1;
}

// Counts one more. True: it has just become hot.
static bool becomes_hot(struct throttle *throttle, int64_t now_ns, uint32_t free) {
    bool was = throttle_is_hot(throttle, now_ns, free);
    throttle_next(throttle, now_ns, free);
    return !was && throttle_is_hot(throttle, now_ns, free);
}

void repeat_writer_answered(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                            const struct response *response) {
    bool status = request->cluster == ENGINE_MANAGEMENT;
    bool subresource = !(engine->kinds[entry->kind]->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE);
    const char *who =
        response->reason == REASON_OK ? writer_read(response->value, status && subresource, true).other : NULL;
    char name[128];
    text_copy(name, sizeof name, who ? who : "unknown; perhaps another host with this origin");
    if (status)
        report_event(engine, entry, true, "StatusRewritten", "CopyStatus",
                     "another writer (%s) repeatedly changes its status although the mirror's is unchanged; it is "
                     "rewritten with growing delays of up to 5 min; stop the other writer",
                     name);
    else
        report_event(engine, entry, true, "MirrorRewritten", "CarryChange",
                     "another writer (%s) repeatedly changes its mirror in cluster %s; the workload's values are "
                     "restored with growing delays of up to 5 min; stop the other writer",
                     name, engine->clusters[request->cluster].name);
}

bool repeat_placed(struct engine *engine, struct entry *entry) {
    bool withdrawn =
        entry->workload->unstarted && entry->workload->unstarted->withdrawn_attempt == entry->workload->facts.attempt;
    if (withdrawn || entry->workload->facts.clean_attempt == entry->workload->facts.attempt ||
        entry->workload->facts.drained_attempt == entry->workload->facts.attempt)
        return false;
    const char *last = facts_worker_name(engine, entry);
    bool told = becomes_hot(&entry->workload->facts.places, engine->now.mono_ns, FREE_PLACES);
    if (told)
        report_event(engine, entry, true, "PlacedTooOften", "Place",
                     "rescheduled %u times within a short time because its mirror is repeatedly deleted, not by this "
                     "host (last in cluster %s); it is rescheduled with growing delays of up to 5 min",
                     entry->workload->facts.places.count, last ? last : "?");
    return throttle_is_hot(&entry->workload->facts.places, engine->now.mono_ns, FREE_PLACES);
}

int64_t repeat_update_at_ns(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    if (mirror->patched_source != fold(entry->workload->carry_hash))
        return engine->now.mono_ns;
    if (mirror->updates.at_ns > engine->now.mono_ns)
        return mirror->updates.at_ns;
    if (becomes_hot(&mirror->updates, engine->now.mono_ns, FREE_UPDATES))
        (void)writer_ask(engine, entry, mirror->facts.cluster, WRITER_REPEATS);
    return engine->now.mono_ns;
}

void repeat_updated(struct mirror *mirror, const struct request_in_flight *request) {
    mirror->patched_source = fold(request->wanted);
}

uint32_t repeat_source(const struct entry *entry, const struct json *mirror) {
    const struct json *status = json_get(mirror, "status");
    return fold((status ? json_hash(status) : 0) * 31 + (uint64_t)entry->workload->generation * 7 +
                entry->workload->facts.attempt);
}

bool repeat_may_write(struct engine *engine, struct entry *entry, uint32_t source) {
    if (entry->workload->status.written_source != source)
        return true;
    entry->workload->facts.status_held = entry->workload->facts.statuses.at_ns > engine->now.mono_ns;
    if (!entry->workload->facts.status_held &&
        becomes_hot(&entry->workload->facts.statuses, engine->now.mono_ns, FREE_STATUSES))
        (void)writer_ask(engine, entry, ENGINE_MANAGEMENT, WRITER_REPEATS);
    return !entry->workload->facts.status_held;
}

// A status write that conflicted, and whose status is there now although this host did not write it: another host with
// this origin would, or a rival.
void repeat_nothing_to_write(struct entry *entry, uint64_t wanted) {
    if (entry->workload->status.conflict_hash && entry->workload->status.conflict_hash == fold(wanted))
        rival_suspect_twin(entry);
    entry->workload->status.conflict_hash = 0;
}

void repeat_other_host(struct engine *engine, struct entry *entry) {
    engine->stats.other_host_writes++;
    if (becomes_hot(&engine->status.other_hosts, engine->now.mono_ns, OTHER_HOST_REPORTED - 1))
        report_event(engine, entry, true, "AnotherHost", "CopyStatus",
                     "another writer has written exactly the status that this host was about to write: check that no "
                     "other host runs with origin %s",
                     engine->origin);
}

void repeat_conflict(struct entry *entry, const struct request_in_flight *request) {
    if (request->type == REQUEST_STATUS && !entry->workload->unsure)
        entry->workload->status.conflict_hash = fold(request->wanted);
}
