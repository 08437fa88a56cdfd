// SPDX-License-Identifier: Apache-2.0
// Which namespaces are told to have changed, on a fake transport and virtual time.
#include "tests/unit/host/watcher_stand.h"

#define DISCOVERY                                                                                                      \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"namespaces\",\"kind\":\"Namespace\",\"verbs\":["         \
    "\"list\",\"watch\"]},{\"name\":\"resourcequotas\",\"kind\":\"ResourceQuota\",\"verbs\":[\"list\",\"watch\"]}]}"
#define LIST "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"
#define CHANGED(fields)                                                                                                \
    "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","         \
    "\"metadata\":{" fields ",\"uid\":\"u\",\"resourceVersion\":\"6\"}}}\n"
#define FORBIDDEN "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"m\"}"

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    assert_int_equal(event->type, EVENT_NAMESPACE);
    buffer_printf(&stand->told, "%s;", event->namespace_.name ? event->namespace_.name : "any");
}

static void begin(struct stand *stand) {
    start(stand, &worker_namespaces_watcher, &(struct cluster_scope){.cluster = 1}, take);
    assert_int_equal(stand->fake.count, 0);
    notify(stand, &(struct cluster_notice){.type = NOTICE_WANT_NAMESPACES});
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
