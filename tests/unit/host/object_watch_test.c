// SPDX-License-Identifier: Apache-2.0
// When a watch that the host can do without is open, on a fake transport and virtual time.
#include "core/host/watchers/watcher.h"

#include "core/base/text.h"
#include "tests/unit/kube/fake_transport.h"

#define SERVED                                                                                                         \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"things\",\"kind\":\"Thing\",\"verbs\":[\"list\","        \
    "\"watch\"]}]}"
#define NOT_SERVED "{\"kind\":\"APIResourceList\",\"resources\":[]}"
#define LIST "{\"kind\":\"ThingList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"
#define STATUS(code, reason)                                                                                           \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"m\"}"
#define GROUP "/apis/g.io/v1"

struct stand {
    struct fake_transport fake;
    struct object_watch watch;
    struct buffer told;
    struct moment now;
    int64_t next_ns;
    bool wanted;
};

static void expect_refusal(const struct stand *stand, const char *problem) {
    assert_int_equal(stand->watch.open_ns, stand->now.mono_ns + 10 * CLOCK_MINUTE);
    assert_non_null(strstr(problem, "things.g.io"));
}

static void handle(void *ctx, const struct cluster_notice *notice) {
    static const char *const names[] = {[REFLECTOR_STARTING] = "closed",
                                        [REFLECTOR_CONNECTED] = "connected",
                                        [REFLECTOR_LOST] = "lost",
                                        [REFLECTOR_ABSENT] = "absent"};
    struct stand *stand = ctx;
    if (notice->object)
        buffer_printf(&stand->told, "%s;", object_name(notice->object->value));
    if (notice->type == NOTICE_STATE)
        buffer_printf(&stand->told, "%s;", names[notice->state]);
    if (notice->type != NOTICE_REFUSED)
        return;
    expect_refusal(stand, notice->problem);
    buffer_text(&stand->told, "refused;");
}

static void pass(struct stand *stand, int64_t ns) {
    stand->now.mono_ns += ns;
    for (int i = 0; i < 4; i++)
        stand->next_ns = object_watch_tick(&stand->watch, stand->wanted, stand->now);
}

static void begin(struct stand *stand) {
    static const char *const versions[] = {"v1", NULL};
    *stand = (struct stand){.now = {1000 * CLOCK_SECOND, 1767323045 * CLOCK_SECOND}, .wanted = true};
    fake_init(&stand->fake);
    buffer_init(&stand->told, 1 << 20);
    struct reflector_options options = {
        .cluster = "w1", .group = "g.io", .plural = "things", .versions = versions, .seed = 1};
    object_watch_init(&stand->watch, &options, &stand->fake.base, handle, stand);
}

static void end(struct stand *stand) {
    object_watch_clear(&stand->watch);
    buffer_free(&stand->told);
    fake_free(&stand->fake);
}

static void expect(struct stand *stand, const char *text) {
    assert_string_equal(stand->told.data ? stand->told.data : "", text);
    buffer_free(&stand->told);
}

static bool is_asked(struct stand *stand, const char *path) {
    return stand->fake.count > 0 && fake_last(&stand->fake)->live &&
           text_has_prefix(fake_last(&stand->fake)->request.path, path);
}

static void answer(struct stand *stand, const char *path, int status, const char *body) {
    assert_true(is_asked(stand, path));
    fake_answer(&stand->fake, stand->fake.count, status, body);
    pass(stand, 0);
}

static void connect(struct stand *stand) {
    answer(stand, GROUP, 200, SERVED);
    answer(stand, GROUP "/things?limit", 200, LIST);
    assert_true(is_asked(stand, GROUP "/things?watch"));
    fake_open(&stand->fake, stand->fake.count);
    pass(stand, 0);
}

static void a_watch_that_is_refused_is_closed_and_asked_for_every_ten_minutes(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    for (int round = 0; round < 3; round++) {
        pass(&stand, 0);
        answer(&stand, GROUP, 200, SERVED);
        answer(&stand, GROUP "/things?limit", 403, STATUS(403, "Forbidden"));
        expect(&stand, round == 0 ? "lost;closed;refused;" : "lost;closed;");
        assert_int_equal(stand.next_ns, stand.now.mono_ns + 10 * CLOCK_MINUTE);
        size_t asked = stand.fake.count;
        pass(&stand, 10 * CLOCK_MINUTE - 1);
        assert_int_equal(stand.fake.count, asked);
        pass(&stand, 1);
        assert_int_equal(stand.fake.count, asked + 1);
    }
    end(&stand);
}

static void it_opens_when_rights_appear_and_tells_when_they_are_taken_again(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    pass(&stand, 0);
    answer(&stand, GROUP, 401, STATUS(401, "Unauthorized"));
    expect(&stand, "lost;closed;refused;");
    pass(&stand, 10 * CLOCK_MINUTE);
    connect(&stand);
    expect(&stand, "connected;");
    fake_break(&stand.fake, stand.fake.count, 200);
    pass(&stand, CLOCK_SECOND);
    answer(&stand, GROUP "/things?limit=1", 403, STATUS(403, "Forbidden"));
    expect(&stand, "lost;closed;refused;");
    end(&stand);
}

// The state of the reflector does not change then.
static void a_refusal_after_other_trouble_is_one_too(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    pass(&stand, 0);
    answer(&stand, GROUP, 503, STATUS(503, "ServiceUnavailable"));
    expect(&stand, "lost;");
    pass(&stand, CLOCK_MINUTE);
    answer(&stand, GROUP, 403, STATUS(403, "Forbidden"));
    expect(&stand, "closed;refused;");
    assert_int_equal(stand.next_ns, stand.now.mono_ns + 10 * CLOCK_MINUTE);
    end(&stand);
}

static void a_server_in_trouble_is_asked_as_any_reflector_does(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    pass(&stand, 0);
    answer(&stand, GROUP, 503, STATUS(503, "ServiceUnavailable"));
    pass(&stand, 2 * CLOCK_SECOND);
    connect(&stand);
    expect(&stand, "lost;connected;");
    end(&stand);
}

static void a_kind_that_is_absent_is_asked_for_with_growing_delays(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    size_t asked = 0, in_first_minute = 0;
    for (int64_t second = 0; second < 3600; second++) {
        pass(&stand, second == 0 ? 0 : CLOCK_SECOND);
        while (is_asked(&stand, GROUP))
            answer(&stand, GROUP, 404, STATUS(404, "NotFound"));
        asked = stand.fake.count;
        in_first_minute = second < 60 ? asked : in_first_minute;
    }
    assert_in_range(in_first_minute, 4, 7);
    assert_in_range(asked, 50, 70); // the reflector by itself: 120
    buffer_free(&stand.told);
    pass(&stand, 2 * CLOCK_MINUTE); // with the jitter
    connect(&stand);
    expect(&stand, "connected;");
    end(&stand);
}

static void a_kind_that_was_there_is_looked_for_soon_again(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    for (int i = 0; i < 8; i++) {
        pass(&stand, 13 * CLOCK_MINUTE);
        answer(&stand, GROUP, 200, NOT_SERVED);
    }
    expect(&stand, "absent;closed;absent;closed;absent;closed;absent;closed;absent;closed;absent;closed;absent;closed;"
                   "absent;closed;");
    pass(&stand, 13 * CLOCK_MINUTE);
    connect(&stand);
    object_watch_select(&stand.watch, NULL); // as if its server were asked anew
    pass(&stand, 0);
    expect(&stand, "connected;closed;");
    answer(&stand, GROUP, 200, NOT_SERVED);
    assert_in_range(stand.next_ns - stand.now.mono_ns, CLOCK_SECOND, 2 * CLOCK_SECOND);
    end(&stand);
}

static void it_is_closed_when_not_wanted_any_more(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    stand.wanted = false;
    pass(&stand, CLOCK_MINUTE);
    assert_int_equal(stand.fake.count, 0);
    assert_int_equal(stand.next_ns, CLOCK_NEVER);
    stand.wanted = true;
    pass(&stand, 0);
    connect(&stand);
    expect(&stand, "connected;");
    stand.wanted = false;
    pass(&stand, 0);
    expect(&stand, "closed;");
    assert_false(fake_last(&stand.fake)->live);
    assert_int_equal(stand.next_ns, CLOCK_NEVER);
    end(&stand);
}

// Otherwise somebody who wants it now and then would be refused as often.
static void what_was_refused_stays_closed_though_it_is_wanted_anew(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    pass(&stand, 0);
    answer(&stand, GROUP, 403, STATUS(403, "Forbidden"));
    size_t asked = stand.fake.count;
    stand.wanted = false;
    pass(&stand, CLOCK_MINUTE);
    stand.wanted = true;
    pass(&stand, CLOCK_MINUTE);
    assert_int_equal(stand.fake.count, asked);
    pass(&stand, 8 * CLOCK_MINUTE);
    assert_int_equal(stand.fake.count, asked + 1);
    end(&stand);
}

static void another_selector_opens_it_anew(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    pass(&stand, 0);
    connect(&stand);
    object_watch_select(&stand.watch, "type=Warning");
    pass(&stand, 0);
    expect(&stand, "connected;closed;");
    answer(&stand, GROUP, 200, SERVED);
    assert_true(is_asked(&stand, GROUP "/things?fieldSelector=type%3DWarning&"));
    end(&stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_that_is_refused_is_closed_and_asked_for_every_ten_minutes),
        cmocka_unit_test(it_opens_when_rights_appear_and_tells_when_they_are_taken_again),
        cmocka_unit_test(a_refusal_after_other_trouble_is_one_too),
        cmocka_unit_test(a_server_in_trouble_is_asked_as_any_reflector_does),
        cmocka_unit_test(a_kind_that_is_absent_is_asked_for_with_growing_delays),
        cmocka_unit_test(a_kind_that_was_there_is_looked_for_soon_again),
        cmocka_unit_test(it_is_closed_when_not_wanted_any_more),
        cmocka_unit_test(what_was_refused_stays_closed_though_it_is_wanted_anew),
        cmocka_unit_test(another_selector_opens_it_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
