// SPDX-License-Identifier: Apache-2.0
#include "core/engine/unstarted/unstarted.h"

#include "core/adapter/owed_status.h"
#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/elsewhere/elsewhere.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"

// A mirror from an earlier process has waited since the creation, by a remote clock; the mirror may have been suspended
// later.
static int64_t unstarted_since_ns(const struct engine *engine, const struct entry *entry, const struct mirror *mirror,
                                  const wharf_phase *phase) {
    const struct workload *w = entry->workload;
    int64_t now_ns = engine->now.mono_ns, age_ns = engine->now.wall_ns - mirror->created_ns;
    bool earlier = w->facts.exists && w->placed_attempt != mirror->facts.attempt && mirror->created_ns;
    bool never = (!phase || phase->phase == WHARF_PENDING) && !mirror->started_ns;
    return earlier && never && age_ns > 0 && age_ns < now_ns ? now_ns - age_ns : now_ns;
}

// Has run for long enough to forget earlier failures.
static bool has_run_long(const struct engine *engine, const struct unstarted_facts *facts) {
    return facts->runs_since_ns && engine->now.mono_ns >= clock_after(facts->runs_since_ns, facts->timeout_ns);
}

static void end_run(const struct engine *engine, struct entry *entry) {
    struct unstarted_facts *facts = entry->workload->unstarted;
    if (facts && has_run_long(engine, facts))
        unstarted_drop(entry);
    else if (facts)
        facts->runs_since_ns = 0;
}

void unstarted_observe(const struct engine *engine, struct entry *entry, struct mirror *mirror,
                       const wharf_phase *phase) {
    wharf_phase_kind kind = phase ? phase->phase : WHARF_PENDING;
    struct mirror_facts *m = &mirror->facts;
    if (kind == WHARF_SUSPENDED) // the pods no longer run
        mirror->has_run = false;
    if (phase_is_final(kind) || (kind == WHARF_ACTIVE && !phase->not_started))
        mirror->has_run = true;
    if (!mirror->has_run && m->of_workload && m->attempt == entry->workload->facts.attempt)
        end_run(engine, entry);
    if (mirror->has_run || mirror->stub)
        m->unstarted_since_ns = 0;
    else if (m->unstarted_since_ns == 0)
        m->unstarted_since_ns = unstarted_since_ns(engine, entry, mirror, phase);
}

void unstarted_resumed(const struct engine *engine, struct entry *entry) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (m->facts.unstarted_since_ns)
            m->facts.unstarted_since_ns = engine->now.mono_ns;
}

void unstarted_pod_report(struct entry *entry, const char *text) {
    char *copy = entry->workload->unstarted ? strndup(text, ATTEMPT_MESSAGE_MAX) : NULL;
    if (!copy)
        return;
    free(entry->workload->unstarted->pod_report);
    entry->workload->unstarted->pod_report = copy;
}

static void forget_tried(struct entry *entry) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        m->facts.tried = m->facts.changed = false;
}

void unstarted_drop(struct entry *entry) {
    struct unstarted_facts *facts = TAKE(entry->workload->unstarted);
    if (!facts)
        return;
    forget_tried(entry);
    free(facts->pod_report);
    free(facts);
}

// A worker rejected the workload, or did not start the mirror.
static bool has_failed(const struct entry *entry) {
    if (entry->workload->unstarted && entry->workload->unstarted->noted_attempt)
        return true;
    for (const struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (m->facts.excluded_until_ns)
            return true;
    return false;
}

// Whether the workload needs facts: for an unstarted mirror or a rejection. The facts stay while a mirror has only just
// started.
static bool needs_facts(struct engine *engine, struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    if (!w->exists || w->finished || w->being_deleted || w->suspended || decide_has_final_status(w))
        return false;
    const struct mirror *placed = facts_placed_mirror(entry);
    if (!placed || placed->facts.being_deleted) {
        end_run(engine, entry);
        return entry->workload->unstarted || has_failed(entry);
    }
    if (placed->facts.finished)
        return false;
    if (placed->facts.unstarted_since_ns)
        return true;
    struct unstarted_facts *facts = entry->workload->unstarted;
    if (!facts || !has_failed(entry) || has_run_long(engine, facts))
        return false;
    if (facts->runs_since_ns == 0)
        facts->runs_since_ns = engine->now.mono_ns;
    queue_wake(engine, entry, clock_after(facts->runs_since_ns, facts->timeout_ns));
    return true;
}

// The mirror is certainly gone: the worker counts as tried.
static void note_tried(struct engine *engine, struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    struct unstarted_facts *facts = entry->workload->unstarted;
    if (w->attempt == 0 || facts->withdrawn_attempt != w->attempt || w->gone_attempt != w->attempt ||
        w->cluster == DECIDE_UNKNOWN_CLUSTER || facts->noted_attempt == w->attempt)
        return;
    struct mirror *mirror = entry_make_mirror(entry, w->cluster);
    if (!mirror)
        return;
    attempt_history_follow(engine, entry);
    facts->noted_attempt = w->attempt;
    mirror->facts.tried = true;
    namespace_retry_wait(engine, entry, w->cluster, NULL);
    facts->round_at_ns =
        engine->now.mono_ns + backoff_ns(engine, facts->rounds + 1U, UNSTARTED_ROUND_NS, UNSTARTED_ROUND_MAX_NS);
}

static void check(struct engine *engine, struct entry *entry) {
    const struct placement_rule *rule =
        needs_facts(engine, entry) ? placement_rule_of(engine, entry, NULL, NULL) : NULL;
    if (!rule || (rule->pending_timeout_ns <= 0 && rule->give_up_after_ns <= 0 && rule->retry.max == 0)) {
        unstarted_drop(entry);
        return;
    }
    struct unstarted_facts *facts = entry->workload->unstarted;
    if (!facts) {
        const struct mirror *placed = facts_placed_mirror(entry);
        facts = entry->workload->unstarted = calloc(1, sizeof *facts);
        if (!facts)
            return;
        facts->since_ns =
            placed && placed->facts.unstarted_since_ns ? placed->facts.unstarted_since_ns : engine->now.mono_ns;
    }
    facts->timeout_ns = rule->pending_timeout_ns;
    facts->give_up_at_ns =
        rule->give_up_after_ns > 0 ? clock_after(facts->since_ns, rule->give_up_after_ns) : CLOCK_NEVER;
    note_tried(engine, entry);
}

// "did not start within 5m: 0/4 nodes are available", with the worker's reason if known.
static char *reason_of(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    AUTO_CALL call;
    char timeout[CLOCK_RFC3339_MAX];
    wharf_phase phase = {.size = sizeof phase};
    const struct json *object = doc_tree(&engine->store, &((struct mirror *)mirror)->doc);
    call_begin(engine, entry, WHARF_MIRROR_PRESENT, &call);
    if (object)
        adapter_phase(&call, object, &phase);
    const char *reason = phase.message ? phase.message : phase.reason;
    if (entry->workload->unstarted->pod_report)
        reason = entry->workload->unstarted->pod_report;
    clock_duration_text(entry->workload->unstarted->timeout_ns, timeout);
    char *text = text_format("did not start within %s%s%s", timeout, reason ? ": " : "", reason ? reason : "");
    adapter_call_end(&call);
    return text;
}

void unstarted_withdrawn(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    const char *stuck = elsewhere_stuck_reason(entry);
    AUTO_TEXT reason = stuck ? strdup(stuck) : reason_of(engine, entry, mirror);
    uint32_t attempt = entry->workload->facts.attempt;
    entry->workload->unstarted->withdrawn_attempt = attempt;
    attempt_history_failed(engine, entry, OUTCOME_NONE, "DidNotStart", reason ? reason : "");
    if (stuck) {
        elsewhere_withdrawn(engine, entry, mirror);
        return;
    }
    report_event(
        engine, entry, true, "Withdrawn", "DeleteMirror",
        "the mirror in cluster %s %s: the host deletes the mirror (attempt %u), and tries another worker once the "
        "mirror is gone",
        engine->clusters[mirror->facts.cluster].name, reason ? reason : "did not start in time", attempt);
}

void unstarted_kept(struct entry *entry, struct mirror *mirror, enum reason reason) {
    mirror->facts.unsure |= reason == REASON_CONFLICT; // perhaps started: the newest state decides
    if (entry->workload->unstarted)
        entry->workload->unstarted->withdrawn_attempt = 0;
}

void unstarted_placed(struct engine *engine, struct entry *entry, size_t cluster) {
    struct unstarted_facts *facts = entry->workload->unstarted;
    struct mirror *chosen = entry_mirror(entry, cluster);
    if (!facts)
        return;
    if (facts->gave_up) { // a worker that has joined
        facts->gave_up = false;
        facts->rounds = 0;
        facts->since_ns = engine->now.mono_ns;
    }
    free(TAKE(facts->pod_report));
    if (!chosen)
        return;
    chosen->facts.changed = false;
    if (!chosen->facts.tried)
        return;
    if (facts->rounds < UINT16_MAX)
        facts->rounds++;
    forget_tried(entry);
}

// Giving up ----------------------------------------------------------------------------------------------------

// The status means a failure. NULL: the kind has no such status, or the workload's state does not permit one.
static struct json *status_of(const struct mirror_context *context, const char *message) {
    if (!context->kind->abi.gave_up_status || !context->workload)
        return NULL;
    AUTO_JSON object = json_new_object();
    const struct json *present = json_get(context->workload, "status");
    if (!object || !json_set(object, "status", json_is(present, JSON_OBJECT) ? json_copy(present) : json_new_object()))
        return NULL;
    if (owed_gave_up(context->call, context->workload, message, object) != WHARF_OK ||
        adapter_status(context->call, context->workload, NULL, object) != WHARF_OK)
        return NULL;
    AUTO_JSON copy = json_copy(context->workload);
    wharf_phase phase;
    bool failed = copy && json_set(copy, "status", json_copy(json_get(object, "status"))) &&
                  adapter_phase(context->call, copy, &phase) == WHARF_OK && phase.phase == WHARF_FAILED;
    return failed ? json_detach(object, "status") : NULL;
}

bool unstarted_give_up(struct engine *engine, struct entry *entry) {
    AUTO_BUFFER(message, 8192);
    struct unstarted_facts *facts = entry->workload->unstarted;
    char after[CLOCK_RFC3339_MAX];
    clock_duration_text(facts->give_up_at_ns - facts->since_ns, after);
    buffer_printf(&message, "not started within %s; ", after);
    worker_reasons_put(engine, entry, engine->now.mono_ns, &message);
    const char *text = message.len > 0 ? message.data : "no worker accepts the workload", *then = "";
    AUTO_CALL call;
    struct mirror_context context = call_begin_for_mirror(engine, entry, NULL, WHARF_MIRROR_NONE, &call);
    AUTO_JSON status = message.len > 0 ? status_of(&context, text) : NULL;
    AUTO_JSON patch = NULL;
    uint64_t wanted = status ? json_hash(status) : 0;
    if (call.trouble != CALL_FINE) // the workload waits for the result
        return true;
    bool written = status && mirror_status_patch(&context, status, &patch) == WHARF_OK && patch;
    struct request_in_flight request = {
        .type = REQUEST_STATUS, .patch_hash = mirror_patch_hash(patch), .wanted = wanted};
    if (!written) {
        facts->gave_up = true;
        then = ". The host tries again when annotation " MARK_RETRY " is written, or a worker joins";
    } else if (!command_send_patch(engine, entry, NULL, patch, request)) {
        return true;
    }
    report_event(engine, entry, true, "GaveUp", "Place", "%s%s", text, then);
    return true;
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    (void)engine;
    facts->unstarted = entry->workload->unstarted;
}

static void forget(struct engine *engine, struct entry *entry) {
    (void)engine;
    unstarted_drop(entry);
}

const struct part part_unstarted = {
    .name = "unstarted mirrors", .before = check, .facts = facts, .workload_ends = forget};
