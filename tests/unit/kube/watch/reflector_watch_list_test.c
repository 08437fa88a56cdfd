// SPDX-License-Identifier: Apache-2.0
// Streaming lists (sendInitialEvents), and when the reflector falls back to a list in pages.
#include "tests/unit/kube/reflector_harness.h"

static bool is_streaming(struct harness *h, const char *version) {
    AUTO_TEXT tail = version ? text_format("&resourceVersion=%s", version) : text_format("%s", "");
    const char *asked = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    const char *found = strstr(path(h), asked);
    return strstr(path(h), "?watch=true&allowWatchBookmarks=true&") && found &&
           strcmp(found + strlen(asked), tail) == 0;
}

static void begin_streaming(struct harness *h) {
    begin_with(h, (struct reflector_options){.watch_list = true});
    answer(h, 200, DISCOVERY);
    assert_true(is_streaming(h, NULL));
}

static void connect_streaming(struct harness *h) {
    begin_streaming(h);
    open_stream(h);
    assert_true(data(h, EVENT("ADDED", ITEM("a", "u1", "9")) EVENT("ADDED", ITEM("b", "u2", "3"))));
    expect(h, "listing;seen a@9;seen b@3;");
    assert_true(data(h, INITIAL_END("10")));
    expect(h, "listed v1;CONNECTED;");
    pass(h, 5 * CLOCK_SECOND);
}

static void the_stream_goes_on_as_a_watch_behind_its_list(void **state) {
    (void)state;
    struct harness h;
    connect_streaming(&h);
    assert_int_equal(h.next_ns, CLOCK_NEVER);
    end_stream(&h);
    assert_true(is_watch_at(&h, "10"));
    open_stream(&h);
    assert_true(data(&h, EVENT("DELETED", ITEM("b", "u2", "11"))));
    expect(&h, "gone b@11;");
    end(&h);
}

static void an_empty_list_is_complete_too(void **state) {
    (void)state;
    struct harness h;
    begin_streaming(&h);
    assert_true(data(&h, INITIAL_END("10") EVENT("ADDED", ITEM("a", "u1", "11"))));
    expect(&h, "listing;listed v1;seen a@11;CONNECTED;");
    end_stream(&h);
    assert_true(is_watch_at(&h, "11"));
    end(&h);
}

static void a_change_during_the_list_is_told_as_one(void **state) {
    (void)state;
    struct harness h;
    begin_streaming(&h);
    assert_true(data(&h, EVENT("ADDED", ITEM("a", "u1", "1")) EVENT("MODIFIED", ITEM("a", "u1", "2"))));
    assert_true(data(&h, EVENT("DELETED", ITEM("a", "u1", "3")) INITIAL_END("3")));
    expect(&h, "listing;seen a@1;seen a@2;gone a@3;listed v1;CONNECTED;");
    end(&h);
}

static void after_a_410_the_next_list_streams_from_the_last_version_and_then_from_none(void **state) {
    (void)state;
    struct harness h;
    connect_streaming(&h);
    assert_false(data(&h, ERROR_EVENT(410, "Expired")));
    assert_true(is_streaming(&h, "10"));
    answer(&h, 410, STATUS(410, "Expired"));
    assert_true(is_streaming(&h, NULL));
    expect(&h, "");
    assert_true(data(&h, EVENT("ADDED", ITEM("a", "u1", "9")) INITIAL_END("20")));
    expect(&h, "listing;seen a@9;listed v1;");
    end(&h);
}

static void a_list_that_ends_early_is_begun_again_and_then_paged(void **state) {
    (void)state;
    struct harness h;
    begin_streaming(&h);
    assert_true(data(&h, EVENT("ADDED", ITEM("a", "u1", "9"))));
    pass(&h, 5 * CLOCK_SECOND);
    break_off(&h, 200);
    assert_true(is_streaming(&h, NULL));
    assert_true(data(&h, EVENT("ADDED", ITEM("a", "u1", "9"))));
    end_stream(&h);
    assert_true(is_list(&h));
    answer(&h, 200, LIST("12", "", ITEM("a", "u1", "9")));
    expect(&h, "listing;seen a@9;listing;seen a@9;listing;seen a@9;listed v1;");
    end(&h);
}

static void what_is_no_streaming_list_is_paged_in_this_round(void **state) {
    (void)state;
    static const struct {
        int status; // 0: on the stream
        const char *body;
    } cases[] = {
        {422, STATUS(422, "Invalid")},
        {400, STATUS(400, "BadRequest")},
        {500, STATUS(500, "InternalError")},
        {0, ERROR_EVENT(500, "InternalError")},
        {0, ERROR_EVENT(422, "Invalid")},
        {0, "<html>"},
        // A server that ignores the parameter sends what there is and then its usual bookmarks.
        {0, EVENT("ADDED", ITEM("a", "u1", "9")) BOOKMARK("10")},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct harness h;
        begin_streaming(&h);
        if (cases[i].status != 0)
            answer(&h, cases[i].status, cases[i].body);
        else
            assert_false(data(&h, cases[i].body));
        assert_true(is_list(&h));
        buffer_free(&h.told);
        answer(&h, 200, LIST("12", "", ITEM("a", "u1", "9")));
        open_stream(&h);
        expect(&h, "listing;seen a@9;listed v1;CONNECTED;");
        pass(&h, 5 * CLOCK_SECOND);
        // The next round tries again.
        assert_false(data(&h, ERROR_EVENT(410, "Gone")));
        assert_true(is_streaming(&h, "12"));
        end(&h);
    }
}

// Whether it has streaming lists is not known then, and pages would be refused too.
static void a_streaming_list_that_is_refused_is_tried_again_soon(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *body;
        int64_t most_s;
    } cases[] = {{401, STATUS(401, "Unauthorized"), 60}, {403, STATUS(403, "Forbidden"), 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct harness h;
        begin_streaming(&h);
        for (int tries = 0; tries < 8; tries++) {
            answer(&h, cases[i].status, cases[i].body);
            assert_non_null(strstr(h.problem, "cannot list jobs.batch: "));
            assert_in_range(h.next_ns - h.now_ns, 1, cases[i].most_s * CLOCK_SECOND);
            pass(&h, h.next_ns - h.now_ns);
            assert_true(is_streaming(&h, NULL));
        }
        expect(&h, "LOST;");
        end(&h);
    }
}

static void trouble_with_the_connection_or_load_is_waited_out(void **state) {
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct harness h;
        begin_streaming(&h);
        if (how == 0)
            refuse(&h);
        else if (how == 1)
            answer(&h, 429, "");
        else if (how == 2)
            break_off(&h, 0);
        else
            assert_false(data(&h, ERROR_EVENT(429, "TooManyRequests")));
        expect(&h, "LOST;");
        wait_it_out(&h, FIRST_BACKOFF);
        assert_true(is_streaming(&h, NULL));
        end(&h);
    }
}

static void a_minute_without_data_and_without_the_end_leads_to_pages(void **state) {
    (void)state;
    struct harness h;
    begin_streaming(&h);
    open_stream(&h);
    pass(&h, 59 * CLOCK_SECOND);
    assert_true(data(&h, EVENT("ADDED", ITEM("a", "u1", "9"))));
    pass(&h, 59 * CLOCK_SECOND);
    assert_true(is_streaming(&h, NULL));
    assert_int_equal(h.next_ns, h.now_ns + CLOCK_SECOND);
    pass(&h, CLOCK_SECOND);
    assert_int_equal(h.fake.cancelled, 1);
    assert_true(is_list(&h));
    answer(&h, 200, LIST("12", "", ""));
    expect(&h, "listing;seen a@9;listing;listed v1;");
    end(&h);
}

static const char *accept_of(struct harness *h) {
    return fake_last(&h->fake)->request.accept;
}

static void of_metadata_the_form_is_that_of_a_list_or_of_an_object(void **state) {
    (void)state;
    struct harness h;
    begin_with(&h, (struct reflector_options){.metadata = true});
    assert_string_equal(accept_of(&h), "application/json");
    answer(&h, 200, DISCOVERY);
    assert_string_equal(accept_of(&h),
                        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
    answer(&h, 200,
           "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
           "\"resourceVersion\":\"5\"},\"items\":[" ITEM("a", "u1", "4") "]}");
    assert_string_equal(accept_of(&h), "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
    open_stream(&h);
    assert_true(data(&h, EVENT("MODIFIED", ITEM("a", "u1", "6"))));
    expect(&h, "listing;seen a@4;listed v1;CONNECTED;seen a@6;");
    end(&h);
}

static void a_server_that_rejects_the_form_of_metadata_sends_whole_objects(void **state) {
    (void)state;
    for (int streaming = 0; streaming < 2; streaming++) {
        struct harness h;
        begin_with(&h, (struct reflector_options){.metadata = true, .watch_list = streaming});
        answer(&h, 200, DISCOVERY);
        AUTO_TEXT rejected = text_format("%s", path(&h));
        answer(&h, 406, STATUS(406, "NotAcceptable"));
        assert_string_equal(accept_of(&h), "application/json"); // at once
        assert_int_equal(strncmp(path(&h), rejected, strcspn(rejected, "?")), 0);
        expect(&h, "");
        answer(&h, 406, STATUS(406, "NotAcceptable")); // neither: as any other rejection
        if (streaming)
            assert_true(is_list(&h));
        else
            expect(&h, "LOST;");
        end(&h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stream_goes_on_as_a_watch_behind_its_list),
        cmocka_unit_test(an_empty_list_is_complete_too),
        cmocka_unit_test(a_change_during_the_list_is_told_as_one),
        cmocka_unit_test(after_a_410_the_next_list_streams_from_the_last_version_and_then_from_none),
        cmocka_unit_test(a_list_that_ends_early_is_begun_again_and_then_paged),
        cmocka_unit_test(what_is_no_streaming_list_is_paged_in_this_round),
        cmocka_unit_test(a_streaming_list_that_is_refused_is_tried_again_soon),
        cmocka_unit_test(trouble_with_the_connection_or_load_is_waited_out),
        cmocka_unit_test(a_minute_without_data_and_without_the_end_leads_to_pages),
        cmocka_unit_test(of_metadata_the_form_is_that_of_a_list_or_of_an_object),
        cmocka_unit_test(a_server_that_rejects_the_form_of_metadata_sends_whole_objects),
    };
    log_setup(LOG_TEXT, LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
