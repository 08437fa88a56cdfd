// SPDX-License-Identifier: Apache-2.0
// Fencing that is disabled and enabled again while the host runs, on a fake transport and virtual time.
#include "core/host/watchers/watcher.h"

#include "core/base/text.h"
#include "tests/unit/kube/fake_transport.h"

#define GUARD                                                                                                          \
    "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"name\":\"wharf-guard-o\",\"uid\":"  \
    "\"u\",\"resourceVersion\":\"5\",\"annotations\":{\"guard."                                                        \
    "wharf.dev/g\":\"1 1767323045000 300\"}},\"spec\":{\"leaseDurationSeconds\":300}}"

struct stand {
    struct fake_transport fake;
    struct cluster_scope scope;
    void *guard;
    struct moment now;
    size_t told;
    uint32_t epoch; // of the last news
};

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    assert_int_equal(event->type, EVENT_FENCE);
    stand->told++;
    stand->epoch = event->fence.epoch;
}

static void pass(struct stand *stand, int64_t ns) {
    stand->now.mono_ns += ns;
    for (int i = 0; i < 4; i++) {
        (void)guard_lease_watcher.step(stand->guard, stand->now);
        (void)client_tick(stand->scope.client, stand->now);
    }
}

static struct fencing_settings settings(bool enabled, uint32_t epoch) {
    return (struct fencing_settings){
        .enabled = enabled, .epoch = epoch, .after_ns = 5 * CLOCK_MINUTE, .namespace_ = "wharf-system"};
}

static void configure(struct stand *stand, bool enabled, uint32_t epoch) {
    stand->scope.settings.fencing = settings(enabled, epoch);
    guard_lease_watcher.handle(stand->guard, &(struct cluster_notice){.type = NOTICE_CONFIGURED});
}

static void begin(struct stand *stand) {
    *stand = (struct stand){.now = {1000 * CLOCK_SECOND, 1767323045 * CLOCK_SECOND}};
    fake_init(&stand->fake);
    assert_null(
        client_new(&(struct client_options){.cluster = "w1", .transport = &stand->fake.base}, &stand->scope.client));
    stand->scope.name = "w1";
    stand->scope.origin = "o";
    stand->scope.instance = "i";
    stand->scope.settings.fencing = settings(true, 0);
    stand->scope.guard_shards = 1;
    stand->scope.post = take;
    stand->scope.ctx = stand;
    assert_null(watcher_start(&guard_lease_watcher, &stand->scope, &stand->guard));
    pass(stand, 0);
    assert_int_equal(stand->fake.count, 1); // the guard's Lease is read
    assert_int_equal(fake_last(&stand->fake)->request.method, HTTP_GET);
}

static void end(struct stand *stand) {
    watcher_stop(&guard_lease_watcher, stand->guard);
    client_free(stand->scope.client);
    fake_free(&stand->fake);
}

static void answer(struct stand *stand, int status, const char *body) {
    fake_answer(&stand->fake, stand->fake.count, status, body);
    pass(stand, 0);
}

static void what_was_read_before_it_was_enabled_anew_is_not_told(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    configure(&stand, false, 0);
    configure(&stand, true, 1); // before the connection's thread has done anything
    pass(&stand, CLOCK_SECOND);
    assert_int_equal(stand.fake.count, 1); // the answer is waited for
    answer(&stand, 200, GUARD);
    assert_int_equal(stand.told, 0);
    assert_int_equal(stand.fake.count, 2);
    assert_int_equal(fake_last(&stand.fake)->request.method, HTTP_GET); // from the beginning
    answer(&stand, 200, GUARD);
    assert_int_equal(stand.told, 1);
    assert_int_equal(stand.epoch, 1);
    assert_int_equal(fake_last(&stand.fake)->request.method, HTTP_PATCH); // sends the beat back
    end(&stand);
}

// Its outcome would be taken for that of the renewal.
static void a_lease_that_is_being_given_back_is_not_renewed_before_the_answer(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    answer(&stand, 200, GUARD);
    answer(&stand, 200, GUARD);
    configure(&stand, false, 0);
    pass(&stand, CLOCK_SECOND);
    size_t release = stand.fake.count;
    assert_true(release > 2 && fake_last(&stand.fake)->live);
    configure(&stand, true, 1);
    pass(&stand, CLOCK_SECOND);
    assert_int_equal(stand.fake.count, release);
    answer(&stand, 200, GUARD);
    assert_int_equal(stand.fake.count, release + 1);
    assert_int_equal(fake_last(&stand.fake)->request.method, HTTP_GET);
    end(&stand);
}

static void settings_that_stay_change_nothing(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    configure(&stand, true, 0); // off and on within one reload
    answer(&stand, 200, GUARD);
    assert_int_equal(stand.told, 1);
    end(&stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_read_before_it_was_enabled_anew_is_not_told),
        cmocka_unit_test(a_lease_that_is_being_given_back_is_not_renewed_before_the_answer),
        cmocka_unit_test(settings_that_stay_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
