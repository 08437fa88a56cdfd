// SPDX-License-Identifier: Apache-2.0
#include "core/engine/request/command.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/report/report.h"

#define REFUSED_BASE_NS (5 * CLOCK_SECOND) // for a workload rejected by the adapter or the host
#define REFUSED_MAX_NS (10 * CLOCK_MINUTE)

void call_begin(struct engine *engine, struct entry *entry, wharf_mirror_state state, struct adapter_call *call) {
    const struct kind *kind = engine->kinds[entry->kind];
    const char *version = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->version;
    size_t worker = facts_placed_cluster(entry);
    struct call_context context = {
        .kind = &kind->abi,
        .given = kind->given,
        .adapter = kind->adapter ? kind->adapter->name : NULL,
        .now = engine->now,
        .cluster = worker ? engine->clusters[worker].name : NULL,
        .attempt = entry->workload->facts.attempt,
        .version = version ? version : kind->abi.versions[0], // an unknown version
        .object = entry->key,
        .mirror_state = state,
        .clock = engine->clock,
        .times = engine->stats.kinds[entry->kind].calls,
    };
    aside_begin(engine, entry, &context);
    adapter_call_begin(call, &context);
}

struct mirror_context call_begin_for_mirror(struct engine *engine, struct entry *entry, struct mirror *mirror,
                                            wharf_mirror_state state, struct adapter_call *call) {
    call_begin(engine, entry, state, call);
    const struct workload_facts *w = &entry->workload->facts;
    size_t cluster = mirror ? mirror->facts.cluster : facts_placed_cluster(entry);
    char space[254], there[NAMESPACE_SIZE];
    entry_namespace(entry, space);
    (void)cluster_namespace(engine, cluster, space, there);
    return (struct mirror_context){.kind = engine->kinds[entry->kind],
                                   .origin = engine->origin,
                                   .call = call,
                                   .workload = doc_tree(&engine->store, &entry->workload->doc),
                                   .mirror = mirror ? doc_tree(&engine->store, &mirror->doc) : NULL,
                                   .carry = mirror ? &mirror->carry : NULL,
                                   .attempt = w->attempt,
                                   .suspended_by_kueue = mirror && kueue_status_governs(entry, mirror),
                                   .had_status = mirror && mirror->had_status,
                                   .unfinished = !w->finished || w->foreign_end,
                                   .finalizer = engine->settings.mirror_finalizer,
                                   .seals = engine->seals,
                                   .cluster = engine->clusters[cluster].name,
                                   .renamed = strcmp(there, space) != 0};
}

bool call_succeeded(struct engine *engine, struct entry *entry, wharf_result result, struct adapter_call *call,
                    const char *action, uint16_t *refusals, int64_t *retry_at_ns) {
    int64_t delay_ns = call->answer.retry_after_ms ? call->answer.retry_after_ms * CLOCK_MS : CLOCK_SECOND;
    if (result == WHARF_OK) {
        *refusals = 0;
        return true;
    }
    if (call->trouble != CALL_FINE && aside_waits(entry)) // decide() waits
        return false;
    engine->stats.kinds[entry->kind].adapter_errors++;
    if (result == WHARF_REFUSED) {
        report_event(engine, entry, true, adapter_answer_reason(call, "Refused"), action, "%s",
                     adapter_answer_message(call, "the adapter rejected the workload without a reason"));
        if (*refusals < UINT16_MAX)
            (*refusals)++;
        delay_ns = backoff_ns(engine, *refusals, REFUSED_BASE_NS, REFUSED_MAX_NS);
    }
    *retry_at_ns = engine->now.mono_ns + delay_ns;
    return false;
}

void call_report_message(struct engine *engine, struct entry *entry, struct adapter_call *call, const char *action) {
    bool made = strcmp(action, "CreateMirror") == 0;
    if (call->answer.message)
        report_event(engine, entry, true, adapter_answer_reason(call, made ? "FieldsDropped" : "NotCarried"), action,
                     "%s", adapter_answer_message(call, "the adapter's message cannot be shown"));
}
