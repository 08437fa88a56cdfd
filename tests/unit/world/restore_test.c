// SPDX-License-Identifier: Apache-2.0
// A cluster whose versions went back, as a kube-apiserver shows it after etcd was restored or wiped.
#include "tests/unit/world/helper.h"

static size_t bytes_of(struct fixture *fixture, struct world_watch *watch) {
    struct buffer frames;
    buffer_init(&frames, 1 << 20);
    while (world_watch_read(watch, &frames, 1, fixture->now_ns) > 0)
        continue;
    size_t len = frames.len;
    buffer_free(&frames);
    return len;
}

static struct world_watch *open_watch(struct fixture *fixture, uint64_t version) {
    AUTO_TEXT path =
        text_format(JOBS "?watch=true&allowWatchBookmarks=true&resourceVersion=%llu", (unsigned long long)version);
    struct world_response refused;
    struct world_watch *watch = world_watch(fixture->cluster, path, fixture->now_ns, NULL, NULL, &refused);
    assert_non_null(watch);
    world_response_clear(&refused);
    return watch;
}

static void check_kube_system(struct fixture *fixture, const char *uid, bool same) {
    const struct json *value = world_object(fixture->cluster, "", "namespaces", "", "kube-system");
    assert_non_null(value);
    assert_int_equal(strcmp(json_string(json_path(value, "metadata", "uid", NULL)), uid) == 0, same);
}

static void a_copy_brings_back_what_was_then(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){.no_controllers = true});
    AUTO_JSON kube_system = json_copy(world_object(fixture.cluster, "", "namespaces", "", "kube-system"));
    const char *uid = json_string(json_path(kube_system, "metadata", "uid", NULL));
    make_job(&fixture, "a", "", "");
    make_job(&fixture, "b", "", "");
    AUTO_JSON a = json_copy(job_of(&fixture, "a"));
    struct world_copy *copy = world_copy(fixture.cluster);
    uint64_t then = world_version(fixture.cluster);
    world_delete(fixture.cluster, "batch", "jobs", "default", "a", "Background", fixture.now_ns);
    make_job(&fixture, "c", "", "");
    struct world_watch *watch = open_watch(&fixture, world_version(fixture.cluster));
    world_restore(fixture.cluster, copy, fixture.now_ns);
    assert_int_equal(bytes_of(&fixture, watch), 0);
    assert_true(world_watch_ended(watch));
    world_watch_close(watch);
    assert_int_equal(world_version(fixture.cluster), then);
    assert_true(json_equal(job_of(&fixture, "a"), a));
    assert_non_null(job_of(&fixture, "b"));
    assert_null(job_of(&fixture, "c"));
    check_kube_system(&fixture, uid, true);
    world_restore(fixture.cluster, copy, fixture.now_ns); // as often as wanted
    assert_int_equal(world_count(fixture.cluster, "batch", "jobs"), 2);
    world_wipe(fixture.cluster, fixture.now_ns);
    assert_true(world_version(fixture.cluster) < then);
    assert_int_equal(world_count(fixture.cluster, "batch", "jobs"), 0);
    check_kube_system(&fixture, uid, false);
    make_job(&fixture, "a", "", "");
    world_copy_free(copy);
    end(&fixture);
}

static void a_watch_from_the_future_is_open_and_silent_and_a_list_says_so(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){.no_controllers = true});
    struct world_copy *copy = world_copy(fixture.cluster);
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "j%d", i);
        make_job(&fixture, name, "", "");
    }
    uint64_t last = world_version(fixture.cluster);
    world_restore(fixture.cluster, copy, fixture.now_ns);
    struct world_watch *watch = open_watch(&fixture, last);
    for (int minutes = 0; minutes < 5; minutes++) {
        fixture.now_ns += CLOCK_MINUTE;
        world_step(fixture.cluster, fixture.now_ns);
        assert_int_equal(bytes_of(&fixture, watch), 0);
    }
    make_job(&fixture, "new", "", "");
    assert_int_equal(bytes_of(&fixture, watch), 0);
    AUTO_TEXT path =
        text_format(JOBS "?limit=1&resourceVersionMatch=NotOlderThan&resourceVersion=%llu", (unsigned long long)last);
    AUTO_JSON status = NULL;
    assert_int_equal(ask(&fixture, "GET", path, NULL, &status), 504);
    const struct json *causes = json_path(status, "details", "causes", NULL);
    assert_string_equal(json_string(json_get(json_first(causes), "reason")), "ResourceVersionTooLarge");
    while (world_version(fixture.cluster) <= last) {
        char name[32];
        snprintf(name, sizeof name, "k%llu", (unsigned long long)world_version(fixture.cluster));
        make_job(&fixture, name, "", "");
    }
    assert_true(bytes_of(&fixture, watch) > 0);
    assert_int_equal(ask(&fixture, "GET", path, NULL, NULL), 200);
    world_watch_close(watch);
    world_copy_free(copy);
    end(&fixture);
}

static void controllers_go_on_with_what_was_restored(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){.pods = true});
    make_job(&fixture, "a", "", "\"" WORLD_DURATION "\":\"2s\"");
    run_until(&fixture, CLOCK_SECOND);
    struct world_copy *copy = world_copy(fixture.cluster);
    run_until(&fixture, 10 * CLOCK_SECOND);
    const struct json *job = job_of(&fixture, "a");
    assert_int_equal(number_at(job, "/status/succeeded"), 1);
    world_restore(fixture.cluster, copy, fixture.now_ns);
    assert_int_equal(number_at(job_of(&fixture, "a"), "/status/active"), 1);
    run_until(&fixture, 30 * CLOCK_SECOND);
    assert_int_equal(number_at(job_of(&fixture, "a"), "/status/succeeded"), 1);
    world_copy_free(copy);
    end(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_brings_back_what_was_then),
        cmocka_unit_test(a_watch_from_the_future_is_open_and_silent_and_a_list_says_so),
        cmocka_unit_test(controllers_go_on_with_what_was_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
