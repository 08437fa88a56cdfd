// SPDX-License-Identifier: Apache-2.0
// Answers to commands: new facts about objects, times to retry, and reports.
#include "core/engine/request/answer.h"

#include "core/base/memory.h"
#include "core/engine/limits/large_mirrors.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/observe/observe.h"
#include "core/engine/observe/restored.h"
#include "core/engine/part.h"
#include "core/engine/queue.h"
#include "core/engine/request/answer_parts.h"
#include "core/engine/request/command.h"
#include "core/engine/request/pacing.h"
#include "core/engine/store/backoff.h"

#include <stdlib.h>
#include <string.h>

#define TRANSIENT_BASE_NS (100 * CLOCK_MS)
#define TRANSIENT_MAX_NS (30 * CLOCK_SECOND)
#define CONFLICT_BASE_NS (10 * CLOCK_MS)

bool answer_certainly_not_done(enum reason reason) {
    return reason_is_permanent(reason) || reason == REASON_NOT_SENT || reason == REASON_TOO_MANY ||
           reason == REASON_CONFLICT || reason == REASON_NOT_FOUND;
}

bool answer_is_heard(enum reason reason) {
    return reason != REASON_UNKNOWN_OUTCOME && reason != REASON_GARBAGE;
}

int64_t answer_next_try_ns(struct engine *engine, const struct response *response, uint16_t *failures) {
    if (*failures < UINT16_MAX)
        (*failures)++;
    int64_t delay_ns;
    if (reason_is_permanent(response->reason))
        delay_ns = backoff_ns(engine, *failures, PERMANENT_BASE_NS, PERMANENT_MAX_NS);
    else if (response->reason == REASON_CONFLICT)
        delay_ns = backoff_ns(engine, *failures, CONFLICT_BASE_NS, TRANSIENT_MAX_NS);
    else
        delay_ns = backoff_ns(engine, *failures, TRANSIENT_BASE_NS, TRANSIENT_MAX_NS);
    if (response->retry_after_ns > delay_ns)
        delay_ns = response->retry_after_ns + (int64_t)random_below(&engine->random, (uint64_t)CLOCK_SECOND / 4);
    return engine->now.mono_ns + delay_ns;
}

struct object *answer_take_object(struct response *response) {
    return TAKE(response->object);
}

void answer_observe(struct engine *engine, struct entry *entry, struct mirror *mirror, struct response *response) {
    struct object *object = answer_take_object(response);
    enum ownership ownership = observe_ownership(engine, mirror->facts.cluster, entry->kind, mirror, object->value);
    observe_mirror(engine, entry, mirror, object, ownership == OWNERSHIP_NONE ? OWNERSHIP_UID : ownership);
}

bool answer_is_newest(struct engine *engine, struct doc *doc, uint64_t version) {
    return text_hash(TEXT_HASH, doc_version(&engine->store, doc)) == version;
}

void answer_handle(struct engine *engine, struct engine_event *event) {
    uint64_t id = event->answer.command;
    struct response *response = event->answer.response;
    uint64_t place = id & UINT32_MAX;
    if (place == 0 || place > engine->request.n_requests)
        return;
    struct request_in_flight *slot = &engine->request.requests[place - 1];
    if (!slot->used || slot->generation != (uint32_t)(id >> 32))
        return;
    struct request_in_flight request = *slot;
    slot->used = false;
    slot->record = NULL;
    slot->next_free = engine->request.free_request;
    engine->request.free_request = (uint32_t)place;
    engine->request.in_flight--;
    struct entry *entry = request.entry;
    static const enum verb verbs[] = {
        [REQUEST_PLACE] = VERB_MERGE_PATCH,   [REQUEST_CREATE] = VERB_CREATE,    [REQUEST_UPDATE] = VERB_MERGE_PATCH,
        [REQUEST_STATUS] = VERB_STATUS_PATCH, [REQUEST_DELETE] = VERB_DELETE,    [REQUEST_RELEASE] = VERB_MERGE_PATCH,
        [REQUEST_VERIFY] = VERB_GET,          [REQUEST_NAMESPACE] = VERB_CREATE, [REQUEST_OWNER] = VERB_RAW_GET,
        [REQUEST_WRITER] = VERB_RAW_GET,      [REQUEST_READ] = VERB_GET,         [REQUEST_TRIAL] = VERB_CREATE,
        [REQUEST_ACTIVE] = VERB_MERGE_PATCH};
    enum verb verb = verbs[request.type];
    pacing_answered(engine, request.cluster, verb == VERB_GET || verb == VERB_RAW_GET ? WINDOW_READ : WINDOW_WRITE,
                    response, event->answer.sent_ns ? engine->received_ns - event->answer.sent_ns : 0);
    restored_answer(engine, &request, response);
    if (response->object && request.cluster != ENGINE_MANAGEMENT)
        large_mirrors_bound(engine, request.cluster, entry->kind, &response->object);
    if (response->object && response->object->too_large) { // a stub does not show the written fields
        object_free(response->object);
        response->object = NULL;
    }
    engine->stats.clusters[request.cluster].answers[verb][response->reason]++;
    EACH_PART(part, requests & PART_REQUEST(request.type)) part->answered(engine, entry, &request, response);
    if ((request.type == REQUEST_PLACE || request.type == REQUEST_STATUS) && response->reason == REASON_OK)
        entry->read_term = request.term; // the write had the known resourceVersion
    free(request.record);
    queue_entry(engine, entry);
}

// Requests in flight may still take effect. Their answers, if any, are ignored: the place in the table has another
// generation then.
void answer_end_requests(struct engine *engine, size_t cluster) {
    for (size_t i = 0; i < engine->request.n_requests; i++) {
        const struct request_in_flight *pending = &engine->request.requests[i];
        if (!pending->used || pending->cluster != cluster)
            continue;
        struct response response = {
            .reason = REASON_UNKNOWN_OUTCOME, .message = strdup("the worker left"), .retry_after_ns = -1};
        struct engine_event event = {
            .type = EVENT_ANSWER,
            .now = engine->now,
            .cluster = cluster,
            .answer = {.command = ((uint64_t)pending->generation << 32) | (i + 1), .response = &response}};
        answer_handle(engine, &event);
        response_clear(&response);
    }
}
