// SPDX-License-Identifier: Apache-2.0
// Asking whether the management cluster knows the field managedBy.
#include "core/host/watchers/watcher.h"

#include "core/base/buffer.h"
#include "tests/unit/host/dispatch_play.h"
#include "tests/unit/kube/fake_transport.h"

#define DOCUMENT(field)                                                                                                \
    "{\"components\":{\"schemas\":{\"Job\":{\"properties\":{\"spec\":{\"properties\":{\"" field                        \
    "\":{}}}},\"x-kubernetes-group-version-kind\":[{\"group\":\"batch\",\"version\":\"v1\",\"kind\":\"Job\"}]}}}}"

struct stand {
    struct fake_transport fake;
    struct cluster_scope scope;
    void *check;
    struct buffer told;
    int64_t now_ns;
};

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    assert_int_equal(event->type, EVENT_FIELD);
    buffer_printf(&stand->told, "%zu %s;", event->kind,
                  event->field.lacks     ? "lacks"
                  : event->field.settled ? "settled"
                                         : "has");
}

static void begin_list(struct stand *stand, size_t kind, const char *version) {
    field_check_watcher.handle(stand->check,
                               &(struct cluster_notice){.type = NOTICE_LISTING, .kind = kind, .version = version});
}

static int64_t pass(struct stand *stand, int64_t ns) {
    stand->now_ns += ns;
    return field_check_watcher.step(stand->check, (struct moment){.mono_ns = stand->now_ns});
}

static void begin(struct stand *stand) {
    *stand = (struct stand){.now_ns = 1000 * CLOCK_SECOND};
    fake_init(&stand->fake);
    buffer_init(&stand->told, 4096);
    stand->scope = (struct cluster_scope){
        .transport = &stand->fake.base, .settings = {.kinds = play_kinds(), .n_kinds = 2}, .post = take, .ctx = stand};
    assert_null(watcher_start(&field_check_watcher, &stand->scope, &stand->check));
    assert_int_equal(pass(stand, 0), CLOCK_NEVER);
    begin_list(stand, 0, "v1");
    assert_int_equal(pass(stand, 0), stand->now_ns + (5 * CLOCK_SECOND));
    pass(stand, (5 * CLOCK_SECOND));
    assert_int_equal(stand->fake.count, 1);
    assert_string_equal(fake_last(&stand->fake)->request.path, "/openapi/v3/apis/batch/v1");
}

static void end(struct stand *stand, const char *told) {
    assert_string_equal(stand->told.data ? stand->told.data : "", told);
    watcher_stop(&field_check_watcher, stand->check);
    buffer_free(&stand->told);
    fake_free(&stand->fake);
}

static void a_field_that_is_there_is_asked_for_once_for_each_list(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    fake_answer(&stand.fake, 1, 200, DOCUMENT("managedBy"));
    assert_int_equal(pass(&stand, 60 * CLOCK_MINUTE), CLOCK_NEVER);
    assert_int_equal(stand.fake.count, 1);
    begin_list(&stand, 0, "v1");
    pass(&stand, 0);
    pass(&stand, (5 * CLOCK_SECOND));
    assert_int_equal(stand.fake.count, 2);
    end(&stand, "0 has;");
}

// Of a kind with versions that ignore managedBy, the first workload may wait for the answer.
static void a_later_version_of_the_api_is_noticed_at_once(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    struct kind *kind = stand.scope.settings.kinds[0];
    fake_answer(&stand.fake, 1, 200, DOCUMENT("managedBy"));
    kind->doubted_until = "/spec/later";
    begin_list(&stand, 0, "v1");
    pass(&stand, 0);
    assert_int_equal(stand.fake.count, 2);
    fake_answer(&stand.fake, 2, 200, DOCUMENT("managedBy"));
    begin_list(&stand, 0, "v1");
    pass(&stand, 0);
    fake_answer(&stand.fake, 3, 200, DOCUMENT("managedBy\":{},\"later"));
    kind->doubted_until = "";
    begin_list(&stand, 0, "v1");
    pass(&stand, 0);
    fake_answer(&stand.fake, 4, 200, DOCUMENT("managedBy\":{},\"later"));
    kind->doubted_until = NULL;
    end(&stand, "0 has;0 has;0 settled;0 has;");
}

static void a_field_that_is_missing_is_asked_for_until_it_is_there(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    fake_answer(&stand.fake, 1, 200, DOCUMENT("manager"));
    int64_t answered_ns = stand.now_ns;
    assert_int_equal(pass(&stand, CLOCK_SECOND), answered_ns + (5 * CLOCK_MINUTE));
    pass(&stand, (5 * CLOCK_MINUTE));
    fake_answer(&stand.fake, 2, 404, "not found"); // says nothing
    pass(&stand, (5 * CLOCK_MINUTE));
    fake_answer(&stand.fake, 3, 200, DOCUMENT("managedBy"));
    assert_int_equal(pass(&stand, (5 * CLOCK_MINUTE)), CLOCK_NEVER);
    end(&stand, "0 lacks;0 has;");
}

static void a_server_that_does_not_say_is_not_asked_again_soon(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    fake_answer(&stand.fake, 1, 403, "{}");
    assert_int_equal(pass(&stand, CLOCK_MINUTE), CLOCK_NEVER);
    begin_list(&stand, 0, "v1");
    pass(&stand, 0);
    pass(&stand, (5 * CLOCK_SECOND));
    fake_refuse(&stand.fake, 2);
    pass(&stand, 59 * CLOCK_SECOND);
    assert_int_equal(stand.fake.count, 2);
    pass(&stand, CLOCK_SECOND);
    assert_int_equal(stand.fake.count, 3);
    fake_answer(&stand.fake, 3, 503, "starting");
    pass(&stand, CLOCK_MINUTE);
    assert_int_equal(stand.fake.count, 4);
    end(&stand, "");
    assert_int_equal(stand.fake.cancelled, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_that_is_there_is_asked_for_once_for_each_list),
        cmocka_unit_test(a_later_version_of_the_api_is_noticed_at_once),
        cmocka_unit_test(a_field_that_is_missing_is_asked_for_until_it_is_there),
        cmocka_unit_test(a_server_that_does_not_say_is_not_asked_again_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
