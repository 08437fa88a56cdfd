// SPDX-License-Identifier: Apache-2.0
// Lists, and watches that go well or end; discovery is in reflector_discovery_test.c, streaming lists in
// reflector_watch_list_test.c.
#include "tests/unit/kube/reflector_harness.h"

#include <unistd.h>

static void it_discovers_lists_and_watches(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    assert_string_equal(h.kind, "batch/v1 Job");
    assert_true(data(&h, EVENT("ADDED", ITEM("b", "u2", "6")) EVENT("MODIFIED", ITEM("a", "u1", "7"))));
    assert_true(data(&h, EVENT("DELETED", ITEM("b", "u2", "8"))));
    expect(&h, "seen b@6;seen a@7;gone b@8;");
    end_stream(&h);
    assert_true(is_watch_at(&h, "8"));
    end(&h);
}

static bool is_page(struct harness *h, unsigned limit, const char *token) {
    AUTO_TEXT whole =
        text_format("/apis/batch/v1/jobs?limit=%u%s%s", limit, token ? "&continue=" : "", token ? token : "");
    return strcmp(path(h), whole) == 0;
}

static void too_large(struct harness *h) {
    fake_finish(&h->fake, h->fake.count,
                (struct http_result){.outcome = HTTP_BROKEN, .problem = "larger than 7 bytes", .too_large = true});
    tick(h);
}

static void a_page_beyond_the_budget_is_asked_for_in_halves(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    answer(&h, 200, DISCOVERY);
    too_large(&h);
    assert_true(is_page(&h, 250, NULL));
    answer(&h, 200, LIST("5", "more", ITEM("a", "u1", "3")));
    too_large(&h);
    assert_true(is_page(&h, 125, "more"));
    answer(&h, 200, LIST("5", "", ITEM("b", "u2", "4")));
    expect(&h, "listing;seen a@3;seen b@4;listed v1;");
    open_stream(&h);
    assert_false(data(&h, ERROR_EVENT(410, "Gone")));
    expect(&h, "CONNECTED;");
    for (unsigned limit = 125; limit > 1; limit /= 2) {
        assert_true(is_page(&h, limit, NULL));
        too_large(&h);
    }
    assert_true(is_page(&h, 1, NULL));
    too_large(&h);
    expect(&h, "LOST;");
    assert_non_null(strstr(h.problem, "larger than 7 bytes"));
    end(&h);
}

static void a_list_that_does_not_end_is_ended(void **state) {
    (void)state;
    for (int empty = 0; empty < 2; empty++) {
        struct harness h;
        begin(&h);
        answer(&h, 200, DISCOVERY);
        size_t pages = 0;
        while (!is_waiting(&h)) {
            pages++;
            AUTO_TEXT page = text_format(LIST("5", "%zu", "%s"), pages, empty ? "" : ITEM("a", "u1", "3"));
            answer(&h, 200, page);
        }
        assert_int_equal(pages, empty ? 100 : 10000);
        assert_non_null(strstr(h.problem, "endless list: "));
        buffer_free(&h.told);
        wait_it_out(&h, FIRST_BACKOFF);
        assert_true(is_list(&h));
        end(&h);
    }
}

static void one_large_item_of_a_page_is_a_stub_and_a_broken_one_breaks_the_page(void **state) {
    (void)state;
    struct harness h;
    struct budget budget;
    budget_init(&budget, 0, 0, 10, NULL);
    begin_with(&h, (struct reflector_options){.budget = &budget});
    answer(&h, 200, DISCOVERY);
    answer(
        &h, 200,
        LIST("5", "more",
             ITEM("a", "u1", "3") ",{\"metadata\":{\"name\":\"b\",\"uid\":\"u2\","
                                  "\"resourceVersion\":\"4\"},\"x\":[[],[],[],[],[],[],[]]} , " ITEM("c", "u3", "5")));
    expect(&h, "listing;seen a@3;stub b@4;seen c@5;");
    answer(&h, 200, LIST("5", "", ITEM("d", "u4", "3") ",{\"metadata\":{\"name\":\"e\",]}"));
    expect(&h, "seen d@3;LOST;");
    assert_non_null(strstr(h.problem, "invalid item: "));
    static const char *const pages[] = {
        "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[}",
        "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]",
        "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{}{}]}",
        "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[,]}",
        "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}}",
        "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":{}}",
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        wait_it_out(&h, 0, 60 * CLOCK_SECOND);
        answer(&h, 200, pages[i]);
        assert_true(is_waiting(&h));
        assert_null(h.told.data ? strstr(h.told.data, "listed") : NULL);
    }
    end(&h);
}

static void the_watch_asks_for_bookmarks_and_an_end_and_has_limits(void **state) {
    (void)state;
    struct harness h;
    begin_with(&h, (struct reflector_options){.label_selector = "a=b,c in (d)"});
    answer(&h, 200, DISCOVERY);
    assert_string_equal(path(&h), "/apis/batch/v1/jobs?labelSelector=a%3Db%2Cc%20in%20%28d%29&limit=500");
    const struct http_request *list = &fake_last(&h.fake)->request;
    assert_int_equal(list->timeout_ns, 65 * CLOCK_SECOND);
    assert_true(list->max_body == BUDGET_DEFAULT / 4);
    assert_false(list->stream);
    answer(&h, 200, LIST("5", "", ""));
    const struct http_request *watch = &fake_last(&h.fake)->request;
    const char *before =
        "/apis/batch/v1/jobs?labelSelector=a%3Db%2Cc%20in%20%28d%29&watch=true&allowWatchBookmarks=true&"
        "timeoutSeconds=";
    assert_true(text_has_prefix(watch->path, before));
    char *after = NULL;
    unsigned long seconds = strtoul(watch->path + strlen(before), &after, 10);
    assert_string_equal(after, "&resourceVersion=5");
    assert_in_range(seconds, 300, 600);
    assert_int_equal(watch->timeout_ns, (int64_t)(seconds + 30) * CLOCK_SECOND);
    assert_int_equal(watch->stall_ns, 180 * CLOCK_SECOND);
    assert_true(watch->stream);
    end(&h);
}

static void the_core_group_and_cluster_scope_have_their_paths(void **state) {
    (void)state;
    struct harness h;
    begin_with(&h, (struct reflector_options){.group = "", .plural = "pods"});
    assert_string_equal(path(&h), "/api/v1");
    answer(&h, 200,
           "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\",\"verbs\":[\"list\","
           "\"watch\"]}]}");
    assert_string_equal(path(&h), "/api/v1/pods?limit=500");
    answer(&h, 200,
           "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" ITEM("p", "u", "1") "]}");
    assert_string_equal(h.kind, "v1 Pod");
    end(&h);
}

static void one_namespace_and_one_name_have_their_path(void **state) {
    (void)state;
    struct harness h;
    begin_with(&h, (struct reflector_options){.namespace_ = "ours", .field_selector = "metadata.name=a"});
    answer(&h, 200, DISCOVERY);
    assert_string_equal(path(&h), "/apis/batch/v1/namespaces/ours/jobs?fieldSelector=metadata.name%3Da&limit=500");
    answer(&h, 200, LIST("5", "", ""));
    assert_true(
        text_has_prefix(path(&h), "/apis/batch/v1/namespaces/ours/jobs?fieldSelector=metadata.name%3Da&watch=true&"));
    end(&h);
}

static void pages_are_followed_to_the_end_and_the_first_has_the_version(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    answer(&h, 200, DISCOVERY);
    answer(&h, 200, LIST("5", "t/1", ITEM("a", "u1", "1") "," ITEM("b", "u2", "2")));
    assert_string_equal(path(&h), "/apis/batch/v1/jobs?limit=500&continue=t%2F1");
    answer(&h, 200, LIST("6", "t2", ""));
    assert_string_equal(path(&h), "/apis/batch/v1/jobs?limit=500&continue=t2");
    answer(&h, 200, LIST("7", "", ITEM("c", "u3", "3")));
    assert_true(is_watch_at(&h, "5"));
    expect(&h, "listing;seen a@1;seen b@2;seen c@3;listed v1;");
    end(&h);
}

static void items_may_be_null_and_have_their_kind_filled_in(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    answer(&h, 200, DISCOVERY);
    answer(&h, 200, "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":null}");
    expect(&h, "listing;listed v1;");
    end(&h);
}

static void an_expired_token_leads_to_a_list_in_one_piece(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    answer(&h, 200, DISCOVERY);
    answer(&h, 200, LIST("5", "t1", ITEM("a", "u1", "1")));
    answer(&h, 410,
           "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410,\"reason\":\"Expired\",\"metadata\":{\"continue\":"
           "\"inconsistent\"},\"message\":\"m\"}");
    assert_string_equal(path(&h), "/apis/batch/v1/jobs");
    answer(&h, 200, LIST("9", "", ITEM("b", "u2", "2")));
    expect(&h, "listing;seen a@1;listing;seen b@2;listed v1;");
    assert_true(is_watch_at(&h, "9"));
    end(&h);
}

static void a_list_that_fails_is_lost_and_begun_again_with_backoff(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *body;
    } cases[] = {
        {500, STATUS(500, "InternalError")},
        {403, STATUS(403, "Forbidden")},
        {410, STATUS(410, "Expired")},
        {504, TOO_LARGE},
        {302, ""},
        {200, ""},
        {200, "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metad"},
        {200, "{\"kind\":\"JobList\",\"metadata\":{},\"items\":[]}"},
        {200, "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"5\"}}"},
        {200, "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":{}}"},
        {200, "{\"kind\":\"Job\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"},
        {200, "{\"kind\":\"Status\",\"status\":\"Success\"}"},
        {200, "[]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct harness h;
        begin(&h);
        answer(&h, 200, DISCOVERY);
        answer(&h, cases[i].status, cases[i].body);
        expect(&h, "LOST;");
        assert_non_null(strstr(h.problem, "cannot list jobs.batch: "));
        wait_it_out(&h, FIRST_BACKOFF);
        assert_true(is_list(&h));
        answer(&h, 200, LIST("5", "", ""));
        open_stream(&h);
        expect(&h, "listing;listed v1;CONNECTED;");
        end(&h);
    }
}

static void a_page_that_fails_for_now_is_asked_for_again(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    answer(&h, 200, DISCOVERY);
    answer(&h, 200, LIST("5", "t1", ""));
    break_off(&h, 0);
    wait_it_out(&h, FIRST_BACKOFF);
    assert_non_null(strstr(path(&h), "&continue=t1"));
    h.fake.retry_after_ns = 9 * CLOCK_SECOND;
    answer(&h, 429, STATUS(429, "TooManyRequests"));
    wait_it_out(&h, 9 * CLOCK_SECOND, 9 * CLOCK_SECOND);
    assert_non_null(strstr(path(&h), "&continue=t1"));
    h.fake.retry_after_ns = -1;
    for (int i = 0; i < 9; i++) {
        refuse(&h);
        wait_it_out(&h, 800 * CLOCK_MS, 60 * CLOCK_SECOND);
    }
    assert_true(is_list(&h)); // it gave up on that page
    end(&h);
}

static void a_token_that_comes_twice_ends_the_list(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    answer(&h, 200, DISCOVERY);
    answer(&h, 200, LIST("5", "t1", ""));
    answer(&h, 200, LIST("5", "t1", ""));
    expect(&h, "listing;LOST;");
    wait_it_out(&h, FIRST_BACKOFF);
    assert_true(is_list(&h));
    end(&h);
}

static void objects_that_cannot_be_read_are_left_out_and_logged_once(void **state) {
    (void)state;
    int ends[2];
    struct harness h;
    assert_int_equal(pipe(ends), 0);
    log_to(ends[1]);
    log_setup(LOG_TEXT, LOG_WARN);
    begin(&h);
    answer(&h, 200, DISCOVERY);
    answer(&h, 200, LIST("5", "", "{},7,null,{\"metadata\":{\"name\":\"x\"}}," ITEM("a", "u1", "1")));
    assert_true(data(&h, EVENT("ADDED", "{\"metadata\":null}") EVENT("DELETED", "[]")
                             EVENT("MODIFIED", "{\"metadata\":{\"name\":\"y\",\"uid\":\"u\"}}")));
    assert_true(data(&h, EVENT("ADDED", ITEM("b", "u2", "6"))));
    expect(&h, "listing;seen a@1;listed v1;CONNECTED;seen b@6;");
    end(&h);
    log_setup(LOG_TEXT, LOG_ERROR);
    log_to(2);
    close(ends[1]);
    char text[4096];
    ssize_t len = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    assert_true(len > 0);
    text[len] = '\0';
    assert_non_null(strstr(text, "invalid object"));
    assert_ptr_equal(strchr(text, '\n'), text + len - 1); // one line
}

static void a_bookmark_moves_the_version_and_tells_nothing(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    assert_true(data(&h, EVENT("MODIFIED", ITEM("a", "u1", "6")) BOOKMARK("99")));
    expect(&h, "seen a@6;");
    end_stream(&h);
    assert_true(is_watch_at(&h, "99"));
    end(&h);
}

static void events_are_told_however_the_stream_is_split(void **state) {
    (void)state;
    static const char stream[] = EVENT("ADDED", ITEM("b}\\\"{", "u2", "6")) "\n" BOOKMARK("7")
        EVENT("DELETED", ITEM("b}\\\"{", "u2", "8")) EVENT("MODIFIED", ITEM("a", "u1", "9"));
    for (size_t first = 1; first < sizeof(stream) - 1; first++) {
        for (size_t step = 1; step < sizeof(stream); step += 61) {
            struct harness h;
            begin(&h);
            connect(&h);
            for (size_t at = 0, len = first; at < sizeof(stream) - 1; at += len, len = step) {
                len = len < sizeof(stream) - 1 - at ? len : sizeof(stream) - 1 - at;
                assert_true(fake_data(&h.fake, h.fake.count, stream + at, len));
            }
            expect(&h, "seen b}\"{@6;gone b}\"{@8;seen a@9;");
            end(&h);
        }
    }
}

static void a_part_of_an_event_at_the_end_is_not_applied(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    assert_true(data(&h, EVENT("MODIFIED", ITEM("a", "u1", "6")) "{\"type\":\"DELETED\",\"object\":{\"meta"));
    break_off(&h, 200);
    assert_true(is_watch_at(&h, "6"));
    open_stream(&h);
    assert_true(data(&h, EVENT("MODIFIED", ITEM("a", "u1", "7"))));
    expect(&h, "seen a@6;seen a@7;");
    end(&h);
}

static void an_object_made_anew_under_its_name_is_told_with_its_uid(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    assert_false(data(&h, ERROR_EVENT(410, "Expired")));
    answer(&h, 200, LIST("50", "", ITEM("a", "other", "40")));
    expect(&h, "listing;seen a@40;listed v1;");
    end(&h);
}

static void the_same_seed_gives_the_same_times(void **state) {
    (void)state;
    int64_t times[3][20];
    for (size_t run = 0; run < 3; run++) {
        struct harness h;
        begin_with(&h, (struct reflector_options){.seed = run < 2 ? 11 : 12});
        for (size_t i = 0; i < 20; i++) {
            refuse(&h);
            times[run][i] = h.next_ns;
            wait_it_out(&h, 800 * CLOCK_MS, 60 * CLOCK_SECOND);
        }
        end(&h);
    }
    assert_memory_equal(times[0], times[1], sizeof(times[0]));
    assert_memory_not_equal(times[0], times[2], sizeof(times[0]));
}

static void nothing_is_told_after_it_is_gone(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    reflector_free(h.reflector);
    h.reflector = NULL;
    assert_int_equal(h.fake.cancelled, 1);
    end(&h);
}

static void a_transport_without_memory_is_asked_again_later(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    h.fake.out_of_memory = true;
    answer(&h, 200, DISCOVERY);
    expect(&h, "LOST;");
    h.fake.out_of_memory = false;
    wait_it_out(&h, FIRST_BACKOFF);
    assert_true(is_list(&h));
    end(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_discovers_lists_and_watches),
        cmocka_unit_test(a_page_beyond_the_budget_is_asked_for_in_halves),
        cmocka_unit_test(a_list_that_does_not_end_is_ended),
        cmocka_unit_test(one_large_item_of_a_page_is_a_stub_and_a_broken_one_breaks_the_page),
        cmocka_unit_test(the_watch_asks_for_bookmarks_and_an_end_and_has_limits),
        cmocka_unit_test(the_core_group_and_cluster_scope_have_their_paths),
        cmocka_unit_test(one_namespace_and_one_name_have_their_path),
        cmocka_unit_test(pages_are_followed_to_the_end_and_the_first_has_the_version),
        cmocka_unit_test(items_may_be_null_and_have_their_kind_filled_in),
        cmocka_unit_test(an_expired_token_leads_to_a_list_in_one_piece),
        cmocka_unit_test(a_list_that_fails_is_lost_and_begun_again_with_backoff),
        cmocka_unit_test(a_page_that_fails_for_now_is_asked_for_again),
        cmocka_unit_test(a_token_that_comes_twice_ends_the_list),
        cmocka_unit_test(objects_that_cannot_be_read_are_left_out_and_logged_once),
        cmocka_unit_test(a_bookmark_moves_the_version_and_tells_nothing),
        cmocka_unit_test(events_are_told_however_the_stream_is_split),
        cmocka_unit_test(a_part_of_an_event_at_the_end_is_not_applied),
        cmocka_unit_test(an_object_made_anew_under_its_name_is_told_with_its_uid),
        cmocka_unit_test(the_same_seed_gives_the_same_times),
        cmocka_unit_test(nothing_is_told_after_it_is_gone),
        cmocka_unit_test(a_transport_without_memory_is_asked_again_later),
    };
    log_setup(LOG_TEXT, LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
