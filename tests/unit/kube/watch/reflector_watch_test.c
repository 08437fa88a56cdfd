// SPDX-License-Identifier: Apache-2.0
// How a watch ends, and what each way leads to (docs/reflector.md).
#include "tests/unit/kube/reflector_harness.h"

static void an_end_of_a_watch_that_lived_leads_to_the_next_at_once(void **state) {
    (void)state;
    enum { CLEAN, BROKEN, STALLED, BROKEN_STATUS_UNKNOWN };
    for (int how = CLEAN; how <= BROKEN_STATUS_UNKNOWN; how++) {
        struct harness h;
        begin(&h);
        connect(&h);
        assert_true(data(&h, EVENT("MODIFIED", ITEM("a", "u1", "6"))));
        struct http_result result = {.outcome = how == CLEAN ? HTTP_ANSWERED : HTTP_BROKEN,
                                     .status = how == BROKEN_STATUS_UNKNOWN ? 0 : 200,
                                     .problem = how == CLEAN ? NULL : "reset",
                                     .stalled = how == STALLED};
        fake_finish(&h.fake, h.fake.count, result);
        tick(&h);
        assert_true(is_watch_at(&h, "6"));
        open_stream(&h);
        expect(&h, "seen a@6;");
        end(&h);
    }
}

static void the_watches_after_the_first_one_and_the_pages_of_lists_are_counted(void **state) {
    (void)state;
    struct meter meter = {0};
    struct meter_reading reading;
    struct harness h;
    begin_with(&h, (struct reflector_options){.meter = &meter});
    connect(&h);
    meter_read(&meter, &reading);
    assert_int_equal(reading.restarts, 0);
    assert_int_equal(reading.n_series, 1);
    assert_int_equal(reading.series[0].verb, METER_LIST);
    assert_int_equal(reading.series[0].code, 200);
    assert_true(data(&h, EVENT("MODIFIED", ITEM("a", "u1", "6"))));
    fake_finish(&h.fake, h.fake.count, (struct http_result){.outcome = HTTP_ANSWERED, .status = 200});
    tick(&h);
    meter_read(&meter, &reading);
    assert_int_equal(reading.restarts, 1);
    assert_int_equal(reading.n_series, 1);
    end(&h);
}

static void a_silent_watch_is_opened_again_at_its_version(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    assert_int_equal(fake_last(&h.fake)->request.stall_ns, 180 * CLOCK_SECOND);
    pass(&h, 180 * CLOCK_SECOND);
    fake_finish(&h.fake, h.fake.count,
                (struct http_result){.outcome = HTTP_BROKEN, .status = 200, .problem = "silent", .stalled = true});
    tick(&h);
    assert_true(is_watch_at(&h, "5"));
    expect(&h, "");
    end(&h);
}

static void a_watch_that_ends_at_once_without_an_event_leads_to_a_list_after_a_wait(void **state) {
    (void)state;
    for (int clean = 0; clean < 2; clean++) {
        struct harness h;
        begin(&h);
        connect(&h);
        end_stream(&h);
        open_stream(&h);
        pass(&h, 900 * CLOCK_MS);
        if (clean)
            end_stream(&h);
        else
            break_off(&h, 200);
        expect(&h, "LOST;");
        assert_non_null(strstr(h.problem, "cannot watch jobs.batch: the watch ended immediately without an event ("));
        wait_it_out(&h, FIRST_BACKOFF);
        assert_true(is_list(&h));
        end(&h);
    }
}

// An answer to the watch request, where a list is asked for again afterwards.
struct failure {
    int status; // 0: refused; -1: broken before an answer
    const char *body;
    bool as_event, at_once, relist;
};

static void inflict(struct harness *h, const struct failure *failure) {
    if (failure->as_event)
        assert_false(data(h, failure->body));
    else if (failure->status == 0)
        refuse(h);
    else if (failure->status < 0)
        break_off(h, 0);
    else
        answer(h, failure->status, failure->body);
}

static const struct failure failures[] = {
    {.status = 0},
    {.status = -1},
    {.status = 429, .body = STATUS(429, "TooManyRequests")},
    {.status = 429, .body = "too many"},
    {.status = 410, .body = STATUS(410, "Expired"), .at_once = true, .relist = true},
    {.status = 410, .body = "", .at_once = true, .relist = true},
    {.status = 504, .body = TOO_LARGE, .at_once = true, .relist = true},
    {.status = 504, .body = "", .relist = true},
    {.status = 500, .body = STATUS(500, "InternalError"), .relist = true},
    {.status = 503, .body = "", .relist = true},
    {.status = 403, .body = STATUS(403, "Forbidden"), .relist = true},
    {.status = 404, .body = "404 page not found", .relist = true},
    {.status = 401, .body = "", .relist = true},
    {.status = 302, .body = "", .relist = true},
    {.status = 204, .body = "", .relist = true},
    {.as_event = true, .body = ERROR_EVENT(410, "Expired"), .at_once = true, .relist = true},
    {.as_event = true, .body = ERROR_EVENT(410, "Gone"), .at_once = true, .relist = true},
    {.as_event = true, .body = ERROR_EVENT(410, ""), .at_once = true, .relist = true},
    {.as_event = true, .body = EVENT("ERROR", TOO_LARGE), .at_once = true, .relist = true},
    {.as_event = true, .body = ERROR_EVENT(429, "TooManyRequests")},
    {.as_event = true, .body = ERROR_EVENT(500, "InternalError"), .relist = true},
    {.as_event = true, .body = ERROR_EVENT(504, "Timeout"), .relist = true},
    {.as_event = true, .body = EVENT("ERROR", "null"), .relist = true},
    {.as_event = true, .body = "<html>", .relist = true},
    {.as_event = true, .body = "{]", .relist = true},
    {.as_event = true, .body = "{\"type\":\"ADDED\"}", .relist = true},
    {.as_event = true, .body = "{\"type\":7,\"object\":{}}", .relist = true},
    {.as_event = true, .body = EVENT("NOVELTY", "{}"), .relist = true},
    {.as_event = true, .body = EVENT("BOOKMARK", "{\"metadata\":{}}"), .relist = true},
    {.as_event = true, .body = "[1]", .relist = true},
    {.as_event = true, .body = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":01}}}", .relist = true},
};

static void check_failure(const struct failure *failure, bool resumed) {
    struct harness h;
    begin(&h);
    connect(&h);
    if (resumed) {
        end_stream(&h);
        assert_true(is_watch_at(&h, "5"));
    } else if (!failure->as_event) {
        end(&h);
        return; // an open stream cannot be refused
    }
    inflict(&h, failure);
    if (failure->at_once) {
        expect(&h, "");
    } else {
        expect(&h, "LOST;");
        wait_it_out(&h, FIRST_BACKOFF);
    }
    assert_true(failure->relist ? is_list(&h) : is_watch_at(&h, "5"));
    end(&h);
}

static void each_failure_leads_to_what_the_table_says(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        check_failure(&failures[i], true);
        check_failure(&failures[i], false);
    }
}

static void a_version_that_is_too_old_again_right_after_a_list_leads_to_a_wait(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    assert_false(data(&h, ERROR_EVENT(410, "Expired")));
    answer(&h, 200, LIST("50", "", ""));
    assert_true(is_watch_at(&h, "50"));
    expect(&h, "listing;listed v1;");
    assert_false(data(&h, ERROR_EVENT(410, "Expired")));
    expect(&h, "LOST;");
    wait_it_out(&h, FIRST_BACKOFF);
    answer(&h, 200, LIST("60", "", ""));
    open_stream(&h);
    expect(&h, "listing;listed v1;CONNECTED;");
    assert_true(data(&h, BOOKMARK("61")));
    // A good watch was between: at once again.
    assert_false(data(&h, ERROR_EVENT(410, "Expired")));
    assert_true(is_list(&h));
    expect(&h, "");
    end(&h);
}

static void after_lost_it_is_connected_when_the_watch_has_proved_to_go_on(void **state) {
    (void)state;
    enum { EVENT_COMES, SILENCE, TOO_OLD };
    for (int how = EVENT_COMES; how <= TOO_OLD; how++) {
        struct harness h;
        begin(&h);
        connect(&h);
        break_off(&h, 200);
        refuse(&h);
        expect(&h, "LOST;");
        assert_string_equal(h.problem, "cannot watch jobs.batch: connection refused");
        wait_it_out(&h, FIRST_BACKOFF);
        refuse(&h);
        wait_it_out(&h, 1600 * CLOCK_MS, 3200 * CLOCK_MS);
        assert_true(is_watch_at(&h, "5"));
        open_stream(&h);
        expect(&h, "");
        if (how == EVENT_COMES) {
            assert_true(data(&h, BOOKMARK("6")));
            expect(&h, "CONNECTED;");
        } else if (how == SILENCE) {
            assert_int_equal(h.next_ns, h.now_ns + CLOCK_SECOND);
            pass(&h, CLOCK_SECOND);
            expect(&h, "CONNECTED;");
            assert_int_equal(h.next_ns, CLOCK_NEVER);
        } else {
            assert_false(data(&h, ERROR_EVENT(410, "Expired")));
            assert_true(is_list(&h));
            answer(&h, 200, LIST("9", "", ""));
            open_stream(&h);
            expect(&h, "listing;listed v1;CONNECTED;");
        }
        end(&h);
    }
}

static void a_wait_that_the_server_asks_for_is_kept_and_the_watch_resumed(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    end_stream(&h);
    h.fake.retry_after_ns = 100 * CLOCK_SECOND;
    for (int i = 0; i < 10; i++) {
        answer(&h, 503, "shutting down");
        wait_it_out(&h, 100 * CLOCK_SECOND, 100 * CLOCK_SECOND);
        assert_true(is_watch_at(&h, "5"));
    }
    answer(&h, 503, "shutting down");
    wait_it_out(&h, 100 * CLOCK_SECOND, 100 * CLOCK_SECOND);
    assert_true(is_list(&h));
    expect(&h, "LOST;");
    end(&h);
}

static void the_wait_doubles_to_half_a_minute_and_is_short_again_after_quiet(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    end_stream(&h);
    int64_t least_ns = 800 * CLOCK_MS;
    for (int i = 0; i < 12; i++) {
        answer(&h, 429, "slow down");
        wait_it_out(&h, least_ns, 2 * least_ns);
        least_ns = least_ns * 2 < 30 * CLOCK_SECOND ? least_ns * 2 : 30 * CLOCK_SECOND;
    }
    open_stream(&h);
    pass(&h, 60 * CLOCK_SECOND);
    end_stream(&h);
    answer(&h, 429, "slow down");
    wait_it_out(&h, 30 * CLOCK_SECOND, 60 * CLOCK_SECOND);
    open_stream(&h);
    pass(&h, 121 * CLOCK_SECOND);
    end_stream(&h);
    answer(&h, 429, "slow down");
    wait_it_out(&h, FIRST_BACKOFF);
    end(&h);
}

static void a_server_that_is_not_heard_is_tried_after_1_2_4_to_15_seconds(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    end_stream(&h);
    int64_t least_ns = CLOCK_SECOND;
    for (int i = 0; i < 12; i++) {
        if (i % 2)
            refuse(&h);
        else
            break_off(&h, 0);
        wait_it_out(&h, least_ns, least_ns + least_ns / 8);
        least_ns = least_ns * 2 < 15 * CLOCK_SECOND ? least_ns * 2 : 15 * CLOCK_SECOND;
    }
    end(&h);
}

static void a_server_that_is_heard_elsewhere_is_tried_at_once(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    end_stream(&h);
    for (int i = 0; i < 6; i++) {
        refuse(&h);
        wait_it_out(&h, CLOCK_SECOND, 17 * CLOCK_SECOND);
    }
    refuse(&h);
    assert_true(is_waiting(&h));
    reflector_hurry(h.reflector);
    tick(&h);
    assert_false(is_waiting(&h));
    answer(&h, 429, "slow down"); // it was heard: that it answers elsewhere is no news
    assert_true(is_waiting(&h));
    reflector_hurry(h.reflector);
    tick(&h);
    assert_true(is_waiting(&h));
    end(&h);
}

static void watches_that_end_within_a_second_one_after_another_are_no_hot_loop(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    end_stream(&h);
    for (int i = 0; i < 2; i++) {
        assert_true(data(&h, BOOKMARK("6")));
        end_stream(&h);
        assert_true(is_watch_at(&h, "6"));
    }
    assert_true(data(&h, BOOKMARK("7")));
    end_stream(&h);
    expect(&h, "LOST;");
    wait_it_out(&h, FIRST_BACKOFF);
    assert_true(is_watch_at(&h, "7"));
    end(&h);
}

static void after_a_401_credentials_are_read_again_once_a_round(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    h.fake.can_refresh = true;
    answer(&h, 401, "");
    assert_true(is_discovery(&h));
    answer(&h, 200, DISCOVERY);
    answer(&h, 401, "");
    assert_true(is_list(&h));
    expect(&h, "");
    answer(&h, 401, "");
    expect(&h, "LOST;");
    wait_it_out(&h, FIRST_BACKOFF);
    answer(&h, 401, "");
    assert_int_equal(h.fake.refreshes, 3);
    assert_true(is_list(&h));
    answer(&h, 200, LIST("5", "", ""));
    answer(&h, 401, "");
    assert_true(is_watch_at(&h, "5"));
    end(&h);
}

// `len` bytes in chunks of a megabyte; false when the reflector had enough.
static bool flood(struct harness *h, size_t len) {
    static char megabyte[1 << 20];
    memset(megabyte, 'x', sizeof(megabyte));
    for (size_t done = 0; done < len; done += sizeof(megabyte))
        if (!fake_data(&h->fake, h->fake.count, megabyte, sizeof(megabyte)))
            return false;
    return true;
}

static void an_event_beyond_its_share_of_the_memory_is_not_read_to_its_end(void **state) {
    (void)state;
    struct harness h;
    struct budget budget;
    budget_init(&budget, 0, 0, 0, NULL);
    begin_with(&h, (struct reflector_options){.budget = &budget});
    connect(&h);
    assert_true(data(&h, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"big\",\"uid\":\"u\","
                         "\"resourceVersion\":\"6\",\"annotations\":{\"x\":\""));
    assert_true(flood(&h, (size_t)7 << 20));
    assert_in_range(budget.buffered, 7 << 20, 8 << 20);
    assert_true(data(&h, "\"}}}}"));
    assert_int_equal(budget.buffered, 0);
    expect(&h, "stub big@6;");
    assert_true(data(&h, "{\"type\":\""));
    assert_false(flood(&h, (size_t)100 << 20));
    tick(&h);
    expect(&h, "LOST;");
    assert_non_null(strstr(h.problem, "an event larger than 8388608 bytes, the maximum of the memory budget"));
    assert_int_equal(budget.buffered, 0);
    wait_it_out(&h, FIRST_BACKOFF);
    assert_true(is_list(&h));
    end(&h);
}

static void unfinished_events_of_all_kinds_share_one_budget(void **state) {
    (void)state;
    struct harness h, other;
    struct budget budget;
    budget_init(&budget, 0, 0, 0, NULL);
    begin_with(&h, (struct reflector_options){.budget = &budget});
    connect(&h);
    begin_with(&other, (struct reflector_options){.budget = &budget});
    connect(&other);
    assert_true(budget_take(&budget, budget.max_buffered - ((size_t)3 << 20)));
    assert_true(data(&h, "{\"type\":\""));
    assert_true(data(&other, "{\"type\":\""));
    assert_true(flood(&h, (size_t)2 << 20));
    assert_false(flood(&other, (size_t)2 << 20));
    tick(&other);
    expect(&other, "LOST;");
    assert_non_null(strstr(other.problem, "exceeds the memory budget of the cluster"));
    end(&h);
    end(&other);
    assert_int_equal(budget.buffered, budget.max_buffered - ((size_t)3 << 20));
}

static void what_is_told_of_an_object_that_is_too_large(void **state) {
    (void)state;
    struct harness h;
    struct budget budget;
    budget_init(&budget, 0, 0, 10, NULL);
    begin_with(&h, (struct reflector_options){.budget = &budget});
    connect(&h);
    assert_true(data(&h, EVENT("MODIFIED", "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u1\","
                                           "\"resourceVersion\":\"6\"},\"x\":[1,2,3,4,5,6,7]}")));
    assert_true(data(&h, EVENT("DELETED", "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u1\","
                                          "\"resourceVersion\":\"7\"},\"x\":[1,2,3,4,5,6,7]}")));
    expect(&h, "stub a@6;gone-stub a@7;");
    end_stream(&h);
    assert_true(is_watch_at(&h, "7"));
    end(&h);
}

static void a_version_too_long_to_be_one_leads_to_a_list(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    AUTO_TEXT event =
        text_format("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%0300d\"}}}", 1);
    assert_false(data(&h, event));
    expect(&h, "LOST;");
    wait_it_out(&h, FIRST_BACKOFF);
    assert_true(is_list(&h));
    end(&h);
}

static void many_events_in_one_chunk_and_one_after_the_end_are_handled_in_order(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    assert_false(data(&h, EVENT("ADDED", ITEM("b", "u2", "6")) ERROR_EVENT(500, "InternalError")
                              EVENT("ADDED", ITEM("c", "u3", "7"))));
    expect(&h, "seen b@6;LOST;");
    end(&h);
}

static void from_now_on_a_list_only_gives_the_version(void **state) {
    (void)state;
    struct harness h;
    begin_with(&h, (struct reflector_options){
                       .from_now = true, .watch_list = true, .field_selector = "involvedObject.kind=Pod,type=Warning"});
    answer(&h, 200, DISCOVERY);
    const char *selected = "/apis/batch/v1/jobs?fieldSelector=involvedObject.kind%3DPod%2Ctype%3DWarning&";
    assert_memory_equal(path(&h), selected, strlen(selected));
    assert_non_null(strstr(path(&h), "&limit=1"));
    answer(&h, 200, LIST("5", "more", ITEM("old", "u1", "3")));
    assert_memory_equal(path(&h), selected, strlen(selected));
    assert_non_null(strstr(path(&h), "watch=true"));
    assert_non_null(strstr(path(&h), "resourceVersion=5"));
    open_stream(&h);
    expect(&h, "listing;listed v1;CONNECTED;");
    assert_true(data(&h, EVENT("ADDED", ITEM("new", "u2", "6"))));
    expect(&h, "seen new@6;");
    end(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_now_on_a_list_only_gives_the_version),
        cmocka_unit_test(an_end_of_a_watch_that_lived_leads_to_the_next_at_once),
        cmocka_unit_test(the_watches_after_the_first_one_and_the_pages_of_lists_are_counted),
        cmocka_unit_test(a_silent_watch_is_opened_again_at_its_version),
        cmocka_unit_test(a_watch_that_ends_at_once_without_an_event_leads_to_a_list_after_a_wait),
        cmocka_unit_test(each_failure_leads_to_what_the_table_says),
        cmocka_unit_test(a_version_that_is_too_old_again_right_after_a_list_leads_to_a_wait),
        cmocka_unit_test(after_lost_it_is_connected_when_the_watch_has_proved_to_go_on),
        cmocka_unit_test(a_wait_that_the_server_asks_for_is_kept_and_the_watch_resumed),
        cmocka_unit_test(a_server_that_is_not_heard_is_tried_after_1_2_4_to_15_seconds),
        cmocka_unit_test(a_server_that_is_heard_elsewhere_is_tried_at_once),
        cmocka_unit_test(the_wait_doubles_to_half_a_minute_and_is_short_again_after_quiet),
        cmocka_unit_test(watches_that_end_within_a_second_one_after_another_are_no_hot_loop),
        cmocka_unit_test(after_a_401_credentials_are_read_again_once_a_round),
        cmocka_unit_test(an_event_beyond_its_share_of_the_memory_is_not_read_to_its_end),
        cmocka_unit_test(unfinished_events_of_all_kinds_share_one_budget),
        cmocka_unit_test(what_is_told_of_an_object_that_is_too_large),
        cmocka_unit_test(a_version_too_long_to_be_one_leads_to_a_list),
        cmocka_unit_test(many_events_in_one_chunk_and_one_after_the_end_are_handled_in_order),
    };
    log_setup(LOG_TEXT, LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
