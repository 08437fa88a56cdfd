// SPDX-License-Identifier: Apache-2.0
// Writes the status of the followed mirror into the workload, and keeps the final status of a deleted mirror.
#include "core/adapter/phase.h"
#include "core/base/clock.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/elsewhere/elsewhere.h"
#include "core/engine/engine_internal.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/limits/limits.h"
#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/observe/observe.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/status.h"
#include "core/engine/unstarted/unstarted.h"

#define FREE_DENIALS 3 // rejected statuses without a delay of the next one

// The budget of bytes grows with time, up to this many seconds' worth. An API server compacts every 5 minutes, so a
// version of an object takes space for up to 10: with 1 MiB a second a worker takes up to 856 MiB.
#define BYTES_BURST_NS (256 * CLOCK_SECOND)
// The pause of a worker over the budget, so that the host does not try all waiting workloads after each write.
#define BYTES_PAUSE_NS (5 * CLOCK_SECOND)
#define CROWD 6000 // spreads waiting workloads over a second: those with fewer changes come first

// 20 writes at once, then one a second; after a minute of that one in 5 s, after ten one in 30 s.
static const struct {
    int64_t token_ns, burst;
} tiers[STATUS_TIERS] = {{CLOCK_SECOND, 20}, {5 * CLOCK_SECOND, 80}, {30 * CLOCK_SECOND, 200}};

static int64_t changes_at_ns(const struct status_budget *budget) {
    int64_t at_ns = 0;
    for (size_t i = 0; i < STATUS_TIERS; i++)
        at_ns = clock_later(at_ns, budget->full_ns[i] - (tiers[i].burst - 1) * tiers[i].token_ns);
    return at_ns;
}

// Statuses that do not wait have a bound as well: an author may have many workloads in a worker, and the worker may
// report the end of all.
static int64_t bytes_at_ns(const struct engine *engine, const struct entry *entry, bool passes) {
    uint32_t cluster = facts_placed_cluster(entry);
    if (cluster == 0 || engine->settings.status_bytes == 0)
        return 0;
    const struct status_bytes *bytes = &engine->clusters[cluster].status;
    if (passes)
        return bytes->full_ns - 2 * BYTES_BURST_NS;
    int64_t used_ns = clock_later(entry->workload->status.budget.full_ns[STATUS_TIERS - 1] - engine->now.mono_ns, 0);
    return clock_later(bytes->closed_until_ns, bytes->full_ns - BYTES_BURST_NS) + used_ns / CROWD;
}

// Only the first final status of an attempt passes: a finished workload may get further ones.
static bool passes(const struct entry *entry, const struct decide_facts *facts) {
    const struct mirror_facts *m = decide_followed(facts);
    bool final = m ? m->finished : decide_has_final_status(facts->workload);
    const struct status_budget *budget = &entry->workload->status.budget;
    uint32_t attempt = facts->workload->attempt;
    return budget->first_attempt != attempt || (final && budget->final_attempt != attempt);
}

void status_budget_facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    facts->changes_at_ns = changes_at_ns(&entry->workload->status.budget);
    if (!facts->workload->status_due && !facts->workload->status_held)
        return;
    facts->status_passes = passes(entry, facts);
    facts->bytes_at_ns = bytes_at_ns(engine, entry, facts->status_passes);
}

void status_budget_stored(struct engine *engine, const struct entry *entry, size_t size) {
    uint32_t cluster = facts_placed_cluster(entry);
    struct status_bytes *bytes = &engine->clusters[cluster].status;
    int64_t now_ns = engine->now.mono_ns;
    if (cluster == 0)
        return;
    engine->stats.clusters[cluster].status_bytes += size;
    if (engine->settings.status_bytes == 0)
        return;
    bytes->reported &= bytes->full_ns - now_ns > BYTES_BURST_NS / 2;
    bucket_spend(&bytes->full_ns, now_ns, (int64_t)(size * (uint64_t)CLOCK_SECOND / engine->settings.status_bytes));
    if (bytes->full_ns - now_ns <= BYTES_BURST_NS)
        return;
    bytes->closed_until_ns = bytes->full_ns - BYTES_BURST_NS + BYTES_PAUSE_NS;
    if (!bytes->reported)
        report_log(engine, LOG_WARN, cluster, LOG_NO_KIND,
                   "statuses of mirrors wait: this worker's take more space in the management cluster than "
                   "rateLimit.statusBytes allows, %zu bytes a second; first and final ones are still copied",
                   engine->settings.status_bytes);
    bytes->reported = true;
}

// Reports once, after a minute of too many changes; again after half of the tokens have come back.
static void report_changes(struct engine *engine, struct entry *entry) {
    struct status_budget *budget = &entry->workload->status.budget;
    int64_t tokens = tiers[1].burst - (budget->full_ns[1] - engine->now.mono_ns) / tiers[1].token_ns;
    if (tokens > tiers[1].burst / 2)
        budget->reported = false;
    if (tokens > 1 || budget->reported)
        return;
    uint32_t cluster = facts_placed_cluster(entry);
    report_event(engine, entry, false, "StatusDelayed", "CopyStatus",
                 "the status changes more than once a second%s%s: the host copies it with delays of up to 30 s, and "
                 "the final one at once",
                 cluster ? " in cluster " : "", cluster ? engine->clusters[cluster].name : "");
    budget->reported = true;
}

void status_budget_sent(struct engine *engine, struct entry *entry) {
    for (size_t i = 0; i < STATUS_TIERS; i++)
        bucket_spend(&entry->workload->status.budget.full_ns[i], engine->now.mono_ns, tiers[i].token_ns);
    report_changes(engine, entry);
}

void status_budget_copied(struct entry *entry, uint32_t attempt, bool is_final) {
    entry->workload->status.budget.first_attempt = attempt;
    if (is_final)
        entry->workload->status.budget.final_attempt = attempt;
}

static void count_budget(struct engine *engine) {
    for (size_t c = 1; c < engine->n_clusters; c++) {
        const struct status_bytes *bytes = &engine->clusters[c].status;
        engine->stats.clusters[c].statuses_wait =
            bytes->reported && bytes->full_ns - engine->now.mono_ns > BYTES_BURST_NS / 2;
    }
}

static wharf_mirror_state mirror_state(const struct engine *engine, const struct entry *entry, bool is_there) {
    if (is_there)
        return WHARF_MIRROR_PRESENT;
    return facts_worker_is_lost(engine, entry) ? WHARF_MIRROR_LOST : WHARF_MIRROR_NONE;
}

// Makes the patch of the status from the mirror, or from the final status of a deleted one (`last`). False: failed.
static bool make_patch(struct engine *engine, struct entry *entry, struct mirror *mirror, bool last,
                       const struct json *held, struct request_in_flight *request, struct json **patch) {
    AUTO_JSON final = last ? store_parse(&entry->workload->status.final_status) : NULL;
    AUTO_CALL call;
    struct mirror_context context =
        call_begin_for_mirror(engine, entry, mirror, mirror_state(engine, entry, mirror || last), &call);
    if (last || held)
        context.mirror = last ? final : held;
    bool known = context.workload && (context.mirror || (!mirror && !last));
    wharf_result result = known ? mirror_status(&context, patch, &request->wanted) : WHARF_RETRY;
    request->patch_hash = *patch ? mirror_patch_hash(*patch) : 0;
    request->source = *patch ? repeat_source(entry, context.mirror) : 0;
    return call_succeeded(engine, entry, result, &call, "CopyStatus", &entry->workload->refusals,
                          &entry->workload->facts.not_before_ns);
}

bool act_status(struct engine *engine, struct entry *entry, bool leaves) {
    struct workload *w = entry->workload;
    struct mirror *mirror = facts_followed_mirror(engine, entry);
    if (mirror && mirror->facts.too_large) { // reported already
        w->facts.status_due = false;
        return true;
    }
    bool last = !mirror && (decide_has_final_status(&w->facts) || decide_has_last_status(&w->facts));
    bool held_back = mirror && leaves && elsewhere_moves(entry, mirror->facts.attempt);
    AUTO_JSON patch = NULL;
    AUTO_JSON held = held_back ? elsewhere_without_failure(engine, mirror) : NULL;
    struct request_in_flight request = {.type = REQUEST_STATUS,
                                        .attempt = w->facts.attempt,
                                        .is_final = mirror ? mirror->facts.finished && !held_back
                                                           : last && w->facts.has_final_status};
    if (held_back && !held)
        queue_retry_soon(engine, &w->facts.not_before_ns);
    if ((held_back && !held) || !make_patch(engine, entry, mirror, last, held, &request, &patch))
        return true;
    if (patch && request.patch_hash == w->status.denied_status_hash &&
        w->status.denied_until_ns > engine->now.mono_ns) {
        w->facts.not_before_ns = w->status.denied_until_ns;
        return true;
    }
    w->facts.status_due = w->facts.status_held = w->status.uncompared = false;
    // The server accepted the same patch and changed nothing: the server drops these fields.
    bool drops = patch && request.patch_hash == w->status.noop_patch_hash;
    if (last && w->facts.has_last_status && (!patch || drops)) { // the status without a mirror follows
        final_status_drop(entry);
        w->facts.status_due = true;
    }
    if (drops)
        return true;
    w->status.noop_patch_hash = 0;
    if (!patch)
        repeat_nothing_to_write(entry, request.wanted);
    if (!patch || !repeat_may_write(engine, entry, request.source))
        return true;
    if (!command_send_patch(engine, entry, NULL, patch, request)) {
        w->facts.status_due = true;
        return true;
    }
    pause_status_sent(engine, entry->kind);
    if (mirror && mirror->seen_ns > 0)
        histogram_add(&engine->stats.status_latency, STATS_STATUS_NS, engine->now.mono_ns - mirror->seen_ns);
    if (mirror)
        mirror->seen_ns = 0;
    if (mirror && leaves && mirror->facts.last_statuses < UINT8_MAX)
        mirror->facts.last_statuses++;
    return true;
}

void status_denied(struct engine *engine, struct entry *entry, uint64_t patch_hash) {
    struct workload *w = entry->workload;
    w->status.denied_status_hash = patch_hash;
    w->status.denied_until_ns = w->facts.not_before_ns;
    if (w->facts.status_refusals < UINT16_MAX)
        w->facts.status_refusals++;
    throttle_next(&w->status.denials, engine->now.mono_ns, FREE_DENIALS);
}

void status_accepted(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                     struct object *object) {
    struct workload *w = entry->workload;
    int64_t generation = w->generation;
    uint32_t attempt = w->facts.attempt, cluster = w->facts.cluster;
    bool was_due = w->facts.status_due; // the mirror may have changed meanwhile
    uint64_t version = text_hash(TEXT_HASH, object_version(object->value));
    observe_workload(engine, entry, object);
    const struct json *workload = doc_tree(&engine->store, &w->doc);
    bool same = workload && w->generation == generation && w->facts.attempt == attempt && w->facts.cluster == cluster &&
                json_hash(json_get(workload, "status")) == request->wanted;
    w->status.noop_patch_hash = same || !answer_is_newest(engine, &w->doc, version) ? 0 : request->patch_hash;
    w->status.uncompared = true;
    w->status.written_source = request->source;
    if (same)
        w->facts.status_due = was_due || w->facts.has_last_status; // perhaps not this one: compares once more
    status_budget_copied(entry, request->attempt, request->is_final);
    w->facts.status_refusals = 0;
    w->status.denied_status_hash = 0;
}

void status_forget_writes(struct workload *workload) {
    workload->status.written_source = workload->status.conflict_hash = 0;
    workload->status.noop_patch_hash = 0;
}

void status_mirror_changed(struct workload *workload) {
    struct workload_facts *facts = &workload->facts;
    facts->status_due = true;
    if (workload->status.denied_status_hash && workload->status.denials.at_ns < facts->not_before_ns)
        facts->not_before_ns = workload->status.denials.at_ns; // the status may be a different one
}

static void set_final(struct entry *entry, struct shared_text text, uint32_t attempt, bool is_final, bool unread) {
    final_status_drop(entry);
    entry->workload->status.final_status = text;
    entry->workload->facts.final_attempt = attempt;
    entry->workload->facts.has_final_status = text.own && is_final;
    entry->workload->facts.has_last_status = text.own && !is_final;
    entry->workload->facts.final_unread = text.own && unread;
}

bool final_status_is_due(const struct mirror *mirror) {
    const struct mirror_facts *m = &mirror->facts;
    return m->present && (m->finished || m->unread || (mirror->had_status && !m->owed && !mirror->stub));
}

// Rule 6: a deleted mirror had finished. A finished workload does not run again. An unread one may have finished.
void final_status_keep(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    bool unread = mirror->facts.unread, is_final = mirror->facts.finished || unread;
    set_final(entry, mirror_take_text(&engine->store, mirror), mirror->facts.attempt, is_final, unread);
}

void final_status_put(struct entry *entry, struct shared_text text) {
    set_final(entry, text, entry->workload->facts.attempt, true, false);
}

void final_status_read(struct engine *engine, struct entry *entry) {
    struct workload_facts *w = &entry->workload->facts;
    AUTO_JSON last = w->final_unread ? store_parse(&entry->workload->status.final_status) : NULL;
    if (!last)
        return;
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    wharf_phase phase;
    if (!aside_phase(engine, &call, last, &phase))
        return;
    w->final_unread = false;
    w->status_due = true;
    w->has_final_status = phase_is_final(phase.phase);
    w->has_last_status = !w->has_final_status;
}

void final_status_drop(struct entry *entry) {
    if (!entry->workload->status.final_status.own)
        return;
    shared_text_clear(&entry->workload->status.final_status);
    entry->workload->facts.has_final_status = entry->workload->facts.has_last_status = false;
    entry->workload->facts.final_unread = false;
}

bool own_record(const struct entry *entry) {
    const struct workload *w = entry->workload;
    return w->facts.attempt && w->accepted_attempt == w->facts.attempt && w->accepted_cluster == w->facts.cluster;
}

void own_record_accept(struct engine *engine, struct entry *entry) {
    struct workload *w = entry->workload;
    if (w->facts.cluster == DECIDE_UNKNOWN_CLUSTER) // the worker has left
        return;
    w->accepted_cluster = w->facts.cluster;
    w->accepted_attempt = w->facts.attempt;
    if (!w->facts.finished && !w->facts.being_deleted)
        cluster_count_active(engine, entry, w->facts.cluster);
}

// A workload with another writer's record counts as active in the worker only if the host sees or saw a mirror there,
// or while the host does not know that. In a worker that gets nothing new, neither does a workload that has no mirror
// there and will not get one: the next placement is in another worker.
static void count_active(struct engine *engine, struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    if (!w->attempt || w->cluster == DECIDE_UNKNOWN_CLUSTER || entry->busy)
        return;
    const struct worker_facts *worker = &engine->workers[entry->kind][w->cluster];
    const struct mirror *m = entry_mirror(entry, w->cluster);
    bool there = m && ((m->facts.present && m->facts.of_workload) || m->facts.may_exist);
    bool own = own_record(entry), gone = w->gone_attempt == w->attempt;
    bool left = worker->closed && (gone || (own && w->suspended));
    bool counts = there || (!left && (own || gone || !worker->connected));
    cluster_count_active(engine, entry, counts && !w->finished && !w->being_deleted ? w->cluster : 0);
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    facts->status_at_ns = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->status_at_ns;
    facts->own_record = own_record(entry);
    status_budget_facts(engine, entry, facts);
}

// Retained mirrors have an end time already.
static void configure(struct engine *engine, const struct engine_settings *former) {
    int64_t longer_ns = engine->settings.mirror_retention_ns - former->mirror_retention_ns;
    for (size_t k = 0; k < engine->n_kinds && longer_ns != 0; k++) {
        size_t cursor = 0;
        for (struct entry *e; (e = map_next(&engine->store.maps[k], &cursor));)
            if (e->workload->facts.finished)
                e->workload->facts.retain_until_ns += longer_ns;
    }
}

static void seen(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    struct workload_status *status = &entry->workload->status;
    if (status->uncompared) // another writer may have changed missing fields since
        status->noop_patch_hash = 0;
    const char *value = object_annotation(object, MARK_RETRY);
    uint32_t hash = value ? repeat_fold(text_hash(TEXT_HASH, value)) : 0;
    // Ignores an annotation that is older than this process.
    if (had && value && hash != status->retry_seen)
        status->retry_due_ns = clock_later(status->retry_due_ns, engine->now.mono_ns);
    status->retry_seen = hash;
}

// Ends delays of writes to the workload. Unanswered requests stay known.
static void free_workload(struct workload *w) {
    struct workload_facts *facts = &w->facts;
    facts->not_before_ns = 0;
    facts->places = facts->statuses = facts->restores = (struct throttle){0};
    facts->status_refusals = 0;
    facts->status_due = true;
    facts->status_held = false;
    w->failures = w->refusals = 0;
    w->status.noop_patch_hash = w->status.denied_status_hash = 0;
    w->status.denied_until_ns = 0;
    w->status.denials = (struct throttle){0};
    w->status.written_source = 0;
}

void retry_mirror(struct mirror *mirror) {
    mirror->facts.not_before_ns = mirror->facts.excluded_until_ns = mirror->facts.update_at_ns = 0;
    mirror->failures = mirror->refusals = mirror->denials = 0;
    rejections_end(&mirror->refused);
    mirror->updates = (struct throttle){0};
    mirror->noop_patch_hash = 0; // the server may keep dropped fields now
    mirror->dropping_reported = false;
    mirror->facts.update_due = true;
    mirror->carry = CARRY_UNKNOWN;
}

// Annotation wharf.dev/retry: a new value on a workload ends all delays of the workload and the mirrors.
static void retry_if_due(struct engine *engine, struct entry *entry) {
    struct workload_status *status = &entry->workload->status;
    if (status->retry_due_ns <= status->retried_ns)
        return;
    int64_t at_ns = status->retried_ns ? status->retried_ns + RETRY_REST_NS : 0;
    if (at_ns > engine->now.mono_ns) {
        queue_wake(engine, entry, at_ns);
        return;
    }
    status->retried_ns = engine->now.mono_ns;
    free_workload(entry->workload);
    kueue_ask_again(entry);
    unstarted_drop(entry);
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        retry_mirror(m);
    rival_retried(engine, entry);
    aside_retried(entry);
}

static void drop_final(struct engine *engine, struct entry *entry) {
    (void)engine;
    final_status_drop(entry);
}

const struct part part_retry = {.name = "retry", .before = retry_if_due};
const struct part part_status = {.name = "statuses",
                                 .configure = configure,
                                 .before = count_active,
                                 .stand_by = count_active,
                                 .facts = facts,
                                 .count = count_budget,
                                 .seen = seen,
                                 .workload_ends = drop_final};
