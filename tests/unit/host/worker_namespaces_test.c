// SPDX-License-Identifier: Apache-2.0
// Which namespaces are told to have changed, on a fake transport and virtual time.
#include "core/host/watchers/watcher.h"

#include "core/base/text.h"
#include "tests/unit/kube/fake_transport.h"

#define DISCOVERY                                                                                                      \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"namespaces\",\"kind\":\"Namespace\",\"verbs\":["         \
    "\"list\",\"watch\"]},{\"name\":\"resourcequotas\",\"kind\":\"ResourceQuota\",\"verbs\":[\"list\",\"watch\"]}]}"
#define LIST "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"
#define CHANGED(fields)                                                                                                \
    "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","         \
    "\"metadata\":{" fields ",\"uid\":\"u\",\"resourceVersion\":\"6\"}}}\n"
#define FORBIDDEN "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"m\"}"

struct stand {
    struct fake_transport fake;
    struct cluster_scope scope;
    void *watch;
    struct buffer told;
    struct moment now;
};

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    assert_int_equal(event->type, EVENT_NAMESPACE);
    buffer_printf(&stand->told, "%s;", event->namespace_.name ? event->namespace_.name : "any");
}

static void expect(struct stand *stand, const char *text) {
    assert_string_equal(stand->told.data ? stand->told.data : "", text);
    buffer_free(&stand->told);
}

static void pass(struct stand *stand, int64_t ns) {
    stand->now.mono_ns += ns;
    for (int i = 0; i < 4; i++)
        (void)worker_namespaces_watcher.step(stand->watch, stand->now);
}

static void begin(struct stand *stand) {
    *stand = (struct stand){.now = {1000 * CLOCK_SECOND, 1767323045 * CLOCK_SECOND}};
    fake_init(&stand->fake);
    buffer_init(&stand->told, 1 << 20);
    stand->scope = (struct cluster_scope){
        .cluster = 1, .name = "w1", .transport = &stand->fake.base, .seed = 1, .post = take, .ctx = stand};
    assert_null(watcher_start(&worker_namespaces_watcher, &stand->scope, &stand->watch));
    pass(stand, 0);
    assert_int_equal(stand->fake.count, 0);
    worker_namespaces_watcher.handle(stand->watch, &(struct cluster_notice){.type = NOTICE_WANT_NAMESPACES});
    pass(stand, 0);
}

static void end(struct stand *stand) {
    watcher_stop(&worker_namespaces_watcher, stand->watch);
    buffer_free(&stand->told);
    fake_free(&stand->fake);
}

// The oldest open exchange whose path begins so; 0: none.
static size_t find(struct stand *stand, const char *path) {
    for (size_t i = 1; i <= stand->fake.count; i++)
        if (fake_at(&stand->fake, i)->live && text_has_prefix(fake_at(&stand->fake, i)->request.path, path))
            return i;
    return 0;
}

static void answer(struct stand *stand, const char *path, int status, const char *body) {
    assert_true(find(stand, path) > 0);
    fake_answer(&stand->fake, find(stand, path), status, body);
    pass(stand, 0);
}

static void begin_watching(struct stand *stand) {
    begin(stand);
    answer(stand, "/api/v1", 200, DISCOVERY);
    answer(stand, "/api/v1", 200, DISCOVERY);
    answer(stand, "/api/v1/namespaces?limit=1", 200, LIST);
    answer(stand, "/api/v1/resourcequotas?limit=1", 200, LIST);
    fake_open(&stand->fake, find(stand, "/api/v1/namespaces?watch"));
    fake_open(&stand->fake, find(stand, "/api/v1/resourcequotas?watch"));
    pass(stand, 0);
    expect(stand, "any;"); // what changed before is not known
    pass(stand, CLOCK_SECOND);
}

static void changes_are_told_by_namespace_of_metadata_alone(void **state) {
    (void)state;
    static const char *const watches[] = {"/api/v1/namespaces?watch", "/api/v1/resourcequotas?watch"};
    static const char *const changes[] = {CHANGED("\"name\":\"a\""), CHANGED("\"name\":\"q\",\"namespace\":\"b\"")};
    struct stand stand;
    begin_watching(&stand);
    for (size_t i = 0; i < 2; i++) {
        size_t number = find(&stand, watches[i]);
        assert_true(text_has_prefix(fake_at(&stand.fake, number)->request.accept,
                                    "application/json;as=PartialObjectMetadata;"));
        assert_true(fake_data(&stand.fake, number, changes[i], strlen(changes[i])));
    }
    pass(&stand, CLOCK_SECOND);
    expect(&stand, "a;b;");
    end(&stand);
}

static void it_ends_when_nobody_asks_for_it_any_more(void **state) {
    (void)state;
    struct stand stand;
    begin_watching(&stand);
    pass(&stand, 20 * CLOCK_MINUTE);
    assert_int_equal(find(&stand, "/"), 0);
    end(&stand);
}

static void one_that_is_refused_leaves_the_other_alone(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    answer(&stand, "/api/v1", 200, DISCOVERY);
    answer(&stand, "/api/v1", 200, DISCOVERY);
    answer(&stand, "/api/v1/namespaces?limit=1", 403, FORBIDDEN);
    answer(&stand, "/api/v1/resourcequotas?limit=1", 200, LIST);
    pass(&stand, 5 * CLOCK_MINUTE);
    assert_int_equal(find(&stand, "/api/v1/namespaces"), 0);
    assert_true(find(&stand, "/api/v1/resourcequotas?watch") > 0);
    end(&stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_told_by_namespace_of_metadata_alone),
        cmocka_unit_test(it_ends_when_nobody_asks_for_it_any_more),
        cmocka_unit_test(one_that_is_refused_leaves_the_other_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
