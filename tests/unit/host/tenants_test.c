// SPDX-License-Identifier: Apache-2.0
// Which namespaces are told, of the management cluster and of workers, on a fake transport and virtual time.
#include "tests/unit/host/watcher_stand.h"

#define DISCOVERY                                                                                                      \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"namespaces\",\"kind\":\"Namespace\",\"verbs\":["         \
    "\"list\",\"watch\"]}]}"
#define METADATA(annotations, version)                                                                                 \
    "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"a\",\"uid\":"      \
    "\"u-a\",\"resourceVersion\":\"" version "\"" annotations "}}"
#define CONSENT ",\"annotations\":{\"wharf.dev/tenant\":\"u-t\"}"
#define LIST                                                                                                           \
    "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" METADATA(CONSENT,   \
                                                                                                            "4") "]}"
#define WATCH "/api/v1/namespaces?watch"
#define FORBIDDEN "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"m\"}"

static void take(void *ctx, struct engine_event *event) {
    static const char *const names[] = {"listing", "listed", "seen", "gone", "lost", "open", "off"};
    struct stand *stand = ctx;
    assert_int_equal(event->type, EVENT_TENANT);
    buffer_printf(&stand->told, "%s", names[event->tenant.news]);
    if (event->tenant.name)
        buffer_printf(&stand->told, " %s", event->tenant.name);
    if (event->tenant.uid)
        buffer_printf(&stand->told, "=%s", event->tenant.uid);
    buffer_text(&stand->told, ";");
}

static void begin(struct stand *stand, size_t cluster) {
    start(stand, &tenants_watcher, &(struct cluster_scope){.cluster = cluster}, take);
}

static void begin_watching(struct stand *stand, size_t cluster) {
    begin(stand, cluster);
    answer(stand, "/api/v1", 200, DISCOVERY);
    assert_true(text_has_prefix(fake_at(&stand->fake, find(stand, "/api/v1/namespaces?limit"))->request.accept,
                                "application/json;as=PartialObjectMetadata"));
    answer(stand, "/api/v1/namespaces?limit", 200, LIST);
    open_stream(stand, WATCH);
    pass(stand, CLOCK_SECOND);
}

static void of_the_management_cluster_the_uid_is_told(void **state) {
    (void)state;
    struct stand stand;
    begin_watching(&stand, ENGINE_MANAGEMENT);
    expect(&stand, "listing;seen a=u-a;listed;open;");
    end(&stand);
}

static void of_a_worker_the_consent_is_told(void **state) {
    (void)state;
    struct stand stand;
    begin_watching(&stand, 1);
    expect(&stand, "listing;seen a=u-t;listed;open;");
    change(&stand, WATCH, "{\"type\":\"MODIFIED\",\"object\":" METADATA("", "6") "}\n");
    expect(&stand, "seen a;");
    change(&stand, WATCH, "{\"type\":\"MODIFIED\",\"object\":" METADATA(CONSENT, "7") "}\n");
    expect(&stand, "seen a=u-t;");
    change(&stand, WATCH, "{\"type\":\"DELETED\",\"object\":" METADATA(CONSENT, "8") "}\n");
    expect(&stand, "gone a;");
    end(&stand);
}

static void a_refused_or_closed_watch_is_lost(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    answer(&stand, "/api/v1", 200, DISCOVERY);
    answer(&stand, "/api/v1/namespaces?limit", 403, FORBIDDEN);
    expect(&stand, "lost;");
    notify(&stand, &(struct cluster_notice){.type = NOTICE_CLOSING});
    expect(&stand, "lost;");
    notify(&stand, &(struct cluster_notice){.type = NOTICE_UNWANTED});
    expect(&stand, "off;");
    end(&stand);
}

static void without_the_setting_it_does_not_run(void **state) {
    (void)state;
    assert_false(tenants_watcher.wanted(&(struct cluster_io_settings){.namespaces = true}));
    assert_true(tenants_watcher.wanted(&(struct cluster_io_settings){.tenants = true}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_management_cluster_the_uid_is_told),
        cmocka_unit_test(of_a_worker_the_consent_is_told),
        cmocka_unit_test(a_refused_or_closed_watch_is_lost),
        cmocka_unit_test(without_the_setting_it_does_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
