// SPDX-License-Identifier: Apache-2.0
// Reports in the status where the API of the kind has words for a failure, and in an Event in any case.
#include "core/engine/unstarted/give_up.h"

#include "core/adapter/owed_status.h"
#include "core/adapter/phase.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/placement/placing.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"
#include "core/engine/request/call.h"
#include "core/engine/request/command.h"

static void report(struct engine *engine, struct entry *entry, const char *message, const char *then) {
    report_event(engine, entry, true, "GaveUp", "Place", "%s%s", message, then);
}

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

bool give_up(struct engine *engine, struct entry *entry) {
    AUTO_BUFFER(message, 8192);
    struct adapter_call call;
    char after[CLOCK_RFC3339_MAX];
    clock_duration_text(entry->workload->unstarted->give_up_at_ns - entry->workload->unstarted->since_ns, after);
    buffer_printf(&message, "no worker has started it within %s; ", after);
    worker_reasons_put(engine, entry, engine->now.mono_ns, &message);
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    struct mirror_context context = call_context(engine, entry, NULL, &call);
    AUTO_JSON status = message.len > 0 ? status_of(&context, message.data) : NULL;
    AUTO_JSON patch = NULL;
    uint64_t wanted = status ? json_hash(status) : 0;
    bool written = status && mirror_status_patch(&context, status, &patch) == WHARF_OK && patch;
    adapter_call_end(&call);
    if (!written) {
        entry->workload->unstarted->gave_up = true;
        report(engine, entry, message.len > 0 ? message.data : "no worker accepts it",
               ". It is tried again when annotation " MARK_RETRY " is written, or a worker joins");
        return true;
    }
    bool own = (engine->kinds[entry->kind]->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    if (!command_send_patch(engine, entry, NULL, patch,
                            (struct command_spec){.type = REQUEST_STATUS,
                                                  .verb = own ? VERB_STATUS_PATCH : VERB_MERGE_PATCH,
                                                  .patch_hash = mirror_patch_hash(patch),
                                                  .wanted = wanted}))
        queue_retry_soon(engine, &entry->workload->facts.not_before_ns);
    else
        report(engine, entry, message.data, "");
    return true;
}
