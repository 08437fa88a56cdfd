// SPDX-License-Identifier: Apache-2.0
#include "core/engine/kueue/kueue_ticket.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/facts.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/part.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/request/confirm.h"
#include "core/engine/request/pacing.h"
#include "core/engine/shard/shard.h"
#include "core/engine/store/backoff.h"

#include <stdlib.h>
#include <string.h>

#define TELL_QUEUED_NS (5 * CLOCK_SECOND) // most are admitted at once
#define EVICTED_NEW_NS (1 * CLOCK_MINUTE) // older evictions were told by another process
#define DENIED_NS (10 * CLOCK_MINUTE)     // until a write is tried again that was refused
#define WRITE_FIRST_NS (1 * CLOCK_SECOND)
#define WRITE_MAX_NS (1 * CLOCK_MINUTE)
#define WHY_MAX 1024

void kueue_ticket_drop(struct kueue_ticket **ticket) {
    free(*ticket);
    *ticket = NULL;
}

static bool is_queued(enum kueue_phase phase) {
    return phase == KUEUE_PENDING || phase == KUEUE_RESERVED || phase == KUEUE_INACTIVE;
}

static const char *phase_text(enum kueue_phase phase) {
    switch (phase) {
    case KUEUE_RESERVED:
        return "quota is reserved, admission checks are not ready";
    case KUEUE_INACTIVE:
        return "its Workload is inactive (spec.active: false)";
    default:
        return "no quota is reserved";
    }
}

// "no quota is reserved: couldn't assign flavors to pod set main: ..."
static void put_why(const struct kueue_state *state, struct buffer *out) {
    buffer_text(out, phase_text(state->phase));
    const char *reason = state->phase == KUEUE_RESERVED || !*state->message ? state->reason : "";
    if (*state->message || *reason)
        buffer_printf(out, ": %s%s%.*s", reason, *reason && *state->message ? ": " : "", WHY_MAX, state->message);
}

static struct kueue_ticket *ticket_new(const struct kueue_state *state) {
    AUTO_BUFFER(why, 4096);
    AUTO_BUFFER(check, 4096);
    if (is_queued(state->phase))
        put_why(state, &why);
    if (*state->check)
        buffer_printf(&check, "%s: %.*s", state->check, WHY_MAX, state->check_message);
    const char *texts[] = {
        state->name, state->uid, state->version, state->queue, why.len ? why.data : "", check.len ? check.data : ""};
    size_t size = 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        size += strlen(texts[i]) + 1;
    struct kueue_ticket *ticket = calloc(1, sizeof *ticket + size);
    if (!ticket)
        return NULL;
    const char **places[] = {&ticket->name,  &ticket->uid, &ticket->version,
                             &ticket->queue, &ticket->why, &ticket->check};
    char *at = ticket->memory;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *places[i] = update_string(&at, texts[i], strlen(texts[i]));
    ticket->phase = (uint8_t)state->phase;
    ticket->since_ns = state->since_ns;
    ticket->evicted_ns = state->evicted_ns;
    ticket->deactivated = state->deactivated;
    return ticket;
}

// What is known of the same Workload.
static void keep(struct kueue_ticket *ticket, const struct kueue_ticket *old) {
    ticket->told = old->told;
    ticket->denied = old->denied;
    ticket->busy = old->busy;
    ticket->failures = old->failures;
    ticket->not_before_ns = old->not_before_ns;
    ticket->queued_ns = old->queued_ns;
    if (ticket->evicted_ns == 0)
        ticket->evicted_ns = old->evicted_ns;
}

static void report_eviction(struct engine *engine, struct entry *entry, size_t cluster, const struct kueue_state *state,
                            const struct kueue_ticket *old) {
    int64_t known_ns = old ? old->evicted_ns : engine->now.wall_ns - EVICTED_NEW_NS;
    bool own = state->deactivated || entry->workload->facts.suspended;
    if (cluster == ENGINE_MANAGEMENT || own || state->evicted_ns <= known_ns || entry->workload->facts.finished)
        return;
    report_event(engine, entry, true, "EvictedInWorker", "Observe",
                 "the Kueue of cluster %s has evicted it (%s): %.*s; it is queued there again", engine->names[cluster],
                 state->evicted_reason, WHY_MAX, state->evicted_message);
}

static void report_admission(struct engine *engine, struct entry *entry, size_t cluster, struct kueue_ticket *ticket,
                             const struct kueue_ticket *old) {
    if (!old || !is_queued((enum kueue_phase)old->phase) || ticket->phase != KUEUE_RUNS)
        return;
    if (ticket->told && cluster != ENGINE_MANAGEMENT)
        report_event(engine, entry, false, "AdmittedInWorker", "Observe", "admitted by the Kueue of cluster %s",
                     engine->names[cluster]);
    ticket->told = false;
}

static struct kueue_ticket **place_of(const struct engine *engine, const struct engine_event *event,
                                      struct entry **out) {
    struct entry *entry = store_get(&engine->store, event->kind, event->queued.namespace_, event->queued.name);
    *out = entry;
    if (!entry)
        return NULL;
    if (event->cluster == ENGINE_MANAGEMENT)
        return entry->workload->facts.exists && strcmp(entry->workload->uid, event->queued.uid) == 0
                   ? &entry->workload->ticket
                   : NULL;
    // It is told once: also of a mirror whose workload has not been listed yet.
    struct mirror *m = entry_mirror(entry, event->cluster);
    return m && m->facts.present && strcmp(m->uid, event->queued.uid) == 0 ? &m->ticket : NULL;
}

// It is a workload, or the mirror of one, that is known.
static bool is_of_workload(const struct entry *entry, size_t cluster) {
    return entry->workload->facts.exists &&
           (cluster == ENGINE_MANAGEMENT || entry_mirror(entry, cluster)->facts.of_workload);
}

static void set_facts(struct entry *entry, size_t cluster, const struct kueue_ticket *ticket) {
    bool queued = ticket && is_queued((enum kueue_phase)ticket->phase);
    struct mirror *m = cluster == ENGINE_MANAGEMENT ? NULL : entry_mirror(entry, cluster);
    if (m) {
        m->facts.queued = queued;
        m->facts.update_due = true;
        m->carry = CARRY_UNKNOWN;
        return;
    }
    entry->workload->facts.queued = queued;
    entry->workload->facts.check_rejected = ticket && *ticket->check;
}

static bool is_same(const struct kueue_ticket *a, const struct kueue_ticket *b) {
    return a && b && a->phase == b->phase && a->deactivated == b->deactivated && strcmp(a->uid, b->uid) == 0 &&
           strcmp(a->check, b->check) == 0;
}

static void take_event(struct engine *engine, struct engine_event *event) {
    const struct kueue_state *state = event->queued.state;
    struct entry *entry = NULL;
    struct kueue_ticket **place = place_of(engine, event, &entry);
    if (!place)
        return;
    struct kueue_ticket *ticket = state->phase == KUEUE_GONE ? NULL : ticket_new(state), *old = *place;
    if (!ticket && state->phase != KUEUE_GONE)
        return; // without memory what is known stays
    if (old && ticket && strcmp(old->uid, ticket->uid) == 0)
        keep(ticket, old);
    if (ticket) {
        bool queued = is_queued((enum kueue_phase)ticket->phase);
        ticket->queued_ns = !queued ? 0 : ticket->queued_ns ? ticket->queued_ns : engine->now.mono_ns;
    }
    if (ticket && is_of_workload(entry, event->cluster)) {
        report_eviction(engine, entry, event->cluster, state, old);
        report_admission(engine, entry, event->cluster, ticket, old);
    }
    bool same = is_same(old, ticket);
    *place = ticket;
    free(old);
    if (same)
        return;
    set_facts(entry, event->cluster, ticket);
    queue_entry(engine, entry);
}

static void tell_queued(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    struct kueue_ticket *ticket = mirror->ticket;
    int64_t at_ns = ticket->queued_ns + TELL_QUEUED_NS;
    if (ticket->told || !mirror->facts.queued || entry->workload->facts.suspended)
        return;
    if (engine->now.mono_ns < at_ns) {
        queue_wake(engine, entry, at_ns);
        return;
    }
    ticket->told = true;
    report_event(engine, entry, false, "QueuedInWorker", "Observe", "queued by the Kueue of cluster %s in %s: %s",
                 engine->names[mirror->facts.cluster], ticket->queue, ticket->why);
}

static void report_check_rejected(struct engine *engine, struct entry *entry) {
    struct kueue_ticket *ticket = entry->workload->ticket;
    if (!ticket || !*ticket->check || ticket->told || !entry->workload->facts.suspended)
        return;
    ticket->told = true;
    report_event(engine, entry, true, "KueueCheck", "Place",
                 "it never runs in queue %s: its admission check has rejected it: %s; a queue that dispatches by "
                 "MultiKueue does not take what is delegated to another host",
                 ticket->queue, ticket->check);
}

// Whether the Workload should be active, other than it is.
static bool has_to_change(const struct entry *entry, const struct kueue_ticket *ticket, bool *active) {
    bool inactive = ticket->phase == KUEUE_INACTIVE;
    *active = !entry->workload->facts.suspended;
    if (ticket->phase == KUEUE_OVER)
        return false;
    // Somebody who has activated it since is not fought.
    return *active ? inactive && ticket->deactivated : !inactive && !ticket->deactivated;
}

static void write_active(struct engine *engine, struct entry *entry, struct mirror *mirror, bool active) {
    struct kueue_ticket *ticket = mirror->ticket;
    AUTO_TEXT body = text_format("{\"metadata\":{\"uid\":\"%s\",\"annotations\":{\"" KUEUE_DEACTIVATED
                                 "\":%s}},\"spec\":{\"active\":%s}}",
                                 ticket->uid, active ? "null" : "\"true\"", active ? "true" : "false");
    ticket->busy = body && command_send(engine, entry,
                                        &(struct command_spec){.type = PENDING_ACTIVE,
                                                               .verb = VERB_MERGE_PATCH,
                                                               .cluster = mirror->facts.cluster,
                                                               .path = ticket->name,
                                                               .version = ticket->version,
                                                               .body = body,
                                                               .body_len = strlen(body)});
    if (ticket->busy)
        entry->lookups++;
    else
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
}

// In a new term: another host may have written the workload last.
static void read_first(struct engine *engine, struct entry *entry) {
    if (entry->busy)
        return;
    bool ready = cluster_is_connected(engine, ENGINE_MANAGEMENT, entry->kind) &&
                 pacing_has_spare(engine, ENGINE_MANAGEMENT) &&
                 entry->workload->facts.not_before_ns <= engine->now.mono_ns;
    if (ready)
        confirm_read(engine, entry);
    else
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
}

static void check_active(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct kueue_ticket *ticket = mirror->ticket;
    const struct worker_facts *worker = &engine->workers[entry->kind][mirror->facts.cluster];
    bool active = true;
    if (ticket->busy || mirror->facts.being_deleted || !worker->connected || worker->frozen ||
        !has_to_change(entry, ticket, &active))
        return;
    int64_t at_ns =
        pacing_has_spare(engine, mirror->facts.cluster) ? ticket->not_before_ns : engine->now.mono_ns + CLOCK_SECOND;
    if (at_ns > engine->now.mono_ns)
        queue_wake(engine, entry, at_ns);
    else if (shard_is_fresh(engine, entry))
        write_active(engine, entry, mirror, active);
    else
        read_first(engine, entry);
}

static void check(struct engine *engine, struct entry *entry, const struct action *action) {
    (void)action;
    if (!entry->workload->facts.exists || entry->workload->facts.finished || entry->workload->facts.being_deleted)
        return;
    report_check_rejected(engine, entry);
    struct mirror *mirror = facts_placed_mirror(entry);
    if (!mirror || !mirror->ticket || mirror->facts.finished)
        return;
    tell_queued(engine, entry, mirror);
    check_active(engine, entry, mirror);
}

bool kueue_ticket_governs(const struct entry *entry, const struct mirror *mirror) {
    const struct kueue_ticket *ticket = mirror->ticket;
    bool active = true;
    if (!ticket || ticket->denied || ticket->phase == KUEUE_OVER)
        return false;
    return ticket->busy || ticket->phase == KUEUE_INACTIVE || (has_to_change(entry, ticket, &active) && !active);
}

static void answered(struct engine *engine, struct entry *entry, struct pending *pending, struct response *response) {
    entry->lookups--;
    struct mirror *mirror = entry_mirror(entry, pending->cluster);
    struct kueue_ticket *ticket = mirror ? mirror->ticket : NULL;
    if (!ticket)
        return;
    ticket->busy = false;
    mirror->facts.update_due = true;
    if (response->reason == REASON_OK) { // the watch shows it
        ticket->failures = 0;
        ticket->denied = false;
        ticket->not_before_ns = engine->now.mono_ns + WRITE_FIRST_NS;
        return;
    }
    bool denied = reason_is_refusal(response->reason);
    int64_t delay_ns = denied ? DENIED_NS : backoff_ns(engine, ++ticket->failures, WRITE_FIRST_NS, WRITE_MAX_NS);
    ticket->not_before_ns = engine->now.mono_ns + delay_ns;
    if (denied && !ticket->denied)
        report_event(
            engine, entry, true, reason_text(response->reason), "CarryChange",
            "cannot set spec.active of Kueue's Workload %s in cluster %s, so the mirror itself is suspended, which "
            "its Kueue undoes while it is admitted; allow the host to patch workloads.kueue.x-k8s.io: %s",
            ticket->name, engine->names[pending->cluster], response->message);
    ticket->denied = denied;
}

int64_t kueue_ticket_queued_ns(const struct mirror *mirror) {
    return mirror->ticket && mirror->facts.queued ? mirror->ticket->queued_ns : 0;
}

const struct kueue_ticket *kueue_ticket_of(const struct entry *entry) {
    const struct mirror *mirror = facts_placed_mirror(entry);
    bool in_worker = mirror && mirror->ticket && mirror->facts.queued && !entry->workload->facts.suspended;
    return in_worker ? mirror->ticket : entry->workload->ticket;
}

void kueue_ticket_put(const struct engine *engine, const struct entry *entry, struct buffer *out, int64_t *since_ns) {
    const struct mirror *mirror = facts_placed_mirror(entry);
    const struct kueue_ticket *ticket = kueue_ticket_of(entry);
    bool in_worker = ticket && ticket != entry->workload->ticket;
    if (!ticket || (!in_worker && !entry->workload->facts.queued && !entry->workload->facts.check_rejected))
        return;
    char since[CLOCK_RFC3339_MAX] = "";
    *since_ns = ticket->since_ns;
    if (ticket->since_ns)
        clock_rfc3339(ticket->since_ns, since);
    if (!in_worker && *ticket->check) {
        buffer_printf(out, "it never runs in queue %s: its admission check has rejected it: %s", ticket->queue,
                      ticket->check);
        return;
    }
    buffer_printf(out, "suspended by Kueue in %s%s%s, queue %s: %s",
                  in_worker ? engine->names[mirror->facts.cluster] : "the management cluster", *since ? " since " : "",
                  since, ticket->queue, ticket->why);
}

const struct part part_kueue = {.name = "Kueue",
                                .events = PART_EVENT(EVENT_QUEUED),
                                .event = take_event,
                                .after = check,
                                .requests = PART_REQUEST(PENDING_ACTIVE),
                                .answered = answered};
