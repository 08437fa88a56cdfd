// SPDX-License-Identifier: Apache-2.0
// engine_event_own without memory: nothing is moved, so that it can be tried again.
#include "core/engine/event.h"
#include "tests/unit/fault/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct error *own(struct engine_event *event, void **out) {
    static struct engine_event copy;
    struct error *error = engine_event_own(event, &copy);
    *out = &copy;
    return error;
}

static struct error *own_identity(void **out) {
    return own(&(struct engine_event){.type = EVENT_IDENTITY, .identity = {"k-1", "7", "why"}}, out);
}

static bool is_identity(const void *out) {
    const struct engine_event *event = out;
    return strcmp(event->identity.uid, "k-1") == 0 && strcmp(event->identity.version, "7") == 0 &&
           strcmp(event->identity.problem, "why") == 0;
}

static struct error *own_answer(void **out) {
    fault_pause();
    char *message = strdup("no");
    fault_resume();
    struct response response = {.reason = REASON_CONFLICT, .message = message};
    struct error *error = own(&(struct engine_event){.type = EVENT_ANSWER, .answer = {9, &response}}, out);
    assert_true(response.message == (error ? message : NULL));
    fault_pause();
    response_clear(&response);
    fault_resume();
    return error;
}

static bool is_answer(const void *out) {
    const struct engine_event *event = out;
    return event->answer.command == 9 && strcmp(event->answer.response->message, "no") == 0;
}

// Nodes that are moved, beside a string that is copied. What is not moved is freed once, by its owner.
static struct error *own_capacity(void **out) {
    fault_pause();
    struct nodes *nodes = nodes_new(1, NULL, 0, 0);
    fault_resume();
    assert_non_null(nodes);
    struct engine_event event = {.type = EVENT_CAPACITY,
                                 .cluster = 1,
                                 .capacity = {.state = CAPACITY_KNOWN, .problem = "partly", .nodes = nodes}};
    struct error *error = own(&event, out);
    assert_true(event.capacity.nodes == (error ? nodes : NULL));
    fault_pause();
    nodes_free(event.capacity.nodes);
    fault_resume();
    return error;
}

static bool is_capacity(const void *out) {
    const struct engine_event *event = out;
    return strcmp(event->capacity.problem, "partly") == 0 && event->capacity.nodes;
}

static void clear(void *out) {
    engine_event_clear(out);
}

static void an_event_is_copied_whole_or_left_alone(void **state) {
    (void)state;
    static const struct fault_case cases[] = {{"identity", own_identity, is_identity, clear},
                                              {"answer", own_answer, is_answer, clear},
                                              {"capacity", own_capacity, is_capacity, clear}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fault_try(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_event_is_copied_whole_or_left_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
