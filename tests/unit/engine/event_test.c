// SPDX-License-Identifier: Apache-2.0
// engine_event_own: the copy of an event lasts when what the event was made of does not.
#include "core/base/text.h"
#include "core/engine/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// What a poster has for the time of its call only.
struct poster {
    char version[8], problem[8], uid[8];
};

static void fill(struct poster *poster) {
    text_copy(poster->version, sizeof poster->version, "v1beta1");
    text_copy(poster->problem, sizeof poster->problem, "refused");
    text_copy(poster->uid, sizeof poster->uid, "k-1");
}

static struct engine_event own(struct engine_event *event, struct poster *poster) {
    struct engine_event copy;
    assert_null(engine_event_own(event, &copy));
    memset(poster, '?', sizeof *poster);
    assert_int_equal(copy.type, event->type);
    assert_int_equal(copy.cluster, event->cluster);
    assert_int_equal(copy.kind, event->kind);
    assert_int_equal(copy.received_ns, event->received_ns);
    return copy;
}

static void the_version_of_a_list_is_copied(void **state) {
    (void)state;
    static const enum event_type types[] = {EVENT_LISTING, EVENT_LISTED};
    for (size_t i = 0; i < 2; i++) {
        struct poster poster;
        fill(&poster);
        struct engine_event event = {.type = types[i], .cluster = 2, .kind = 3, .version = poster.version};
        struct engine_event copy = own(&event, &poster);
        assert_string_equal(copy.version, "v1beta1");
        engine_event_clear(&copy);
    }
}

static void the_strings_of_a_cluster_are_copied(void **state) {
    (void)state;
    struct poster poster;
    fill(&poster);
    struct engine_event event = {.type = EVENT_IDENTITY, .identity = {poster.uid, poster.version, poster.problem}};
    struct engine_event copy = own(&event, &poster);
    assert_string_equal(copy.identity.uid, "k-1");
    assert_string_equal(copy.identity.version, "v1beta1");
    assert_string_equal(copy.identity.problem, "refused");
    engine_event_clear(&copy);
    fill(&poster);
    event = (struct engine_event){.type = EVENT_CONTACT, .contact = {CONTACT_LOST, false, 7, poster.problem}};
    copy = own(&event, &poster);
    assert_string_equal(copy.contact.problem, "refused");
    assert_int_equal(copy.contact.state, CONTACT_LOST);
    assert_int_equal(copy.contact.heard_ns, 7);
    engine_event_clear(&copy);
}

static void why_a_watch_is_lost_is_copied(void **state) {
    (void)state;
    struct poster poster;
    fill(&poster);
    struct engine_event event = {.type = EVENT_STATE, .kind = 1, .watch = {REFLECTOR_LOST, poster.problem}};
    struct engine_event copy = own(&event, &poster);
    assert_string_equal(copy.watch.problem, "refused");
    assert_int_equal(copy.watch.state, REFLECTOR_LOST);
    engine_event_clear(&copy);
    fill(&poster);
    event = (struct engine_event){.type = EVENT_RESTORED, .cluster = 1, .problem = poster.problem};
    copy = own(&event, &poster);
    assert_string_equal(copy.problem, "refused");
    engine_event_clear(&copy);
}

static void what_is_absent_stays_absent(void **state) {
    (void)state;
    struct poster poster = {0};
    struct engine_event event = {.type = EVENT_STATE, .watch = {.state = REFLECTOR_CONNECTED}};
    struct engine_event copy = own(&event, &poster);
    assert_null(copy.watch.problem);
    engine_event_clear(&copy);
    event = (struct engine_event){.type = EVENT_TIME};
    copy = own(&event, &poster);
    engine_event_clear(&copy);
}

static void an_object_is_moved(void **state) {
    (void)state;
    static const enum event_type types[] = {EVENT_SEEN, EVENT_GONE};
    static const char text[] = "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}";
    for (size_t i = 0; i < 2; i++) {
        struct poster poster = {0};
        struct object *object = NULL;
        assert_null(object_parse(text, strlen(text), NULL, NULL, &object));
        struct engine_event event = {.type = types[i], .received_ns = 5, .object = object};
        struct engine_event copy = own(&event, &poster);
        assert_null(event.object);
        assert_ptr_equal(copy.object, object);
        engine_event_clear(&copy);
    }
}

static void the_content_of_an_answer_is_moved(void **state) {
    (void)state;
    struct poster poster = {0};
    struct response response = {.reason = REASON_CONFLICT, .code = 409, .message = strdup("no"), .retry_after_ns = 3};
    const char *message = response.message;
    struct engine_event event = {.type = EVENT_ANSWER, .answer = {9, &response}};
    struct engine_event copy = own(&event, &poster);
    assert_null(response.message);
    response_clear(&response); // as whoever posted it does
    assert_int_equal(copy.answer.command, 9);
    assert_ptr_equal(copy.answer.response->message, message);
    assert_int_equal(copy.answer.response->reason, REASON_CONFLICT);
    assert_int_equal(copy.answer.response->retry_after_ns, 3);
    engine_event_clear(&copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_of_a_list_is_copied),
        cmocka_unit_test(the_strings_of_a_cluster_are_copied),
        cmocka_unit_test(why_a_watch_is_lost_is_copied),
        cmocka_unit_test(what_is_absent_stays_absent),
        cmocka_unit_test(an_object_is_moved),
        cmocka_unit_test(the_content_of_an_answer_is_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
