// SPDX-License-Identifier: Apache-2.0
// Creates a mirror.
#include "core/engine/act.h"

#include "core/engine/capacity/capacity.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/mirror/act_update.h"
#include "core/engine/mirror/dropped.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/placement/completions.h"
#include "core/engine/queue.h"
#include "core/engine/request/call.h"
#include "core/engine/request/command.h"
#include "core/engine/status/own_record.h"

#include <stdlib.h>

// An earlier process placed it, and may have created a mirror without a seal that this one knows; a worker that rejects
// the create would not show that it exists.
static bool has_to_be_asked_for(const struct engine *engine, const struct entry *entry, const struct mirror *mirror) {
    return seal_keys_any(engine->seals) && entry->workload->placed_attempt != entry->workload->facts.attempt &&
           !mirror->facts.absent_ns;
}

bool act_create(struct engine *engine, struct entry *entry, const struct action *action) {
    struct mirror *mirror = entry_make_mirror(entry, action->cluster);
    if (!mirror) {
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
        return false;
    }
    if (has_to_be_asked_for(engine, entry, mirror)) {
        mirror->facts.unsure = true;
        return true;
    }
    if (!own_record(entry) && !act_accepts(engine, entry)) {
        mirror->facts.not_before_ns = entry->workload->facts.not_before_ns;
        return true;
    }
    if (!kueue_permits(engine, entry)) { // not known to a restarted host
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
        return false;
    }
    struct adapter_call call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    struct mirror_context context = call_context(engine, entry, NULL, &call);
    struct mirror_record record = {.bare = kueue_is_admitted(entry) && !engine->settings.kueue_carried};
    AUTO_JSON body = NULL;
    context.record = &record;
    wharf_result result = context.workload ? mirror_make(&context, &body) : WHARF_RETRY;
    if (result == WHARF_OK && entry->workload->doc.text.len >= ENGINE_LARGE)
        result = act_check_body(&call, body);
    if (result != WHARF_OK)
        mirror->facts.not_before_ns = call_failed(engine, entry, result, &call, "CreateMirror", &mirror->denials);
    else
        call_report_message(engine, entry, &call, "CreateMirror");
    adapter_call_end(&call);
    if (result != WHARF_OK) {
        mirror_record_cleanup(&record);
        return true;
    }
    mirror->denials = 0;
    struct json *annotations = json_get(json_get(body, "metadata"), "annotations");
    (void)json_set(annotations, MARK_VERSION, json_new_string(doc_version(&engine->store, &entry->workload->doc)));
    if (!mirror->tried && dropped_are_refused(engine, entry)) {
        struct command_spec trial = {.type = REQUEST_TRIAL,
                                     .verb = VERB_CREATE,
                                     .cluster = mirror->facts.cluster,
                                     .attempt = entry->workload->facts.attempt,
                                     .wanted = entry->workload->carry_hash};
        if (!command_send_patch(engine, entry, mirror, body, trial))
            queue_retry_soon(engine, &mirror->facts.not_before_ns);
        mirror_record_cleanup(&record);
        return true;
    }
    mirror->tried = false; // for the next one
    struct command_spec spec = {.type = REQUEST_CREATE,
                                .verb = VERB_CREATE,
                                .cluster = mirror->facts.cluster,
                                .attempt = entry->workload->facts.attempt,
                                .wanted = entry->workload->carry_hash,
                                .record = &record.next,
                                .was_clean = entry->workload->facts.clean_attempt == entry->workload->facts.attempt};
    if (!command_send_patch(engine, entry, mirror, body, spec))
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    else
        entry->workload->facts.clean_attempt = 0;
    if (mirror->facts.busy)
        completions_created(engine, entry);
    if (mirror->facts.busy && !own_record(entry)) {
        own_record_accept(engine, entry);
        capacity_placed(engine, entry, mirror->facts.cluster);
    }
    if (spec.was_clean)
        mirror->facts.unanswered_ns = 0;
    else if (mirror->failures == 0 && mirror->facts.unanswered_ns == 0) // another process's requests are not known
        mirror->facts.unanswered_ns = engine->now.mono_ns;
    mirror_record_cleanup(&record);
    return true;
}
