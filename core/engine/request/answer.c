// SPDX-License-Identifier: Apache-2.0
// Answers of the management cluster, and the read of a workload before a write.
#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine.h"
#include "core/engine/engine_internal.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/limits/limits.h"
#include "core/engine/observe/observe.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"
#include "core/engine/status/status.h"

#define TRANSIENT_BASE_NS (100 * CLOCK_MS)
#define TRANSIENT_MAX_NS (30 * CLOCK_SECOND)
#define CONFLICT_BASE_NS (10 * CLOCK_MS)
#define NOT_FOUND_MAX 5 // reads that do not find a known workload, before the host distrusts the watch
#define RELIST_NS CLOCK_MINUTE

bool answer_certainly_not_done(enum reason reason) {
    return reason_is_permanent(reason) || reason == REASON_NOT_SENT || reason == REASON_TOO_MANY ||
           reason == REASON_CONFLICT || reason == REASON_NOT_FOUND;
}

bool answer_is_heard(enum reason reason) {
    return reason != REASON_UNKNOWN_OUTCOME && reason != REASON_GARBAGE;
}

int64_t answer_next_try_ns(struct engine *engine, const struct response *response, uint16_t *failures) {
    if (*failures < UINT16_MAX)
        (*failures)++;
    bool permanent = reason_is_permanent(response->reason);
    int64_t base_ns = permanent                             ? PERMANENT_BASE_NS
                      : response->reason == REASON_CONFLICT ? CONFLICT_BASE_NS
                                                            : TRANSIENT_BASE_NS;
    int64_t delay_ns = backoff_ns(engine, *failures, base_ns, permanent ? PERMANENT_MAX_NS : TRANSIENT_MAX_NS);
    if (response->retry_after_ns > delay_ns)
        delay_ns = response->retry_after_ns + (int64_t)random_below(&engine->random, (uint64_t)CLOCK_SECOND / 4);
    return engine->now.mono_ns + delay_ns;
}

bool answer_is_newest(struct engine *engine, struct doc *doc, uint64_t version) {
    return text_hash(TEXT_HASH, doc_version(&engine->store, doc)) == version;
}

// The watch has meanwhile shown the deletion or the end of the delegation, and will not do so again.
static bool is_gone(const struct entry *entry, const struct request_in_flight *request, const struct object *object) {
    const char *uid = object_uid(object->value);
    return !entry->workload->facts.exists &&
           (request->workload == text_hash(TEXT_HASH, uid) || orphans_was_deleted(entry, uid));
}

// If a read does not find a known workload, the watch will show the deletion, unless the list was late, from before a
// restoration of the cluster from a backup. Such a watch waits for future versions and shows no deletion.
static void doubt_watch(struct engine *engine, const struct entry *entry) {
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind);
    if (entry->read_failures < NOT_FOUND_MAX || watch->doubted_until_ns > engine->now.mono_ns)
        return;
    watch->doubted_until_ns = clock_after(engine->now.mono_ns, RELIST_NS);
    cluster_relist(engine, ENGINE_MANAGEMENT, entry->kind);
}

static bool take_read(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                      struct response *response) {
    bool exists = entry->workload->facts.exists;
    if (response->reason != REASON_OK)
        return response->reason == REASON_NOT_FOUND && !exists;
    bool stale = stale_version_must_read(engine, entry);
    if (exists)
        entry->workload->listed_older = entry->workload->outdated = false;
    if (!response->object) // too large: the known version is older, unless the known object is a stub
        return exists && entry->workload->facts.too_large;
    if (is_gone(entry, request, response->object))
        return false;
    const char *version = object_version(response->object->value);
    if (stale && observe_is_older(engine, entry, version))
        stale_version_reset_workload(entry);
    if (!observe_is_older(engine, entry, version)) // watch events that came meanwhile are newer
        observe_seen(engine, ENGINE_MANAGEMENT, entry->kind, TAKE(response->object));
    return true;
}

static void answer_of_read(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                           struct response *response) {
    entry->busy = false;
    if (take_read(engine, entry, request, response)) {
        entry->read_term = request->term;
        entry->read_failures = 0;
        entry->read_at_ns = 0;
        return;
    }
    // The next read shows the present state of a deleted workload.
    entry->read_at_ns = answer_next_try_ns(engine, response, &entry->read_failures);
    if (response->reason == REASON_NOT_FOUND)
        doubt_watch(engine, entry);
    if (reason_is_permanent(response->reason))
        report_event(engine, entry, true, reason_text(response->reason), "Place",
                     "the management cluster rejected the read: %s", response->message);
}

static void write_failed(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                         const struct response *response) {
    struct workload *w = entry->workload;
    bool status = request->type == REQUEST_STATUS, place = request->type == REQUEST_PLACE;
    if (response->reason == REASON_CONFLICT) {
        repeat_conflict(entry, request);
        w->outdated = answer_is_newest(engine, &w->doc, request->known);
    }
    w->unsure |= !answer_is_heard(response->reason);
    w->facts.not_before_ns = answer_next_try_ns(engine, response, &w->failures);
    w->facts.status_due = true;
    if (status && (response->reason == REASON_INVALID || response->reason == REASON_BAD_REQUEST))
        status_denied(engine, entry, request->patch_hash);
    if (reason_is_permanent(response->reason))
        report_event(engine, entry, true, reason_text(response->reason), status ? "CopyStatus" : "Place",
                     "the management cluster rejected the write: %s", response->message);
    // A newer state shows the outcome: the write had the known resourceVersion.
    w->facts.record_unsure |=
        place && !answer_certainly_not_done(response->reason) && answer_is_newest(engine, &w->doc, request->known);
    bool placed = w->facts.cluster != DECIDE_UNKNOWN_CLUSTER && !w->facts.finished;
    if (place) // as far as the host knows, the workload was not placed
        cluster_count_active(engine, entry, placed ? w->facts.cluster : 0);
}

static void record_written(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                           struct object *object) {
    struct workload *w = entry->workload;
    observe_workload(engine, entry, object);
    if (w->facts.attempt != request->attempt)
        return;
    w->placed_attempt = w->facts.attempt;
    if (w->facts.cluster == w->requested_cluster)
        own_record_accept(engine, entry);
    w->facts.clean_attempt = request->was_clean ? w->facts.attempt : 0; // also of the same number in another worker
}

static void answer_of_workload(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                               struct response *response) {
    struct workload *w = entry->workload;
    entry->busy = false;
    if (!w->facts.exists)
        return;
    // Without an answer, assume that the write took effect.
    if (request->is_budgeted && !answer_certainly_not_done(response->reason))
        status_budget_stored(engine, entry, response->object ? response->object->size : w->doc.text.len);
    if (request->type == REQUEST_STATUS)
        pause_status_answered(engine, entry->kind, response->reason);
    if (request->type == REQUEST_OWNER && kueue_answered(engine, entry, request, response))
        return;
    if (response->reason != REASON_OK || !response->object) {
        write_failed(engine, entry, request, response);
        return;
    }
    w->failures = 0;
    w->facts.not_before_ns = 0;
    w->unsure = false;
    if (strcmp(object_uid(response->object->value), w->uid) != 0)
        return;
    if (request->type == REQUEST_PLACE) {
        record_written(engine, entry, request, TAKE(response->object));
        return;
    }
    if (request->type == REQUEST_KEEP) {
        observe_workload(engine, entry, TAKE(response->object));
        return;
    }
    rival_status_answered(entry, response->object->value);
    status_accepted(engine, entry, request, TAKE(response->object));
}

static bool is_in_worker(const struct action *action) {
    return action->type == ACTION_CREATE || action->type == ACTION_UPDATE || action->type == ACTION_DELETE ||
           action->type == ACTION_RELEASE;
}

struct action confirm_action(struct engine *engine, struct entry *entry, struct action action) {
    bool stale = stale_version_must_read(engine, entry), outdated = entry->workload->outdated;
    if (!stale && !outdated && (!is_in_worker(&action) || shard_is_fresh(engine, entry)))
        return action;
    const char *why = stale      ? "the list has an older version than the stored one: a read is next"
                      : outdated ? "another client has changed the workload: a read is next"
                                 : "another host may have written the workload last: a read is next";
    if (entry->busy)
        return (struct action){.type = ACTION_NONE, .waiting = WAITING_ANSWER, .why = why};
    if (!cluster_is_connected(engine, ENGINE_MANAGEMENT, entry->kind))
        return (struct action){.type = ACTION_NONE, .blocked = true, .waiting = WAITING_MANAGEMENT, .why = why};
    int64_t at_ns = clock_later(entry->read_at_ns, entry->workload->facts.not_before_ns);
    if (at_ns > engine->now.mono_ns)
        return (struct action){.type = ACTION_WAIT, .waiting = WAITING_BACKOFF, .at_ns = at_ns, .why = why};
    return (struct action){.type = ACTION_READ, .cluster = ENGINE_MANAGEMENT, .why = why};
}

bool confirm_read(struct engine *engine, struct entry *entry) {
    entry->busy = command_send(engine, entry, &(struct request_in_flight){.type = REQUEST_READ});
    if (!entry->busy)
        queue_retry_soon(engine, &entry->read_at_ns);
    return true;
}

static void on_answer(struct engine *engine, struct engine_event *event) {
    struct engine_requests *table = &engine->request;
    uint64_t id = event->answer.command, place = id & UINT32_MAX;
    struct response *response = event->answer.response;
    if (place == 0 || place > table->n_requests || id & REQUEST_BESIDE)
        return;
    struct request_in_flight *slot = &table->requests[place - 1], request = *slot;
    if (!slot->entry || slot->generation != (uint32_t)(id >> 32))
        return;
    slot->entry = NULL;
    slot->record = NULL;
    slot->next_free = table->free_request;
    table->free_request = (uint32_t)place;
    struct entry *entry = request.entry;
    bool reads = request.verb == VERB_GET || request.verb == VERB_RAW_GET;
    pacing_answered(engine, request.cluster, reads ? WINDOW_READ : WINDOW_WRITE, response,
                    event->answer.sent_ns ? engine->received_ns - event->answer.sent_ns : 0);
    restored_answer(engine, &request, response);
    if (response->object && request.cluster != ENGINE_MANAGEMENT)
        large_mirrors_bound(engine, request.cluster, entry->kind, &response->object);
    if (response->object && response->object->too_large) // a stub does not show the written fields
        object_free(TAKE(response->object));
    engine->stats.clusters[request.cluster].answers[request.verb][response->reason]++;
    EACH_PART(part, answered)
    if (part->requests & PART_REQUEST(request.type))
        part->answered(engine, entry, &request, response);
    if ((request.type == REQUEST_PLACE || request.type == REQUEST_STATUS) && response->reason == REASON_OK)
        entry->read_term = request.term; // the write had the known resourceVersion
    free(request.record);
    queue_entry(engine, entry);
}

// Requests in flight may still take effect. The engine ignores their answers, since the slot has another generation
// then.
void answer_end_requests(struct engine *engine, size_t cluster) {
    for (size_t i = 0; i < engine->request.n_requests; i++) {
        const struct request_in_flight *slot = &engine->request.requests[i];
        if (!slot->entry || slot->cluster != cluster)
            continue;
        struct response response = {
            .reason = REASON_UNKNOWN_OUTCOME, .message = strdup("the worker left"), .retry_after_ns = -1};
        struct engine_event event = {
            .type = EVENT_ANSWER,
            .now = engine->now,
            .cluster = cluster,
            .answer = {.command = ((uint64_t)slot->generation << 32) | (i + 1), .response = &response}};
        on_answer(engine, &event);
        response_clear(&response);
    }
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    engine->request.turn_of = REQUEST_NO_TURN;
    engine->request.window_max = options->window_max;
    return NULL;
}

static void end(struct engine *engine) {
    for (size_t i = 0; i < engine->request.n_requests; i++)
        free(engine->request.requests[i].record);
    free(engine->request.requests);
}

static void answered(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                     struct response *response) {
    if (request->type == REQUEST_READ)
        answer_of_read(engine, entry, request, response);
    else if (request->type == REQUEST_PLACE || request->type == REQUEST_STATUS || request->type == REQUEST_OWNER ||
             request->type == REQUEST_KEEP)
        answer_of_workload(engine, entry, request, response);
    else
        answer_of_mirror(engine, entry, request, response);
}

const struct part part_request = {.name = "requests",
                                  .begin = begin,
                                  .end = end,
                                  .events = PART_EVENT(EVENT_ANSWER),
                                  .event = on_answer,
                                  .requests = ~(PART_REQUEST(REQUEST_WRITER) | PART_REQUEST(REQUEST_ACTIVE) |
                                                PART_REQUEST(REQUEST_CHILDREN) | PART_REQUEST(REQUEST_CHILD)),
                                  .answered = answered,
                                  .turn = pacing_next,
                                  .step_ends = pacing_step_ends,
                                  .due_ns = pacing_due_ns,
                                  .count = pacing_count};

size_t engine_pending(const struct engine *engine) {
    return engine->request.in_flight + pacing_waiting(engine);
}
