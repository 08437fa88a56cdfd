// SPDX-License-Identifier: Apache-2.0
// Rule 6. The final status of a mirror that had finished when it was deleted, before its workload's status was written.
// It is kept until then, so that a finished workload is not run again.
#include "core/engine/status/final_status.h"

#include "core/adapter/phase.h"
#include "core/engine/engine_internal.h"
#include "core/engine/request/call.h"

bool final_status_reached(const struct engine *engine, const struct entry *entry, const struct json *mirror,
                          wharf_phase *out) {
    struct adapter_call call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    wharf_phase phase;
    bool is_final = adapter_phase(&call, mirror, &phase) == WHARF_OK && phase_is_final(phase.phase);
    adapter_call_end(&call);
    phase.reason = phase.message = NULL;
    if (out)
        *out = phase;
    return is_final;
}

void final_status_keep(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    final_status_drop(entry);
    entry->workload->status.final_status = mirror_take_text(&engine->store, mirror);
    entry->workload->facts.final_attempt = mirror->facts.attempt;
    entry->workload->facts.has_final_status = entry->workload->status.final_status.own;
}

void final_status_put(struct entry *entry, struct shared_text text) {
    entry->workload->status.final_status = text;
    entry->workload->facts.final_attempt = entry->workload->facts.attempt;
    entry->workload->facts.has_final_status = true;
}

void final_status_drop(struct entry *entry) {
    if (!entry->workload->status.final_status.own)
        return;
    shared_text_clear(&entry->workload->status.final_status);
    entry->workload->facts.has_final_status = false;
}

struct json *final_status_tree(const struct entry *entry) {
    return store_parse(&entry->workload->status.final_status);
}
