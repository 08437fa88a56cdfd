// SPDX-License-Identifier: Apache-2.0
// Lists and watches where time, compaction and the life of kinds matter; what single requests answer is in
// tests/contract.
#include "tests/unit/world/helper.h"

static size_t notified;

static void count_notification(void *ctx) {
    (void)ctx;
    notified++;
}

// The types of all frames there are, one letter each.
static void read_types(struct fixture *fixture, struct world_watch *watch, char out[64]) {
    struct buffer frames;
    buffer_init(&frames, 1 << 20);
    while (world_watch_read(watch, &frames, 1, fixture->now_ns) > 0)
        continue;
    size_t count = 0;
    for (const char *at = frames.data; at && (at = strstr(at, "{\"type\":\"")) && count < 63; at++)
        out[count++] = at[9];
    out[count] = '\0';
    buffer_free(&frames);
}

static struct world_watch *open_watch(struct fixture *fixture, const char *query, uint64_t version) {
    AUTO_TEXT path = version
                         ? text_format(JOBS "?watch=true&resourceVersion=%llu%s", (unsigned long long)version, query)
                         : text_format(JOBS "?watch=true%s", query);
    struct world_response refused;
    struct world_watch *watch =
        world_watch(fixture->cluster, path, fixture->now_ns, count_notification, NULL, &refused);
    world_response_clear(&refused);
    return watch;
}

static void a_watch_is_told_of_each_change(void **state) {
    (void)state;
    struct fixture fixture;
    char types[64];
    begin(&fixture, &(struct world_options){.no_controllers = true});
    struct world_watch *watch = open_watch(&fixture, "", world_version(fixture.cluster));
    read_types(&fixture, watch, types);
    assert_string_equal(types, "");
    notified = 0;
    make_job(&fixture, "a", "", "");
    assert_int_equal(notified, 1);
    make_job(&fixture, "b", "", "");
    assert_int_equal(notified, 1); // it has not read yet
    assert_int_equal(ask(&fixture, "PATCH", JOBS "/a", "{\"spec\":{\"parallelism\":2}}", NULL), 200);
    world_delete(fixture.cluster, "batch", "jobs", "default", "b", "Background", fixture.now_ns);
    read_types(&fixture, watch, types);
    assert_string_equal(types, "AAMD");
    world_watch_close(watch);
    end(&fixture);
}

static void bookmarks_come_each_interval_and_before_the_deadline(void **state) {
    (void)state;
    struct fixture fixture;
    char types[64];
    begin(&fixture, &(struct world_options){.no_controllers = true});
    struct world_watch *watch =
        open_watch(&fixture, "&allowWatchBookmarks=true&timeoutSeconds=90", world_version(fixture.cluster));
    read_types(&fixture, watch, types);
    static const struct {
        int64_t second;
        const char *types;
        bool ended;
    } steps[] = {{59, "", false}, {60, "B", false}, {87, "", false}, {88, "B", false}, {89, "", false}, {90, "", true}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        run_until(&fixture, steps[i].second * CLOCK_SECOND);
        read_types(&fixture, watch, types);
        assert_string_equal(types, steps[i].types);
        assert_int_equal(world_watch_ended(watch), steps[i].ended);
    }
    world_watch_close(watch);
    end(&fixture);
}

static void the_past_that_is_forgotten_is_expired(void **state) {
    (void)state;
    static const enum world_expired forms[] = {WORLD_EXPIRED_EVENT, WORLD_EXPIRED_HTTP};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        char types[64];
        begin(&fixture, &(struct world_options){.no_controllers = true, .expired = forms[i]});
        make_job(&fixture, "a", "", "");
        uint64_t version = world_version(fixture.cluster);
        make_job(&fixture, "b", "", "");
        world_compact(fixture.cluster);
        struct world_watch *watch = open_watch(&fixture, "", version);
        assert_int_equal(!!watch, forms[i] == WORLD_EXPIRED_EVENT);
        if (watch) {
            read_types(&fixture, watch, types);
            assert_string_equal(types, "E");
            assert_true(world_watch_ended(watch));
            world_watch_close(watch);
        }
        AUTO_TEXT path =
            text_format(JOBS "?resourceVersionMatch=Exact&resourceVersion=%llu", (unsigned long long)version);
        assert_int_equal(ask(&fixture, "GET", path, NULL, NULL), 410);
        end(&fixture);
    }
}

static void a_page_after_compaction_is_410_with_an_inconsistent_token(void **state) {
    (void)state;
    struct fixture fixture;
    struct json *page = NULL, *rest = NULL;
    begin(&fixture, &(struct world_options){.no_controllers = true});
    make_job(&fixture, "a", "", "");
    make_job(&fixture, "b", "", "");
    assert_int_equal(ask(&fixture, "GET", JOBS "?limit=1", NULL, &page), 200);
    make_job(&fixture, "c", "", "");
    world_compact(fixture.cluster);
    AUTO_TEXT path = text_format(JOBS "?limit=5&continue=%s", text_at(page, "/metadata/continue"));
    json_free(page);
    assert_int_equal(ask(&fixture, "GET", path, NULL, &page), 410);
    AUTO_TEXT again = text_format(JOBS "?limit=5&continue=%s", text_at(page, "/metadata/continue"));
    assert_int_equal(ask(&fixture, "GET", again, NULL, &rest), 200);
    assert_int_equal(json_size(json_get(rest, "items")), 2);
    json_free(page);
    json_free(rest);
    end(&fixture);
}

static void a_watch_that_reads_too_slowly_is_ended(void **state) {
    (void)state;
    struct fixture fixture;
    char types[64];
    begin(&fixture, &(struct world_options){.no_controllers = true, .history = 4});
    struct world_watch *watch = open_watch(&fixture, "", world_version(fixture.cluster));
    for (int i = 0; i < 6; i++) {
        AUTO_TEXT name = text_format("j%d", i);
        make_job(&fixture, name, "", "");
    }
    read_types(&fixture, watch, types);
    assert_string_equal(types, "");
    assert_true(world_watch_ended(watch));
    world_watch_close(watch);
    end(&fixture);
}

static void a_kind_that_goes_away_takes_its_objects_and_watches_with_it(void **state) {
    (void)state;
    struct fixture fixture;
    char types[64];
    const char *things = "/apis/example.org/v1/namespaces/default/things";
    const struct world_kind kind = {
        .group = "example.org", .versions = {"v1", "v1beta1"}, .plural = "things", .kind = "Thing", .no_status = true};
    begin(&fixture, &(struct world_options){0});
    assert_int_equal(ask(&fixture, "GET", "/apis/batch/v1", NULL, NULL), 200);
    assert_true(world_register(fixture.cluster, &kind));
    assert_false(world_register(fixture.cluster, &kind));
    const char *body =
        "{\"apiVersion\":\"example.org/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"t\"},\"spec\":{}}";
    struct json *answer = NULL;
    assert_int_equal(ask(&fixture, "POST", things, body, NULL), 201);
    assert_int_equal(ask(&fixture, "GET", "/apis/example.org/v1beta1/namespaces/default/things/t", NULL, &answer), 200);
    assert_string_equal(text_at(answer, "/apiVersion"), "example.org/v1beta1");
    json_free(answer);
    // No status subresource: status is written through the object, and counts as a change.
    assert_int_equal(ask(&fixture, "PATCH", "/apis/example.org/v1/namespaces/default/things/t/status", "{}", NULL),
                     404);
    AUTO_TEXT path = text_format("%s/t", things);
    assert_int_equal(ask(&fixture, "PATCH", path, "{\"status\":{\"x\":1}}", &answer), 200);
    assert_int_equal(number_at(answer, "/metadata/generation"), 2);
    json_free(answer);
    struct world_response refused;
    AUTO_TEXT watch_path = text_format("%s?watch=true", things);
    struct world_watch *watch = world_watch(fixture.cluster, watch_path, fixture.now_ns, NULL, NULL, &refused);
    read_types(&fixture, watch, types);
    assert_string_equal(types, "A");
    assert_true(world_unregister(fixture.cluster, "example.org", "things"));
    read_types(&fixture, watch, types);
    assert_string_equal(types, "D");
    assert_true(world_watch_ended(watch));
    world_watch_close(watch);
    struct world_request request = {.method = "GET", .path = things};
    struct world_response response;
    world_request(fixture.cluster, &request, fixture.now_ns, &response);
    assert_int_equal(response.status, 404);
    assert_string_equal(response.content_type, "text/plain; charset=utf-8");
    world_response_clear(&response);
    end(&fixture);
}

static void a_list_shows_any_version_that_the_history_reaches(void **state) {
    (void)state;
    struct fixture fixture;
    uint64_t versions[40];
    size_t counts[40];
    struct random random = {5};
    begin(&fixture, &(struct world_options){.no_controllers = true});
    for (size_t i = 0; i < 40; i++) {
        AUTO_TEXT name = text_format("j%llu", (unsigned long long)random_below(&random, 8));
        if (job_of(&fixture, name))
            world_delete(fixture.cluster, "batch", "jobs", "default", name, "Background", fixture.now_ns);
        else
            make_job(&fixture, name, "", "");
        versions[i] = world_version(fixture.cluster);
        counts[i] = world_count(fixture.cluster, "batch", "jobs");
    }
    for (size_t i = 0; i < 40; i++) {
        struct json *list = NULL;
        AUTO_TEXT path =
            text_format(JOBS "?resourceVersionMatch=Exact&resourceVersion=%llu", (unsigned long long)versions[i]);
        assert_int_equal(ask(&fixture, "GET", path, NULL, &list), 200);
        assert_int_equal(json_size(json_get(list, "items")), counts[i]);
        json_free(list);
    }
    end(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_is_told_of_each_change),
        cmocka_unit_test(bookmarks_come_each_interval_and_before_the_deadline),
        cmocka_unit_test(the_past_that_is_forgotten_is_expired),
        cmocka_unit_test(a_page_after_compaction_is_410_with_an_inconsistent_token),
        cmocka_unit_test(a_watch_that_reads_too_slowly_is_ended),
        cmocka_unit_test(a_kind_that_goes_away_takes_its_objects_and_watches_with_it),
        cmocka_unit_test(a_list_shows_any_version_that_the_history_reaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
