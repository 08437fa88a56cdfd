// SPDX-License-Identifier: Apache-2.0
#include "core/engine/unstarted/unstarted.h"

#include "core/adapter/owed_status.h"
#include "core/adapter/phase.h"
#include "core/engine/facts.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/part.h"
#include "core/engine/placement/placing.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"
#include "core/engine/request/call.h"
#include "core/engine/request/command.h"

#include <stdlib.h>
#include <string.h>

// A mirror from an earlier process has waited since its creation, by a remote clock; the time since a suspension
// there is unknown.
static int64_t waits_since_ns(const struct engine *engine, const struct entry *entry, const struct mirror *mirror,
                              const wharf_phase *phase) {
    int64_t age_ns = engine->now.wall_ns - mirror->created_ns;
    bool earlier =
        entry->workload->facts.exists && entry->workload->placed_attempt != mirror->facts.attempt && mirror->created_ns;
    bool never = (!phase || phase->phase == WHARF_PENDING) && !mirror->started_ns;
    if (!earlier || !never || age_ns <= 0 || age_ns >= engine->now.mono_ns)
        return engine->now.mono_ns;
    return engine->now.mono_ns - age_ns;
}

// Has run for long enough to forget earlier failures.
static bool has_run_long(const struct engine *engine, const struct unstarted_facts *facts) {
    return facts->runs_since_ns && engine->now.mono_ns >= clock_after(facts->runs_since_ns, facts->timeout_ns);
}

// The mirror no longer runs.
static void stopped(const struct engine *engine, struct entry *entry) {
    if (!entry->workload->unstarted)
        return;
    if (has_run_long(engine, entry->workload->unstarted))
        unstarted_drop(entry);
    else
        entry->workload->unstarted->runs_since_ns = 0;
}

void unstarted_observe(const struct engine *engine, struct entry *entry, struct mirror *mirror,
                       const wharf_phase *phase, bool same) {
    wharf_phase_kind kind = phase ? phase->phase : WHARF_PENDING;
    if (!same) {
        mirror->has_run = false;
        mirror->facts.unstarted_since_ns = 0;
    }
    if (kind == WHARF_SUSPENDED) // the pods no longer run
        mirror->has_run = false;
    else if (phase_is_final(kind) || (kind == WHARF_ACTIVE && !phase->not_started))
        mirror->has_run = true;
    if (!mirror->has_run && mirror->facts.of_workload && mirror->facts.attempt == entry->workload->facts.attempt)
        stopped(engine, entry);
    if (mirror->has_run || mirror->stub)
        mirror->facts.unstarted_since_ns = 0;
    else if (mirror->facts.unstarted_since_ns == 0)
        mirror->facts.unstarted_since_ns = waits_since_ns(engine, entry, mirror, phase);
}

void unstarted_resumed(const struct engine *engine, struct entry *entry) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (m->facts.unstarted_since_ns)
            m->facts.unstarted_since_ns = engine->now.mono_ns;
}

void unstarted_pod_report(struct entry *entry, const char *text) {
    if (!entry->workload->unstarted)
        return;
    char *copy = strndup(text, ATTEMPT_MESSAGE_MAX);
    if (!copy)
        return;
    free(entry->workload->unstarted->pod_report);
    entry->workload->unstarted->pod_report = copy;
}

void unstarted_drop(struct entry *entry) {
    if (!entry->workload->unstarted)
        return;
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        m->facts.tried = false;
    free(entry->workload->unstarted->pod_report);
    free(entry->workload->unstarted);
    entry->workload->unstarted = NULL;
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

// Whether to count: an unstarted mirror or a rejection. The facts stay while a mirror has only just started.
static bool is_concerned(struct engine *engine, struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    if (!w->exists || w->finished || w->being_deleted || w->suspended || decide_has_final_status(w))
        return false;
    const struct mirror *placed = facts_placed_mirror(entry);
    if (!placed || placed->facts.being_deleted) {
        stopped(engine, entry);
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

static struct unstarted_facts *make(struct engine *engine, struct entry *entry) {
    struct unstarted_facts *facts = calloc(1, sizeof *facts);
    const struct mirror *placed = facts_placed_mirror(entry);
    if (!facts)
        return NULL;
    facts->since_ns =
        placed && placed->facts.unstarted_since_ns ? placed->facts.unstarted_since_ns : engine->now.mono_ns;
    entry->workload->unstarted = facts;
    return facts;
}

// The mirror is known to be gone: the worker counts as tried.
static void note_tried(struct engine *engine, struct entry *entry) {
    struct unstarted_facts *facts = entry->workload->unstarted;
    uint32_t attempt = entry->workload->facts.attempt, cluster = entry->workload->facts.cluster;
    if (attempt == 0 || facts->withdrawn_attempt != attempt || entry->workload->facts.gone_attempt != attempt ||
        cluster == DECIDE_UNKNOWN_CLUSTER || facts->noted_attempt == attempt)
        return;
    struct mirror *mirror = entry_make_mirror(entry, cluster);
    if (!mirror)
        return;
    attempt_history_follow(engine, entry);
    facts->noted_attempt = attempt;
    mirror->facts.tried = true;
    namespace_retry_wait(engine, entry, cluster, NULL);
    facts->round_at_ns =
        engine->now.mono_ns + backoff_ns(engine, facts->rounds + 1U, UNSTARTED_ROUND_NS, UNSTARTED_ROUND_MAX_NS);
}

static void check(struct engine *engine, struct entry *entry) {
    if (!is_concerned(engine, entry)) {
        unstarted_drop(entry);
        return;
    }
    const struct placement_rule *rule = placement_rule_of(engine, entry, NULL, NULL);
    int64_t give_up_ns = rule->give_up_after_ns;
    if (rule->pending_timeout_ns <= 0 && give_up_ns <= 0) {
        unstarted_drop(entry);
        return;
    }
    struct unstarted_facts *facts = entry->workload->unstarted ? entry->workload->unstarted : make(engine, entry);
    if (!facts)
        return;
    facts->timeout_ns = rule->pending_timeout_ns;
    facts->give_up_at_ns =
        give_up_ns > 0 && give_up_ns < CLOCK_NEVER - facts->since_ns ? facts->since_ns + give_up_ns : CLOCK_NEVER;
    note_tried(engine, entry);
}

// "did not start within 5m: 0/4 nodes are available", with the worker's reason if known.
static char *why_not(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    struct adapter_call call;
    char timeout[CLOCK_RFC3339_MAX];
    wharf_phase phase = {.size = sizeof phase};
    const struct json *object = doc_tree(&engine->store, &((struct mirror *)mirror)->doc);
    call_begin(engine, entry, WHARF_MIRROR_PRESENT, &call);
    if (object)
        adapter_phase(&call, object, &phase);
    const char *said = entry->workload->unstarted->pod_report ? entry->workload->unstarted->pod_report
                       : phase.message                        ? phase.message
                                                              : phase.reason;
    clock_duration_text(entry->workload->unstarted->timeout_ns, timeout);
    char *why = text_format("did not start within %s%s%s", timeout, said ? ": " : "", said ? said : "");
    adapter_call_end(&call);
    return why;
}

bool unstarted_withdraw(struct engine *engine, struct entry *entry, struct mirror *mirror, struct buffer *out) {
    const char *version = doc_version(&engine->store, &mirror->doc);
    if (!entry->workload->unstarted || !*version || strcmp(version, STORE_VERSION_NONE) == 0) {
        mirror->facts.unsure = true; // read its state first
        return false;
    }
    // Foreground: the mirror disappears after its pods. A mirror that has started meanwhile has another version.
    return buffer_printf(out,
                         "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Foreground\","
                         "\"preconditions\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\"}}",
                         mirror->uid, version);
}

void unstarted_withdrawn(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    AUTO_TEXT why = why_not(engine, entry, mirror);
    entry->workload->unstarted->withdrawn_attempt = entry->workload->facts.attempt;
    attempt_history_withdrawn(engine, entry, "DidNotStart", why ? why : "");
    report_event(engine, entry, true, "Withdrawn", "DeleteMirror",
                 "its mirror in cluster %s %s: it is deleted there (attempt %u), and tried elsewhere once it is gone",
                 engine->clusters[mirror->facts.cluster].name, why ? why : "did not start in time",
                 entry->workload->facts.attempt);
}

void unstarted_kept(struct entry *entry, struct mirror *mirror, enum reason reason) {
    mirror->facts.unsure |= reason == REASON_CONFLICT; // possibly started: the newest state decides
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
    free(facts->pod_report);
    facts->pod_report = NULL;
    if (!chosen || !chosen->facts.tried)
        return;
    if (facts->rounds < UINT16_MAX)
        facts->rounds++;
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        m->facts.tried = false;
}

// Giving up ----------------------------------------------------------------------------------------------------

// Whether the status means a failure; if not, the host does not write the status.
static bool is_failed(struct adapter_call *call, const struct json *workload, const struct json *status) {
    AUTO_JSON copy = json_copy(workload);
    wharf_phase phase;
    return copy && json_set(copy, "status", json_copy(status)) && adapter_phase(call, copy, &phase) == WHARF_OK &&
           phase.phase == WHARF_FAILED;
}

// NULL: the kind has no such status, or the workload's state does not permit one.
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
    const struct json *status = json_get(object, "status");
    return is_failed(context->call, context->workload, status) ? json_detach(object, "status") : NULL;
}

bool unstarted_give_up(struct engine *engine, struct entry *entry) {
    AUTO_BUFFER(message, 8192);
    struct unstarted_facts *facts = entry->workload->unstarted;
    struct adapter_call call;
    char after[CLOCK_RFC3339_MAX];
    clock_duration_text(facts->give_up_at_ns - facts->since_ns, after);
    buffer_printf(&message, "not started within %s; ", after);
    worker_reasons_put(engine, entry, engine->now.mono_ns, &message);
    const char *text = message.len > 0 ? message.data : "no worker accepts the workload", *then = "";
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    struct mirror_context context = call_context(engine, entry, NULL, &call);
    AUTO_JSON status = message.len > 0 ? status_of(&context, text) : NULL;
    AUTO_JSON patch = NULL;
    uint64_t wanted = status ? json_hash(status) : 0;
    bool written = status && mirror_status_patch(&context, status, &patch) == WHARF_OK && patch;
    bool own = (engine->kinds[entry->kind]->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    adapter_call_end(&call);
    if (!written) {
        facts->gave_up = true;
        then = ". The host tries again when annotation " MARK_RETRY " is written, or a worker joins";
    } else if (!command_send_patch(engine, entry, NULL, patch,
                                   (struct command_spec){.type = REQUEST_STATUS,
                                                         .verb = own ? VERB_STATUS_PATCH : VERB_MERGE_PATCH,
                                                         .patch_hash = mirror_patch_hash(patch),
                                                         .wanted = wanted})) {
        queue_retry_soon(engine, &entry->workload->facts.not_before_ns);
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
