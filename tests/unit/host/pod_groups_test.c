// SPDX-License-Identifier: Apache-2.0
#include "core/host/pods/pod_groups.h"

#include "core/base/buffer.h"
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct stand {
    struct pod_groups groups;
    struct buffer told;
    uint64_t dropped;
    int64_t now_ns;
    unsigned reports;
};

static void tell(void *ctx, const struct pod_note *report) {
    struct stand *stand = ctx;
    stand->reports++;
    buffer_printf(&stand->told, "%s %s%s %s;", report->mirror.uid, report->warning ? "" : "normal ", report->reason,
                  report->text);
}

static void begin(struct stand *stand) {
    *stand = (struct stand){.now_ns = 1000 * CLOCK_SECOND};
    buffer_init(&stand->told, 1 << 20);
    stand->groups.seed = 1;
}

static void end(struct stand *stand) {
    pod_groups_clear(&stand->groups);
    buffer_free(&stand->told);
}

static void expect(struct stand *stand, const char *text) {
    assert_string_equal(stand->told.data ? stand->told.data : "", text);
    buffer_free(&stand->told);
}

static void pass(struct stand *stand, int64_t ns) {
    stand->now_ns += ns;
    (void)pod_groups_tick(&stand->groups, stand->now_ns, tell, stand, &stand->dropped);
}

static bool add(struct stand *stand, const char *mirror, const char *pod, const char *reason, const char *text) {
    char uid[64];
    snprintf(uid, sizeof uid, "uid-%s", pod);
    struct pod_note note = {
        .mirror = {0, "n", "a", mirror}, .pod = pod, .pod_uid = uid, .reason = reason, .warning = true, .text = text};
    return pod_groups_add(&stand->groups, stand->now_ns, &note);
}

static void the_same_of_several_pods_becomes_one_report(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    add(&stand, "m1", "a-1", "FailedScheduling", "0/5 nodes are available");
    add(&stand, "m1", "a-2", "FailedScheduling", "0/5 nodes are available");
    add(&stand, "m1", "a-2", "FailedScheduling", "0/5 nodes are available"); // twice the same pod
    add(&stand, "m2", "b-1", "FailedScheduling", "0/5 nodes are available");
    pass(&stand, CLOCK_SECOND);
    expect(&stand, "");
    pass(&stand, CLOCK_SECOND);
    expect(&stand, "m1 FailedScheduling 2 pods: 0/5 nodes are available;"
                   "m2 FailedScheduling pod b-1: 0/5 nodes are available;");
    end(&stand);
}

static void names_and_uids_of_pods_in_a_text_make_no_difference(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    add(&stand, "m1", "a-1", "BackOff", "restarting main in pod a-1_n(uid-a-1)");
    add(&stand, "m1", "a-2", "BackOff", "restarting main in pod a-2_n(uid-a-2)");
    add(&stand, "m1", "a-2", "BackOff", "restarting side in pod a-2_n(uid-a-2)");
    pass(&stand, 2 * CLOCK_SECOND);
    assert_int_equal(stand.reports, 2);
    assert_non_null(strstr(stand.told.data, "2 pods: restarting main in pod a-1_n(uid-a-1);"));
    end(&stand);
}

static void what_goes_on_is_told_at_most_once_a_minute_with_the_pods_since(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    add(&stand, "m1", "a-1", "Failed", "no image");
    pass(&stand, 2 * CLOCK_SECOND);
    expect(&stand, "m1 Failed pod a-1: no image;");
    for (int i = 0; i < 29; i++) {
        add(&stand, "m1", "a-2", "Failed", "no image");
        pass(&stand, 2 * CLOCK_SECOND);
    }
    expect(&stand, "");
    pass(&stand, 2 * CLOCK_SECOND);
    expect(&stand, "m1 Failed pod a-2: no image;"); // the one that it is about now
    end(&stand);
}

static void a_mirror_and_reason_are_told_25_times_and_then_every_five_minutes_and_the_rest_is_counted(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    char text[32];
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "text %c", 'A' + i);
        assert_true(add(&stand, "m1", "a-1", "Failed", text));
    }
    add(&stand, "m1", "a-1", "Unhealthy", "x");
    add(&stand, "m2", "b-1", "Failed", "x");
    pass(&stand, 2 * CLOCK_SECOND);
    assert_int_equal(stand.reports, 25 + 2);
    assert_int_equal(stand.dropped, 15);
    add(&stand, "m1", "a-1", "Failed", "later");
    pass(&stand, 2 * CLOCK_SECOND);
    assert_int_equal(stand.dropped, 16);
    pass(&stand, POD_GROUPS_TOKEN_NS);
    add(&stand, "m1", "a-1", "Failed", "much later");
    pass(&stand, 2 * CLOCK_SECOND);
    assert_int_equal(stand.reports, 25 + 3);
    end(&stand);
}

static void groups_are_bounded_and_idle_ones_make_room(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    char mirror[32];
    unsigned taken = 0;
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(mirror, sizeof mirror, "m%u", i);
        taken += add(&stand, mirror, "a-1", "Failed", "x");
    }
    assert_int_equal(taken, 1000);
    pass(&stand, 2 * CLOCK_SECOND);
    assert_int_equal(stand.reports, 1000);
    assert_true(add(&stand, "new", "a-1", "Failed", "x"));
    pass(&stand, 2 * CLOCK_SECOND);
    assert_int_equal(stand.reports, 1001);
    pass(&stand, CLOCK_MINUTE * 20);
    assert_true(pod_groups_tick(&stand.groups, stand.now_ns, tell, &stand, &stand.dropped) == CLOCK_NEVER);
    end(&stand);
}

static void what_a_worker_writes_is_cut_and_on_one_line_and_its_reason_is_a_word(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[3] = '\n';
    add(&stand, "m1", "a-1", "not a word", text);
    pass(&stand, 2 * CLOCK_SECOND);
    assert_non_null(strstr(stand.told.data, "m1 PodEvent pod a-1: xxx xxx"));
    assert_true(stand.told.len < POD_GROUPS_TEXT_MAX + 60);
    end(&stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_of_several_pods_becomes_one_report),
        cmocka_unit_test(names_and_uids_of_pods_in_a_text_make_no_difference),
        cmocka_unit_test(what_goes_on_is_told_at_most_once_a_minute_with_the_pods_since),
        cmocka_unit_test(a_mirror_and_reason_are_told_25_times_and_then_every_five_minutes_and_the_rest_is_counted),
        cmocka_unit_test(groups_are_bounded_and_idle_ones_make_room),
        cmocka_unit_test(what_a_worker_writes_is_cut_and_on_one_line_and_its_reason_is_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
