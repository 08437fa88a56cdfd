// SPDX-License-Identifier: Apache-2.0
// Which version of a kind is served, and kinds that come and go.
#include "tests/unit/kube/reflector_harness.h"

static void not_served(struct harness *h) {
    fake_answer_text(&h->fake, h->fake.count, 404, "404 page not found");
    tick(h);
}

static void the_first_acceptable_version_that_is_served_is_taken(void **state) {
    (void)state;
    static const char *const versions[] = {"v3", "v2", "v1", NULL};
    struct harness h;
    begin_with(&h, (struct reflector_options){.versions = versions});
    for (int i = 0; i < 2; i++) { // the kind may have come in between
        assert_string_equal(path(&h), "/apis/batch/v3");
        not_served(&h);
        assert_string_equal(path(&h), "/apis/batch/v2");
        // Served, but it cannot be watched.
        answer(
            &h, 200,
            "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"jobs\",\"kind\":\"Job\",\"verbs\":[\"list\"]}]}");
        assert_string_equal(path(&h), "/apis/batch/v1");
        answer(&h, 200, DISCOVERY);
    }
    answer(&h, 200, LIST("5", "", ""));
    open_stream(&h);
    expect(&h, "listing;listed v1;CONNECTED;");
    end(&h);
}

static void a_kind_that_is_not_served_is_absent_until_it_appears(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    not_served(&h);
    expect(&h, "ABSENT;");
    assert_string_equal(h.problem, "the server does not serve jobs.batch");
    for (int i = 0; i < 10; i++) {
        wait_it_out(&h, i < 6 ? 800 * CLOCK_MS : 15 * CLOCK_SECOND, 30 * CLOCK_SECOND);
        assert_true(is_discovery(&h));
        answer(&h, 200, "{\"kind\":\"APIResourceList\",\"resources\":[]}");
    }
    wait_it_out(&h, 15 * CLOCK_SECOND, 30 * CLOCK_SECOND);
    expect(&h, "");
    connect(&h);
    end(&h);
}

static void discovery_that_fails_is_lost_and_not_absent(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *body;
    } cases[] = {{0, NULL},
                 {503, "starting"},
                 {403, STATUS(403, "Forbidden")},
                 {302, ""},
                 {200, "{\"kind\":\"JobList\",\"items\":[]}"},
                 {200, "{\"kind\":\"APIResourceList\",\"resources\":["}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct harness h;
        begin(&h);
        if (cases[i].status == 0)
            refuse(&h);
        else
            answer(&h, cases[i].status, cases[i].body);
        expect(&h, "LOST;");
        assert_non_null(strstr(h.problem, "cannot look for jobs.batch: "));
        wait_it_out(&h, FIRST_BACKOFF);
        connect(&h);
        end(&h);
    }
}

static void a_kind_that_disappears_is_absent_only_once_that_is_sure(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    assert_true(data(&h, EVENT("DELETED", ITEM("a", "u1", "5"))));
    end_stream(&h);
    not_served(&h);
    wait_it_out(&h, FIRST_BACKOFF);
    assert_true(is_list(&h));
    not_served(&h);
    assert_true(is_discovery(&h));
    expect(&h, "gone a@5;LOST;");
    int64_t since_ns = h.now_ns;
    while (h.told.len == 0) {
        not_served(&h);
        if (h.told.len == 0)
            wait_it_out(&h, 800 * CLOCK_MS, 60 * CLOCK_SECOND);
    }
    expect(&h, "ABSENT;");
    assert_in_range(h.now_ns - since_ns, 10 * CLOCK_SECOND, 30 * CLOCK_SECOND);
    wait_it_out(&h, 800 * CLOCK_MS, 30 * CLOCK_SECOND);
    connect(&h);
    end(&h);
}

static void a_version_that_is_dropped_is_replaced_by_another(void **state) {
    (void)state;
    static const char *const versions[] = {"v1", "v2", NULL};
    struct harness h;
    begin_with(&h, (struct reflector_options){.versions = versions});
    connect(&h);
    assert_false(data(&h, ERROR_EVENT(410, "Gone")));
    not_served(&h);
    for (int i = 0; i < 2; i++) { // it may have come back in between
        assert_true(is_discovery(&h));
        not_served(&h);
        assert_string_equal(path(&h), "/apis/batch/v2");
        answer(&h, 200, DISCOVERY);
    }
    assert_string_equal(path(&h), "/apis/batch/v2/jobs?limit=500");
    answer(&h, 200, LIST("6", "", ITEM("a", "u1", "3")));
    expect(&h, "listing;seen a@3;listed v2;");
    assert_string_equal(h.kind, "batch/v2 Job");
    end(&h);
}

// v2 is served; v1 is asked for once more, and is served now.
static void second_version_then_first(struct harness *h) {
    assert_string_equal(path(h), "/apis/batch/v2");
    answer(h, 200, DISCOVERY);
    assert_string_equal(path(h), "/apis/batch/v1");
    answer(h, 200, DISCOVERY);
    assert_string_equal(path(h), "/apis/batch/v1/jobs?limit=500");
}

static void a_kind_that_appears_while_its_versions_are_asked_for_is_asked_for_again(void **state) {
    (void)state;
    static const char *const versions[] = {"v1", "v2", NULL};
    struct harness h;
    begin_with(&h, (struct reflector_options){.versions = versions});
    for (int i = 0; i < 2; i++)
        not_served(&h);
    expect(&h, "ABSENT;");
    wait_it_out(&h, 800 * CLOCK_MS, 30 * CLOCK_SECOND);
    assert_string_equal(path(&h), "/apis/batch/v1");
    not_served(&h); // it comes after this answer
    second_version_then_first(&h);
    end(&h);
}

static void a_kind_that_comes_while_it_is_first_looked_for_is_asked_for_again(void **state) {
    (void)state;
    static const char *const versions[] = {"v1", "v2", NULL};
    struct harness h;
    begin_with(&h, (struct reflector_options){.versions = versions});
    not_served(&h); // it comes after this answer
    second_version_then_first(&h);
    end(&h);
}

// Two servers that disagree for a while.
static void discovery_ends_with_the_second_round(void **state) {
    (void)state;
    static const char *const versions[] = {"v1", "v2", "v3", NULL};
    struct harness h;
    begin_with(&h, (struct reflector_options){.versions = versions});
    for (int i = 0; i < 3; i++) {
        if (i < 2)
            fake_answer_text(&h.fake, h.fake.count, 404, "404 page not found");
        else
            answer(&h, 200, DISCOVERY);
        tick(&h);
    }
    assert_string_equal(path(&h), "/apis/batch/v1");
    not_served(&h);
    answer(&h, 200, DISCOVERY);
    assert_string_equal(path(&h), "/apis/batch/v2/jobs?limit=500");
    end(&h);
}

static void a_kind_that_is_discovered_but_cannot_be_listed_is_no_hot_loop(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    for (int i = 0; i < 3; i++) {
        answer(&h, 200, DISCOVERY);
        not_served(&h);
        wait_it_out(&h, 800 * CLOCK_MS, 60 * CLOCK_SECOND);
        assert_true(is_discovery(&h));
    }
    expect(&h, "LOST;");
    end(&h);
}

static void a_kind_that_is_taken_for_served_is_looked_for_after_a_404_only(void **state) {
    (void)state;
    for (int streams = 0; streams < 2; streams++) {
        struct harness h;
        begin_with(&h, (struct reflector_options){.served = true, .watch_list = streams});
        assert_true(streams ? !!strstr(path(&h), "sendInitialEvents") : is_list(&h));
        answer(&h, 404, "404 page not found");
        assert_true(is_discovery(&h));
        not_served(&h);
        expect(&h, "ABSENT;");
        wait_it_out(&h, 800 * CLOCK_MS, 60 * CLOCK_SECOND);
        answer(&h, 200, DISCOVERY);
        assert_false(is_discovery(&h));
        end(&h);
    }
    struct harness h;
    begin_with(&h, (struct reflector_options){.served = true});
    answer(&h, 200, LIST("5", "", ITEM("a", "u1", "3")));
    expect(&h, "listing;seen a@3;listed v1;");
    end(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_acceptable_version_that_is_served_is_taken),
        cmocka_unit_test(a_kind_that_is_not_served_is_absent_until_it_appears),
        cmocka_unit_test(discovery_that_fails_is_lost_and_not_absent),
        cmocka_unit_test(a_kind_that_disappears_is_absent_only_once_that_is_sure),
        cmocka_unit_test(a_version_that_is_dropped_is_replaced_by_another),
        cmocka_unit_test(a_kind_that_appears_while_its_versions_are_asked_for_is_asked_for_again),
        cmocka_unit_test(a_kind_that_comes_while_it_is_first_looked_for_is_asked_for_again),
        cmocka_unit_test(discovery_ends_with_the_second_round),
        cmocka_unit_test(a_kind_that_is_taken_for_served_is_looked_for_after_a_404_only),
        cmocka_unit_test(a_kind_that_is_discovered_but_cannot_be_listed_is_no_hot_loop),
    };
    log_setup(LOG_TEXT, LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
