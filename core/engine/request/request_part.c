// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine.h"
#include "core/engine/part.h"
#include "core/engine/request/answer.h"
#include "core/engine/request/answer_parts.h"
#include "core/engine/request/command.h"
#include "core/engine/request/pacing.h"

#include <stdlib.h>

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    pacing_begin_engine(engine, options->window_max);
    return NULL;
}

static void end(struct engine *engine) {
    for (size_t i = 0; i < engine->request.n_requests; i++)
        free(engine->request.requests[i].record);
    free(engine->request.requests);
}

static void on_answer(struct engine *engine, struct engine_event *event) {
    answer_handle(engine, event);
}

static void answered(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                     struct response *response) {
    if (request->type == REQUEST_READ)
        answer_of_read(engine, entry, request, response);
    else if (request->type == REQUEST_PLACE || request->type == REQUEST_STATUS || request->type == REQUEST_OWNER)
        answer_of_workload(engine, entry, request, response);
    else
        answer_of_mirror(engine, entry, request, response);
}

const struct part part_request = {.name = "requests",
                                  .begin = begin,
                                  .end = end,
                                  .events = PART_EVENT(EVENT_ANSWER),
                                  .event = on_answer,
                                  .requests = ~(PART_REQUEST(REQUEST_WRITER) | PART_REQUEST(REQUEST_ACTIVE)),
                                  .answered = answered,
                                  .turn = pacing_next,
                                  .step_ends = pacing_step_ends,
                                  .due_ns = pacing_due_ns,
                                  .count = pacing_count};

size_t engine_pending(const struct engine *engine) {
    return engine->request.in_flight + pacing_waiting(engine);
}
