// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/pods.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/isolate/isolate.h"

#define LOG_BYTES ((size_t)16 << 10) // of the log lines of one call
#define KEPT ((size_t)1 << 20)       // memory of a buffer that is kept

static struct isolate_logs *caught; // the service has no argument for them

static void catch_log(const wharf_call *call, wharf_log_level level, const char *message) {
    (void)call;
    size_t len = message ? strnlen(message, LOG_BYTES) : 0;
    char *copy =
        message && caught->count < CALL_LOGS && caught->bytes + len <= LOG_BYTES ? strndup(message, len) : NULL;
    if (copy)
        caught->list[caught->count++] = (struct call_log){level, copy};
    else if (message)
        caught->lost++;
    caught->bytes += len;
}

void isolate_replace_services(struct isolate_logs *logs) {
    static wharf_host table;
    caught = logs;
    table = *services_table();
    table.log = catch_log;
    isolate_watch_reads(&table);
    services_replace(&table);
}

void isolate_clear_logs(struct isolate_logs *logs) {
    for (size_t i = 0; i < logs->count; i++)
        free((char *)logs->list[i].message);
    *logs = (struct isolate_logs){.count = 0};
}

static wharf_result invoke(const struct isolate *isolate, struct adapter_call *call,
                           const struct call_received *received, wharf_phase *phase) {
    const struct json *workload = received->documents[0], *mirror = received->documents[1];
    const struct scorer *scorer = &isolate->adapter.scorer;
    switch (received->function) {
    case FUNCTION_PHASE:
        return adapter_phase(call, workload, phase);
    case FUNCTION_ACCEPT:
        return adapter_accept(call, workload);
    case FUNCTION_MIRROR:
        return adapter_mirror(call, workload, received->changed);
    case FUNCTION_UPDATE:
        return adapter_update(call, workload, mirror, received->changed);
    case FUNCTION_STATUS:
        return adapter_status(call, workload, mirror, received->changed);
    case FUNCTION_POD_SETS:
        return adapter_pod_sets(call, workload, received->changed);
    case FUNCTION_DEPENDENCIES:
        return adapter_dependencies(call, workload, received->changed);
    case FUNCTION_PROGRESS:
        return adapter_progress(call, workload, mirror, received->changed);
    case FUNCTION_CHILD_PROGRESS:
        return adapter_child_progress(call, workload, mirror, received->changed);
    case FUNCTION_SCORE:
        return adapter_score(call, scorer, workload, received->documents[1], received->documents[2], received->changed);
    default:
        return WHARF_RETRY;
    }
}

static bool answer(struct isolate *isolate, struct call_received *received) {
    const struct kind *kind = received->kind == CALL_NO_KIND ? NULL : isolate->adapter.kinds[received->kind];
    AUTO_CALL call;
    received->context.kind = kind ? &kind->abi : NULL;
    received->context.given = kind ? kind->given : NULL;
    adapter_call_begin(&call, &received->context);
    AUTO_JSON before = received->changed ? json_copy(received->changed) : NULL;
    if (received->changed && !before)
        isolate_die(isolate, FRAME_LAST_WORDS, "out of memory");
    struct call_answer said = {.phase.size = sizeof(wharf_phase)};
    isolate_watch(received->kind, received->function, received->documents);
    said.result = invoke(isolate, &call, received, &said.phase);
    if (call.failure == WHARF_RETRY) // a service had no memory
        isolate_die(isolate, FRAME_LIMIT, "more than %zu MiB of memory", isolate->limits.memory >> 20);
    isolate_tell_reads(&said);
    said.reason = call.answer.reason;
    said.message = call.answer.message;
    said.retry_after_ms = call.answer.retry_after_ms;
    said.n_logs = isolate->logs.count;
    said.lost_logs = isolate->logs.lost;
    memcpy(said.logs, isolate->logs.list, sizeof said.logs);
    call_write_answer(&isolate->out, &said);
    if (received->changed)
        (void)delta_write(&isolate->out, before, received->changed);
    if (isolate->out.failed)
        isolate_die(isolate, FRAME_LIMIT, "an answer of more than %zu bytes", isolate->limits.answer);
    isolate_clear_logs(&isolate->logs);
    return frame_send(isolate->channel, &isolate->out, CLOCK_NEVER);
}

// The host asks nothing else.
static bool is_for_us(const struct isolate *isolate, const struct call_received *received) {
    bool scores = received->function == FUNCTION_SCORE;
    if (scores && (!isolate->adapter.scorer.score || !received->changed))
        return false;
    return received->kind < isolate->adapter.n_kinds || (scores && received->kind == CALL_NO_KIND);
}

bool isolate_serve(struct isolate *isolate) {
    struct call_received received;
    buffer_reset(&isolate->in);
    if (frame_receive(isolate->channel, &isolate->in, CLOCK_NEVER) != FRAME_WHOLE)
        return false;
    struct wire wire = frame_content(&isolate->in);
    if (!call_read(&wire, isolate->places, &received) || !is_for_us(isolate, &received))
        isolate_die(isolate, FRAME_LAST_WORDS, "out of memory");
    bool done = answer(isolate, &received);
    call_received_free(&received);
    buffer_shrink(&isolate->in, KEPT);
    buffer_shrink(&isolate->out, KEPT);
    return done;
}
