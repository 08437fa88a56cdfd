// SPDX-License-Identifier: Apache-2.0
// A server that does not know the last version any more takes a watch from it and says nothing: so it is asked before.
#include "tests/unit/kube/reflector_harness.h"

static bool is_proof_of(struct harness *h, const char *version) {
    AUTO_TEXT whole =
        text_format("/apis/batch/v1/jobs?limit=1&resourceVersionMatch=NotOlderThan&resourceVersion=%s", version);
    return strcmp(path(h), whole) == 0;
}

static void connect_here(struct harness *h) {
    begin(h);
    h->proofs_are_ours = true;
    connect(h);
}

static void prove(struct harness *h, const char *body) {
    give_proof(h, body);
    tick(h);
}

static void a_version_is_proven_after_every_lost_connection(void **state) {
    (void)state;
    enum { BROKEN, STALLED, CLEAN_TOO_EARLY, EXPECTED_END_WITHOUT_A_WORD, REFUSED };
    for (int how = BROKEN; how <= REFUSED; how++) {
        struct harness h;
        connect_here(&h);
        if (how == EXPECTED_END_WITHOUT_A_WORD)
            pass(&h, 11 * CLOCK_MINUTE);
        else
            assert_true(data(&h, BOOKMARK("6")));
        if (how == STALLED)
            fake_finish(&h.fake, h.fake.count,
                        (struct http_result){.outcome = HTTP_BROKEN, .status = 200, .stalled = true});
        else if (how == BROKEN || how == REFUSED)
            fake_break(&h.fake, h.fake.count, 200);
        else
            fake_answer(&h.fake, h.fake.count, 200, "");
        tick(&h);
        const char *version = how == EXPECTED_END_WITHOUT_A_WORD ? "5" : "6";
        assert_true(is_proof_of(&h, version));
        if (how == REFUSED) {
            refuse(&h);
            expect(&h, "LOST;");
            wait_it_out(&h, FIRST_BACKOFF);
            assert_true(is_proof_of(&h, version));
        }
        expect(&h, "");
        prove(&h, PROOF);
        assert_true(is_watch_at(&h, version));
        end(&h);
    }
}

// RBAC may permit one name only.
static void a_proof_is_of_the_objects_that_the_field_selector_names(void **state) {
    (void)state;
    struct harness h;
    begin_with(&h, (struct reflector_options){.field_selector = "metadata.name=a", .label_selector = "b=c"});
    h.proofs_are_ours = true;
    answer(&h, 200, DISCOVERY);
    answer(&h, 200, LIST("5", "", ""));
    open_stream(&h);
    pass(&h, 5 * CLOCK_SECOND);
    fake_break(&h.fake, h.fake.count, 200);
    tick(&h);
    assert_string_equal(path(&h), "/apis/batch/v1/jobs?fieldSelector=metadata.name%3Da&limit=1&"
                                  "resourceVersionMatch=NotOlderThan&resourceVersion=5");
    end(&h);
}

static void a_watch_that_ends_when_it_should_needs_no_proof(void **state) {
    (void)state;
    struct harness h;
    connect_here(&h);
    for (int i = 0; i < 3; i++) {
        assert_true(data(&h, BOOKMARK("6")));
        pass(&h, 10 * CLOCK_MINUTE);
        end_stream(&h);
        assert_true(is_watch_at(&h, "6"));
        open_stream(&h);
    }
    end(&h);
}

static void a_server_that_does_not_know_the_version_is_listed_and_what_that_says_is_told_before(void **state) {
    (void)state;
    for (int went_back = 0; went_back < 2; went_back++) {
        struct harness h;
        connect_here(&h);
        break_off(&h, 200);
        answer(&h, 504, TOO_LARGE);
        assert_true(is_list(&h));
        expect(&h, "");
        answer(&h, 200, went_back ? LIST("4", "", ITEM("b", "u2", "4")) : LIST("7", "", ITEM("a", "u1", "3")));
        if (went_back)
            assert_string_equal(h.problem, "the resourceVersions of jobs.batch went back from 5 to 4: the cluster was "
                                           "restored from a backup, or wiped");
        expect(&h, went_back ? "REWOUND;listing;seen b@4;listed v1;" : "listing;seen a@3;listed v1;");
        assert_true(is_watch_at(&h, went_back ? "4" : "7"));
        end(&h);
    }
}

static void any_later_list_that_is_older_tells_it(void **state) {
    (void)state;
    struct harness h;
    connect_here(&h);
    assert_false(data(&h, ERROR_EVENT(410, "Expired")));
    answer(&h, 200, LIST("3", "more", ITEM("a", "u1", "3")));
    expect(&h, "REWOUND;listing;seen a@3;");
    answer(&h, 200, LIST("3", "", ""));
    expect(&h, "listed v1;");
    assert_true(is_watch_at(&h, "3"));
    end(&h);
}

static void a_streaming_list_that_is_older_is_made_again_in_pages(void **state) {
    (void)state;
    struct harness h;
    begin_with(&h, (struct reflector_options){.watch_list = true});
    answer(&h, 200, DISCOVERY);
    open_stream(&h);
    assert_true(data(&h, INITIAL_END("10")));
    pass(&h, 5 * CLOCK_SECOND);
    assert_false(data(&h, ERROR_EVENT(410, "Expired")));
    assert_non_null(strstr(path(&h), "&resourceVersion=10"));
    answer(&h, 410, STATUS(410, "Expired"));
    assert_null(strstr(path(&h), "&resourceVersion="));
    buffer_free(&h.told);
    assert_false(data(&h, EVENT("ADDED", ITEM("a", "u1", "2")) INITIAL_END("8")));
    expect(&h, "listing;seen a@2;REWOUND;");
    assert_true(is_list(&h));
    answer(&h, 200, LIST("8", "", ITEM("a", "u1", "2")));
    expect(&h, "listing;seen a@2;listed v1;");
    end(&h);
}

static void a_streaming_list_from_a_version_in_the_future_is_made_in_pages(void **state) {
    (void)state;
    struct harness h;
    begin_with(&h, (struct reflector_options){.watch_list = true});
    answer(&h, 200, DISCOVERY);
    open_stream(&h);
    assert_true(data(&h, INITIAL_END("10")));
    pass(&h, 5 * CLOCK_SECOND);
    assert_false(data(&h, ERROR_EVENT(410, "Expired")));
    buffer_free(&h.told);
    assert_false(data(&h, EVENT("ERROR", TOO_LARGE)));
    assert_true(is_list(&h));
    answer(&h, 200, LIST("8", "", ""));
    expect(&h, "REWOUND;listing;listed v1;");
    end(&h);
}

static void an_answer_that_proves_nothing_is_told(void **state) {
    (void)state;
    static const char *const bodies[] = {"<html>", "", "{\"kind\":\"Status\",\"x\":1}", "{\"kind\":1,\"x\":\"List\"}"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct harness h;
        connect_here(&h);
        break_off(&h, 200);
        prove(&h, bodies[i]);
        expect(&h, "LOST;");
        assert_non_null(strstr(h.problem, "something other than a list"));
        wait_it_out(&h, FIRST_BACKOFF);
        assert_true(is_list(&h));
        end(&h);
    }
    static const int waits[] = {429, 500, 503, 504}, lists[] = {400, 403, 404, 410};
    for (size_t i = 0; i < 8; i++) {
        struct harness h;
        connect_here(&h);
        break_off(&h, 200);
        answer(&h, i < 4 ? waits[i] : lists[i - 4], "");
        expect(&h, "LOST;");
        wait_it_out(&h, FIRST_BACKOFF);
        assert_true(i < 4 ? is_proof_of(&h, "5") : is_list(&h));
        end(&h);
    }
}

// Old servers ignore the limit of such a list.
static void of_a_long_proof_only_the_beginning_is_read(void **state) {
    (void)state;
    struct harness h;
    connect_here(&h);
    break_off(&h, 200);
    static char page[64 << 10] = PROOF;
    memset(page + strlen(PROOF), ' ', sizeof page - strlen(PROOF) - 1);
    prove(&h, page);
    assert_true(is_watch_at(&h, "5"));
    end(&h);
}

static void whoever_knows_of_another_cluster_makes_it_list(void **state) {
    (void)state;
    enum { WATCHING, PROVING, LISTING, WAITING };
    for (int when = WATCHING; when <= WAITING; when++) {
        struct harness h;
        connect_here(&h);
        if (when != WATCHING)
            break_off(&h, 200);
        if (when == LISTING)
            answer(&h, 504, TOO_LARGE);
        if (when == WAITING)
            refuse(&h);
        buffer_free(&h.told);
        reflector_rewind(h.reflector, "another uid");
        expect(&h, "REWOUND;");
        assert_string_equal(h.problem, "another uid");
        tick(&h);
        assert_true(is_list(&h));
        reflector_rewind(h.reflector, "another uid"); // told before, and no list since
        answer(&h, 200, LIST("2", "", ""));
        expect(&h, "listing;listed v1;");
        assert_true(is_watch_at(&h, "2"));
        end(&h);
    }
}

static void a_list_that_is_asked_for_is_made_and_nothing_is_doubted(void **state) {
    (void)state;
    struct harness h;
    connect_here(&h);
    buffer_free(&h.told);
    reflector_relist(h.reflector);
    expect(&h, "");
    tick(&h);
    assert_true(is_list(&h));
    reflector_relist(h.reflector); // while it is made: it begins anew
    tick(&h);
    answer(&h, 200, LIST("7", "", ""));
    expect(&h, "listing;listed v1;");
    assert_true(is_watch_at(&h, "7"));
    end(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_is_proven_after_every_lost_connection),
        cmocka_unit_test(a_proof_is_of_the_objects_that_the_field_selector_names),
        cmocka_unit_test(a_watch_that_ends_when_it_should_needs_no_proof),
        cmocka_unit_test(a_server_that_does_not_know_the_version_is_listed_and_what_that_says_is_told_before),
        cmocka_unit_test(any_later_list_that_is_older_tells_it),
        cmocka_unit_test(a_streaming_list_that_is_older_is_made_again_in_pages),
        cmocka_unit_test(a_streaming_list_from_a_version_in_the_future_is_made_in_pages),
        cmocka_unit_test(an_answer_that_proves_nothing_is_told),
        cmocka_unit_test(of_a_long_proof_only_the_beginning_is_read),
        cmocka_unit_test(whoever_knows_of_another_cluster_makes_it_list),
        cmocka_unit_test(a_list_that_is_asked_for_is_made_and_nothing_is_doubted),
    };
    log_setup(LOG_TEXT, LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
