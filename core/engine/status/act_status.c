// SPDX-License-Identifier: Apache-2.0
// Writes the status of the followed mirror into the workload.
#include "core/engine/act.h"

#include "core/engine/facts.h"
#include "core/engine/limits/pause.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/queue.h"
#include "core/engine/request/call.h"
#include "core/engine/request/command.h"
#include "core/engine/status/final_status.h"
#include "core/engine/status/repeat.h"

static wharf_mirror_state mirror_state(const struct engine *engine, const struct entry *entry,
                                       const struct mirror *mirror) {
    if (mirror)
        return WHARF_MIRROR_PRESENT;
    return facts_worker_is_lost(engine, entry) ? WHARF_MIRROR_LOST : WHARF_MIRROR_NONE;
}

static void count_latency(struct engine *engine, const struct mirror *mirror) {
    if (!mirror || mirror->seen_ns == 0)
        return;
    histogram_add(&engine->stats.status_latency, STATS_STATUS_NS, engine->now.mono_ns - mirror->seen_ns);
}

bool act_status(struct engine *engine, struct entry *entry) {
    struct mirror *mirror = facts_followed_mirror(engine, entry);
    if (mirror && mirror->facts.too_large) { // reported already
        entry->workload->facts.status_due = false;
        return true;
    }
    bool last = !mirror && decide_has_final_status(&entry->workload->facts);
    AUTO_JSON said = last ? final_status_tree(entry) : NULL;
    struct adapter_call call;
    call_begin(engine, entry, last ? WHARF_MIRROR_PRESENT : mirror_state(engine, entry, mirror), &call);
    struct mirror_context context = call_context(engine, entry, mirror, &call);
    if (last)
        context.mirror = said;
    AUTO_JSON patch = NULL;
    uint64_t wanted = 0;
    enum carry_state carry = mirror ? mirror->carry : CARRY_UNKNOWN;
    context.carry = &carry;
    bool known = context.workload && (context.mirror || (!mirror && !last));
    wharf_result result = known ? mirror_status(&context, &patch, &wanted) : WHARF_RETRY;
    if (mirror)
        mirror->carry = (uint8_t)carry;
    if (result != WHARF_OK)
        entry->workload->facts.not_before_ns =
            call_failed(engine, entry, result, &call, "CopyStatus", &entry->workload->refusals);
    adapter_call_end(&call);
    if (result != WHARF_OK)
        return true;
    entry->workload->refusals = 0;
    uint64_t hash = patch ? mirror_patch_hash(patch) : 0;
    if (patch && hash == entry->workload->status.denied_status_hash &&
        entry->workload->status.denied_until_ns > engine->now.mono_ns) {
        entry->workload->facts.not_before_ns = entry->workload->status.denied_until_ns;
        return true;
    }
    entry->workload->facts.status_due = entry->workload->facts.status_held = entry->workload->status.uncompared = false;
    // The same patch was accepted and changed nothing: the server drops those fields.
    if (patch && hash == entry->workload->status.noop_patch_hash)
        return true;
    entry->workload->status.noop_patch_hash = 0;
    if (!patch)
        repeat_nothing_to_write(entry, wanted);
    uint32_t source = patch ? repeat_source(entry, context.mirror) : 0;
    if (!patch || !repeat_may_write(engine, entry, source))
        return true;
    bool own = (engine->kinds[entry->kind]->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    if (!command_send_patch(engine, entry, NULL, patch,
                            (struct command_spec){.type = REQUEST_STATUS,
                                                  .verb = own ? VERB_STATUS_PATCH : VERB_MERGE_PATCH,
                                                  .patch_hash = hash,
                                                  .wanted = wanted,
                                                  .source = source,
                                                  .attempt = entry->workload->facts.attempt,
                                                  .is_final = mirror ? mirror->facts.finished : last})) {
        entry->workload->facts.status_due = true;
        queue_retry_soon(engine, &entry->workload->facts.not_before_ns);
        return true;
    }
    pause_status_sent(engine, entry->kind);
    count_latency(engine, mirror);
    if (mirror)
        mirror->seen_ns = 0;
    return true;
}
