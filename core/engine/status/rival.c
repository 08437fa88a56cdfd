// SPDX-License-Identifier: Apache-2.0
// Other writers: repeated writes, and controllers that run delegated workloads.
#include "core/adapter/phase.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/decide/decide_parts.h"
#include "core/engine/engine_internal.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"
#include "core/engine/status/status.h"

#define MANAGER "wharf" // the host's name in managedFields
#define FREE_PLACES 4
#define FREE_UPDATES 5
#define FREE_STATUSES 3
#define OTHER_HOST_REPORTED 3 // identical writes by another host before the report
#define FREE_QUESTIONS 2
#define FRESH_NS (10 * CLOCK_SECOND) // an older write, before this host's last one, does not explain the status
#define AGAIN_NS CLOCK_MINUTE        // between checks of a workload that waits for the end of the signs

// Made on demand. NULL: out of memory.
static struct rival *rival_of(struct entry *entry) {
    struct workload_status *status = &entry->workload->status;
    if (!status->rival)
        status->rival = calloc(1, sizeof *status->rival);
    return status->rival;
}

static void suspect(struct entry *entry, bool twin) {
    struct rival *rival = rival_of(entry);
    if (!rival)
        return;
    rival->twin |= twin;
    rival->suspected |= !twin;
}

// Sends a GET, answered as REQUEST_WRITER with the question in `source`. False: not sent.
static bool writer_ask(struct engine *engine, struct entry *entry, uint32_t cluster, enum writer_question question) {
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

// Repeated writes ----------------------------------------------------------------------------------------------

// Rule 10. Another writer reverts the host's writes: the host repeats a write although the input has not changed. The
// first few repeats are immediate; then each waits longer (throttle.h), and the host reports the other writer once.

// Counts one more. True: the throttle has just become hot.
static bool becomes_hot(struct throttle *throttle, int64_t now_ns, uint32_t free) {
    bool was = throttle_is_hot(throttle, now_ns, free);
    throttle_next(throttle, now_ns, free);
    return !was && throttle_is_hot(throttle, now_ns, free);
}

static void repeat_writer_answered(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
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
        suspect(entry, true);
    status->conflict_hash = 0;
}

static void repeat_other_host(struct engine *engine, struct entry *entry) {
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

// Rivals -------------------------------------------------------------------------------------------------------

// 0: no status.
static uint32_t status_hash(const struct json *object) {
    const struct json *status = json_get(object, "status");
    return json_is(status, JSON_OBJECT) && json_size(status) > 0 ? repeat_fold(json_hash(status)) : 0;
}

bool rival_describe(const struct entry *entry, char out[RIVAL_TEXT]) {
    const struct rival *rival = entry->workload->status.rival;
    if (!rival || !rival->runs)
        return false;
    const char *made = rival->object, *who = *rival->who ? rival->who : "an unknown writer";
    snprintf(out, RIVAL_TEXT, "a controller in the management cluster %s %.*s",
             *made ? "made" : "wrote its status:", RIVAL_OBJECT, *made ? made : who);
    return true;
}

static uint64_t space_of(const struct entry *entry) {
    char space[254];
    entry_namespace(entry, space);
    return text_hash(TEXT_HASH, space);
}

static struct also_run *signs_of(const struct engine *engine, const struct entry *entry) {
    return &cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->also_run;
}

// New workloads of the kind wait for a while, in the namespace of the sign; after signs in two namespaces, in all, so
// that one author alone cannot delay the others.
static void add_sign(const struct engine *engine, const struct entry *entry) {
    struct also_run *signs = signs_of(engine, entry);
    if (signs->until_ns <= engine->now.mono_ns)
        *signs = (struct also_run){.space = space_of(entry)};
    signs->everywhere |= signs->space != space_of(entry);
    signs->until_ns = clock_after(engine->now.mono_ns, RIVAL_REST_NS);
}

// When the host may place a new workload; 0: now.
static int64_t signs_until_ns(const struct engine *engine, const struct entry *entry) {
    const struct rival *rival = entry->workload->status.rival;
    if (engine->kinds[entry->kind]->hybrid == HYBRID_ALLOW)
        return 0;
    if (rival && (rival->runs || rival->suspected) && entry->workload->facts.attempt == 0)
        return clock_after(engine->now.mono_ns, AGAIN_NS);
    const struct also_run *signs = signs_of(engine, entry);
    return signs->everywhere || (signs->until_ns > 0 && signs->space == space_of(entry)) ? signs->until_ns : 0;
}

static bool is_disputed(const struct entry *entry) {
    const struct mirror *placed = facts_placed_mirror(entry);
    return decide_is_disputed(&entry->workload->facts, placed ? &placed->facts : NULL);
}

static void ask(struct engine *engine, struct entry *entry) {
    struct rival *rival = rival_of(entry);
    if (!rival || rival->asking)
        return;
    if (rival->questions.at_ns > engine->now.mono_ns) {
        queue_wake(engine, entry, rival->questions.at_ns);
        return;
    }
    throttle_next(&rival->questions, engine->now.mono_ns, FREE_QUESTIONS);
    rival->asking = writer_ask(engine, entry, ENGINE_MANAGEMENT, WRITER_STATUS);
    if (!rival->asking)
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
}

// A sign: the controller runs this workload.
static void mark_run(struct engine *engine, struct entry *entry) {
    struct rival *rival = entry->workload->status.rival;
    rival->seen_ns = engine->now.mono_ns;
    add_sign(engine, entry);
    engine->stats.kinds[entry->kind].also_run += !rival->runs;
    rival->runs = true;
    if (yield_is_wanted(engine, entry))
        yield_set(engine, entry, true);
    queue_entry(engine, entry);
}

static void suspect_writer(struct engine *engine, struct entry *entry) {
    suspect(entry, false);
    entry->workload->facts.yield_unsure = yield_is_wanted(engine, entry);
}

// A status that is neither known nor of a write in flight. A write with an unknown outcome may explain the status, and
// Kueue writes the status of suspended workloads.
static void judge_status(struct engine *engine, struct entry *entry, uint32_t hash) {
    struct workload *w = entry->workload;
    if (hash == w->status.status_seen || entry->busy)
        return;
    w->status.status_seen = hash;
    w->status.status_is_own = false;
    if (w->unsure || (w->facts.suspended && !w->facts.yields) || w->facts.finished || !shard_is_held(engine, entry))
        return;
    if (w->status.rival && w->status.rival->runs)
        mark_run(engine, entry);
    else
        suspect_writer(engine, entry);
}

static void unmark(struct engine *engine, struct entry *entry) {
    struct rival *rival = entry->workload->status.rival;
    if (rival)
        engine->stats.kinds[entry->kind].also_run -= rival->runs;
    free(rival);
    entry->workload->status.rival = NULL;
}

// An unplaced or suspended workload that runs here would run twice: it waits for the end here, a deletion, or a retry.
static void unmark_if_rested(struct engine *engine, struct entry *entry) {
    const struct rival *rival = entry->workload->status.rival;
    const struct workload_facts *w = &entry->workload->facts;
    if (!rival->runs)
        return;
    int64_t rested_ns = clock_after(rival->seen_ns, RIVAL_REST_NS);
    if (w->finished ? !is_disputed(entry) : w->attempt > 0 && !w->yields && rested_ns <= engine->now.mono_ns)
        unmark(engine, entry);
    else if (rested_ns > engine->now.mono_ns)
        queue_wake(engine, entry, rested_ns);
}

static void report_run(struct engine *engine, struct entry *entry) {
    struct rival *rival = entry->workload->status.rival;
    const struct kind *kind = engine->kinds[entry->kind];
    bool allowed = kind->hybrid == HYBRID_ALLOW;
    if (rival->told)
        return;
    rival->told = true;
    report_event(engine, entry, true, "AlsoRunHere", "Observe",
                 "a controller in the management cluster runs the delegated workload too: %s%s; %s%s%s",
                 *rival->object ? "it made " : "the writer of the status is ",
                 *rival->object ? rival->object : rival->who,
                 allowed                         ? "the configuration permits this for "
                 : entry->workload->facts.yields ? "the host suspends the mirror, and new workloads of "
                                                 : "stop that controller for delegated objects: new workloads of ",
                 kind->plural_group, allowed ? "" : " wait until then");
}

// The delegated workload that controls an object in the management cluster.
static struct entry *owner_of(const struct engine *engine, const struct json *object) {
    const struct json *owner = object_controller(object);
    const char *kind = owner ? json_string(json_get(owner, "kind")) : NULL;
    const char *group = json_string_or(json_get(owner, "apiVersion"), "");
    for (size_t k = 0; kind && k < engine->n_kinds; k++) {
        const wharf_kind *abi = &engine->kinds[k]->abi;
        size_t len = strlen(abi->group);
        if (strcmp(abi->kind, kind) != 0 || strncmp(group, abi->group, len) != 0 || (len && group[len] != '/'))
            continue;
        struct entry *entry =
            store_get(&engine->store, k, object_namespace(object), json_string_or(json_get(owner, "name"), ""));
        bool same = entry && text_equal(json_string(json_get(owner, "uid")), entry->workload->uid);
        return same && entry->workload->facts.exists ? entry : NULL;
    }
    return NULL;
}

void rival_seen(struct engine *engine, const struct json *object, const char *resource) {
    struct entry *entry = owner_of(engine, object);
    if (!entry || entry->workload->facts.being_deleted || object_is_being_deleted(object) ||
        (entry->workload->facts.finished && !is_disputed(entry)))
        return;
    struct rival *rival = rival_of(entry);
    if (!rival)
        return;
    snprintf(rival->object, sizeof rival->object, "%.60s %.130s",
             resource ? resource : json_string_or(json_get(object, "kind"), "object"), object_name(object));
    mark_run(engine, entry);
    report_run(engine, entry);
}

void rival_observed(struct engine *engine, struct entry *entry, bool had) {
    struct workload *w = entry->workload;
    uint32_t hash = status_hash(doc_tree(&engine->store, &w->doc));
    if (had) {
        judge_status(engine, entry, hash);
        return;
    }
    w->status.status_seen = hash;
    bool unplaced = w->facts.attempt == 0 && !w->facts.suspended && w->phase == WHARF_ACTIVE;
    if (hash && (unplaced || yield_is_wanted(engine, entry)))
        suspect_writer(engine, entry);
}

void rival_status_answered(struct entry *entry, const struct json *object) {
    entry->workload->status.status_seen = status_hash(object);
    entry->workload->status.status_is_own = true;
}

static bool is_own(struct engine *engine, struct entry *entry) {
    return entry->workload->status.status_is_own &&
           entry->workload->status.status_seen == status_hash(doc_tree(&engine->store, &entry->workload->doc));
}

bool rival_believes_end(struct engine *engine, struct entry *entry, wharf_phase_kind end, bool had) {
    struct workload_facts *w = &entry->workload->facts;
    struct mirror *placed = facts_placed_mirror(entry);
    // While the mirror runs, the host's own final status is the status of an earlier attempt. The write had a
    // precondition, so the status has nothing of another writer.
    bool own = is_own(engine, entry);
    bool believed = own || (placed ? placed->facts.finished && placed->phase == end : !had || w->attempt == 0);
    w->ended |= placed && own;
    w->end_untold = had && !believed;
    return believed;
}

// False: the phase is not known yet.
static bool report_end(struct engine *engine, struct entry *entry, struct doc *doc) {
    const struct workload *w = entry->workload;
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    wharf_phase phase;
    if (!aside_phase(engine, &call, doc_tree(&engine->store, doc), &phase))
        return false;
    if (!phase_is_final(phase.phase))
        return true;
    attempt_history_finished(engine, entry, &phase);
    if (phase.phase == (wharf_phase_kind)w->phase)
        report_finished(engine, entry);
    else
        report_event(
            engine, entry, true, "AlsoRunHere", "CopyStatus",
            "%s in %s (attempt %u), but the status here is that of another writer (%s), and the host cannot change it",
            phase.phase == WHARF_FAILED ? "failed" : "succeeded", engine->clusters[w->facts.cluster].name,
            w->facts.attempt, w->status.rival && *w->status.rival->who ? w->status.rival->who : "unknown");
    return true;
}

// The mirror has finished, which ends the workload, whatever the status says. The host first writes the mirror's
// status, if the API server accepts it.
static void settle_end(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct workload_facts *w = &entry->workload->facts;
    if (w->end_untold && !w->foreign_end) {
        w->foreign_end = true; // the writer of the final status is still unknown
        w->status_due = true;
        queue_entry(engine, entry);
    }
    bool refused = w->status_refusals >= DECIDE_STATUS_REFUSALS;
    if (w->foreign_end && (w->status_due || entry->busy) && !refused)
        return;
    bool untold = w->end_untold || w->foreign_end;
    if (untold && !report_end(engine, entry, &mirror->doc))
        return;
    w->ended = true;
    w->foreign_end = w->end_untold = false;
    if (!untold)
        return;
    w->retain_until_ns = clock_after(engine->now.mono_ns, engine->settings.mirror_retention_ns);
    queue_entry(engine, entry);
}

// The final status is this host's own.
static void end_own(struct engine *engine, struct entry *entry) {
    struct workload_facts *w = &entry->workload->facts;
    if (w->end_untold && !report_end(engine, entry, &entry->workload->doc))
        return; // judged again
    if (facts_placed_mirror(entry))
        w->ended = true;
    w->end_untold = false;
    queue_entry(engine, entry);
}

// The watch may have shown this host's status before the answer to the write.
static void judge_end(struct engine *engine, struct entry *entry) {
    if (is_own(engine, entry))
        end_own(engine, entry);
    else
        ask(engine, entry);
}

// The controller of the management cluster has run the workload to its end. The mirror is suspended, or finished
// before.
static void end_yielding(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct workload_facts *w = &entry->workload->facts;
    w->ended = true;
    w->foreign_end = w->end_untold = false;
    report_event(engine, entry, true, "AlsoRunHere", "CopyStatus",
                 "finished in the management cluster; the host deletes the %s mirror in %s",
                 mirror->facts.finished ? "finished" : "suspended", engine->clusters[mirror->facts.cluster].name);
    queue_entry(engine, entry);
}

static void check(struct engine *engine, struct entry *entry, const struct action *action) {
    struct workload_facts *w = &entry->workload->facts;
    if (!w->exists || w->being_deleted || action->waiting == WAITING_ADAPTER)
        return;
    if (entry->workload->status.rival)
        unmark_if_rested(engine, entry);
    const struct rival *rival = entry->workload->status.rival;
    bool suspected = rival && (rival->suspected || rival->twin);
    struct mirror *placed = w->finished && !w->ended ? facts_placed_mirror(entry) : NULL;
    if (placed && w->yields && (placed->facts.suspended || placed->facts.finished) && !placed->facts.busy)
        end_yielding(engine, entry, placed);
    else if (placed ? w->yield_unsure : suspected)
        ask(engine, entry);
    else if (placed && placed->facts.finished)
        settle_end(engine, entry, placed);
    else if (!entry->busy && (placed ? !w->foreign_end && !placed->facts.unsure : w->end_untold))
        judge_end(engine, entry);
}

static void report_foreign_end(struct engine *engine, struct entry *entry) {
    struct rival *rival = entry->workload->status.rival;
    const struct mirror *placed = facts_placed_mirror(entry);
    if (rival->end_told)
        return;
    rival->told = rival->end_told = true;
    report_event(engine, entry, true, "AlsoRunHere", "CopyStatus",
                 "the final status is of another writer (%s), which seems to run the workload in the management "
                 "cluster%s%s%s; stop the other writer",
                 *rival->who ? rival->who : "unknown", placed ? ": the mirror in " : "",
                 placed ? engine->clusters[placed->facts.cluster].name : "",
                 placed ? " has not finished, and stays until then" : "");
}

// Another writer wrote the status last, or shortly before this host did.
static bool is_fresh(const struct writers *writers) {
    int64_t own_ns = 0, other_ns = 0;
    return !clock_parse_rfc3339(writers->own_at, &own_ns) || !clock_parse_rfc3339(writers->other_at, &other_ns) ||
           other_ns >= own_ns - FRESH_NS;
}

// Any other writer counts, even before this host's last write, which may concern other fields.
static void judge_final(struct engine *engine, struct entry *entry, const struct writers *writers) {
    struct workload_facts *w = &entry->workload->facts;
    const struct mirror *placed = facts_placed_mirror(entry);
    if (placed && placed->facts.finished) // settle_end follows
        return;
    if (!writers->other && *writers->own_at) {
        end_own(engine, entry);
        return;
    }
    if (placed) {
        w->foreign_end = w->status_due = true;
        mark_run(engine, entry);
    } else {
        w->end_untold = false;
    }
    report_foreign_end(engine, entry);
}

static void writer_answered(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                            const struct response *response) {
    struct workload_facts *w = &entry->workload->facts;
    struct rival *rival = entry->workload->status.rival;
    if (!rival || request->workload != text_hash(TEXT_HASH, entry->workload->uid))
        return;
    rival->asking = false;
    if (response->reason != REASON_OK || strcmp(object_uid(response->value), entry->workload->uid) != 0)
        return;
    bool twin = rival->twin;
    if (w->yield_unsure)
        queue_entry(engine, entry);
    w->yield_unsure &= w->finished && !w->ended && !facts_placed_mirror(entry); // the mirror is not seen yet
    rival->suspected = rival->twin = false;
    bool subresource = !(engine->kinds[entry->kind]->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE);
    struct writers writers = writer_read(response->value, true, subresource);
    // A writer from before the placement may have been the workload's controller until then.
    bool other = writers.other && strcmp(writers.other_at, writers.recorded_at) >= 0;
    text_copy(rival->who, sizeof rival->who, writers.other ? writers.other : "");
    if (w->finished && !w->ended)
        judge_final(engine, entry, &writers);
    else if (other && is_fresh(&writers)) {
        mark_run(engine, entry);
        report_run(engine, entry);
    } else if (twin) {
        repeat_other_host(engine, entry);
    }
}

void rival_retried(struct engine *engine, struct entry *entry) {
    unmark(engine, entry);
    yield_set(engine, entry, false);
    *signs_of(engine, entry) = (struct also_run){.until_ns = 0};
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    facts->also_run_until_ns = signs_until_ns(engine, entry);
}

static void answered(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                     struct response *response) {
    entry->lookups--;
    if (!entry->workload->facts.exists && request->source != WRITER_OWNED)
        return;
    if (request->source == WRITER_OWNED)
        probation_answered(engine, entry, response);
    else if (request->source == WRITER_STATUS)
        writer_answered(engine, entry, request, response);
    else
        repeat_writer_answered(engine, entry, request, response);
}

const struct part part_rival = {.name = "other writers",
                                .facts = facts,
                                .after = check,
                                .requests = PART_REQUEST(REQUEST_WRITER),
                                .answered = answered,
                                .workload_ends = unmark};
