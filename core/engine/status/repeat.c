// SPDX-License-Identifier: Apache-2.0
// Rule 10. Another writer reverts the host's writes: the host repeats a write although the input has not changed. The
// first few repeats are immediate; then each waits longer (throttle.h), and the host reports the other writer once.
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/decide/decide_parts.h"
#include "core/engine/engine_internal.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/rival.h"
#include "core/engine/status/status.h"

#define MANAGER "wharf" // the host's name in managedFields
#define FREE_PLACES 4
#define FREE_UPDATES 5
#define FREE_STATUSES 3
#define OTHER_HOST_REPORTED 3 // identical writes by another host before the report

// Counts one more. True: the throttle has just become hot.
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
                     "another writer (%s) repeatedly changes the status although the mirror's is unchanged; the host "
                     "rewrites the status with growing delays of up to 5 min; stop the other writer",
                     name);
    else
        report_event(engine, entry, true, "MirrorRewritten", "CarryChange",
                     "another writer (%s) repeatedly changes the mirror in cluster %s; the host restores the "
                     "workload's values with growing delays of up to 5 min; stop the other writer",
                     name, engine->clusters[request->cluster].name);
}

bool repeat_placed(struct engine *engine, struct entry *entry) {
    struct workload_facts *w = &entry->workload->facts;
    const struct unstarted_facts *unstarted = entry->workload->unstarted;
    bool withdrawn = unstarted && unstarted->withdrawn_attempt == w->attempt;
    if (withdrawn || w->clean_attempt == w->attempt || w->drained_attempt == w->attempt)
        return false;
    const char *last = facts_worker_name(engine, entry);
    if (becomes_hot(&w->places, engine->now.mono_ns, FREE_PLACES))
        report_event(engine, entry, true, "PlacedTooOften", "Place",
                     "rescheduled %u times within a short time because another client repeatedly deletes the mirror "
                     "(last in cluster %s); the host reschedules the workload with growing delays of up to 5 min",
                     w->places.count, last ? last : "?");
    return throttle_is_hot(&w->places, engine->now.mono_ns, FREE_PLACES);
}

int64_t repeat_update_at_ns(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    if (mirror->patched_source != repeat_fold(entry->workload->carry_hash))
        return engine->now.mono_ns;
    if (mirror->updates.at_ns > engine->now.mono_ns)
        return mirror->updates.at_ns;
    if (becomes_hot(&mirror->updates, engine->now.mono_ns, FREE_UPDATES))
        (void)writer_ask(engine, entry, mirror->facts.cluster, WRITER_REPEATS);
    return engine->now.mono_ns;
}

uint32_t repeat_source(const struct entry *entry, const struct json *mirror) {
    const struct workload *w = entry->workload;
    return repeat_fold(json_hash(json_get(mirror, "status")) * 31 + (uint64_t)w->generation * 7 + w->facts.attempt);
}

bool repeat_may_write(struct engine *engine, struct entry *entry, uint32_t source) {
    struct workload *w = entry->workload;
    if (w->status.written_source != source)
        return true;
    w->facts.status_held = w->facts.statuses.at_ns > engine->now.mono_ns;
    if (!w->facts.status_held && becomes_hot(&w->facts.statuses, engine->now.mono_ns, FREE_STATUSES))
        (void)writer_ask(engine, entry, ENGINE_MANAGEMENT, WRITER_REPEATS);
    return !w->facts.status_held;
}

// A status write conflicted, and the status is there now although this host did not write it: another host with this
// origin may have, or a rival.
void repeat_nothing_to_write(struct entry *entry, uint64_t wanted) {
    struct workload_status *status = &entry->workload->status;
    if (status->conflict_hash && status->conflict_hash == repeat_fold(wanted))
        rival_suspect_twin(entry);
    status->conflict_hash = 0;
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
        entry->workload->status.conflict_hash = repeat_fold(request->wanted);
}

bool writer_ask(struct engine *engine, struct entry *entry, uint32_t cluster, enum writer_question question) {
    const struct kind *kind = engine->kinds[entry->kind];
    const char *version = cluster_watch(engine, cluster, entry->kind)->version;
    char space[254];
    entry_namespace(entry, space);
    struct resource resource = {.group = kind->abi.group,
                                .version = version ? version : "",
                                .plural = kind->abi.plural,
                                .cluster_scoped = *space == '\0'};
    AUTO_BUFFER(path, 2048);
    struct error *error = resource_path(&resource, space, entry_name(entry), NULL, &path);
    struct request_in_flight request = {
        .type = REQUEST_WRITER, .cluster = cluster, .source = question, .path = path.data};
    bool sent = !error && path.data && command_send(engine, entry, &request);
    entry->lookups += sent;
    error_free(error);
    return sent;
}

static void keep_newest(const char **newest, const char *time) {
    if (strcmp(time, *newest) > 0)
        *newest = time;
}

// Without a subresource the status is one of the object's other fields.
static bool is_of_status(const struct json *entry, bool subresource) {
    return strcmp(json_string_or(json_get(entry, "subresource"), ""), "status") == 0 ||
           (!subresource && json_path(entry, "fieldsV1", "f:status", NULL));
}

struct writers writer_read(const struct json *object, bool status, bool subresource) {
    struct writers found = {.other_at = "", .own_at = "", .recorded_at = ""};
    for (const struct json *f = json_first(json_path(object, "metadata", "managedFields", NULL)); f; f = json_next(f)) {
        const char *manager = json_string(json_get(f, "manager")), *time = json_string_or(json_get(f, "time"), "");
        bool of_status = is_of_status(f, subresource);
        if (manager && strcmp(manager, MANAGER) == 0) {
            keep_newest(of_status ? &found.own_at : &found.recorded_at, time);
        } else if (manager && of_status == status && strcmp(time, found.other_at) >= 0) {
            found.other = manager;
            found.other_at = time;
        }
    }
    return found;
}
