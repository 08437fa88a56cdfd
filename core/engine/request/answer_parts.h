// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the files of answer.h.
#pragma once

#include "core/engine/engine_internal.h"

#define PERMANENT_BASE_NS (5 * CLOCK_SECOND) // a starting API server rejects requests for a moment
#define PERMANENT_MAX_NS (10 * CLOCK_MINUTE)

// Whether the request certainly had no effect (rule 4: else the outcome is unknown).
bool answer_certainly_not_done(enum reason reason);
// Whether the server answered; if not, the request may still take effect later.
bool answer_is_heard(enum reason reason);
int64_t answer_next_try_ns(struct engine *engine, const struct response *response, uint16_t *failures);
struct object *answer_take_object(struct response *response);
// Stores the mirror from an answer. If a webhook stripped the marks, the uid identifies the mirror.
void answer_observe(struct engine *engine, struct entry *entry, struct mirror *mirror, struct response *response);
// Whether the answer is the current object; if not, another write followed.
bool answer_is_newest(struct engine *engine, struct doc *doc, uint64_t version);
void answer_of_mirror(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                      struct response *response);
// After an unanswered create: compares the fields that the worker keeps, once the mirror is seen (dropped.h).
void answer_check_dropped(struct engine *engine, struct entry *entry);
void answer_of_workload(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                        struct response *response);
void answer_of_read(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                    struct response *response);
