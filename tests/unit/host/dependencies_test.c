// SPDX-License-Identifier: Apache-2.0
// The watches of objects that workloads refer to, on a fake transport and virtual time.
#include "tests/unit/host/watcher_stand.h"

#define DISCOVERY                                                                                                      \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"configmaps\",\"kind\":\"ConfigMap\",\"namespaced\":"     \
    "true,\"verbs\":[\"list\",\"watch\"]}]}"
#define OBJECT(name, version, more)                                                                                    \
    "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"" name             \
    "\",\"namespace\":\"n\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" version "\"" more "}}"
#define MARKED ",\"labels\":{\"wharf.dev/origin\":\"here\",\"app\":\"x\"}"
#define OTHERS ",\"labels\":{\"wharf.dev/origin\":\"there\"},\"annotations\":{\"kubectl.kubernetes.io/x\":\"secret\"}"
#define OWNED                                                                                                          \
    ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u\",\"controller\":true}]"
#define LIST(version, items)                                                                                           \
    "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/"                                            \
    "v1\",\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define FORBIDDEN "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"m\"}"
#define ALL "/api/v1/configmaps?limit=500"
#define ALL_WATCH "/api/v1/configmaps?watch"
#define ONE "/api/v1/namespaces/n/configmaps?fieldSelector=metadata.name%3D"

static size_t bytes; // of the metadata in all news

static void take(void *ctx, struct engine_event *event) {
    static const char *const news[] = {[DEPENDENCIES_FORGOTTEN] = "forgotten",
                                       [DEPENDENCIES_LISTING] = "listing",
                                       [DEPENDENCIES_LISTED] = "listed",
                                       [DEPENDENCY_SEEN] = "seen",
                                       [DEPENDENCY_GONE] = "gone",
                                       [DEPENDENCIES_LOST] = "lost",
                                       [DEPENDENCIES_REFUSED] = "refused"};
    struct stand *stand = ctx;
    const struct object *metadata = event->dependency.metadata;
    assert_int_equal(event->type, EVENT_DEPENDENCY);
    assert_int_equal(!metadata, event->dependency.news != DEPENDENCY_SEEN);
    if (event->dependency.resource)
        assert_string_equal(event->dependency.resource, "configmaps");
    buffer_text(&stand->told, news[event->dependency.news]);
    if (event->dependency.name)
        buffer_printf(&stand->told, " %s/%s", event->dependency.namespace_, event->dependency.name);
    if (metadata)
        buffer_printf(&stand->told, "@%s", object_version(metadata->value));
    if (event->dependency.news == DEPENDENCIES_REFUSED)
        assert_non_null(event->dependency.problem);
    bytes += metadata ? metadata->len : 0;
    buffer_text(&stand->told, "; ");
}

static void begin(struct stand *stand, size_t cluster) {
    bytes = 0;
    start(stand, &dependencies_watcher, &(struct cluster_scope){.cluster = cluster, .origin = "here"}, take);
    expect(stand, "forgotten; ");
    assert_int_equal(stand->fake.count, 0);
}

static void wish_for(struct stand *stand, const char *name, bool wanted) {
    const struct dependency_wish wish = {.resource = "configmaps",
                                         .version = "v1",
                                         .namespace_ = *name ? "n" : "",
                                         .name = name,
                                         .cluster = stand->scope.cluster,
                                         .wanted = wanted};
    notify(stand, &(struct cluster_notice){.type = NOTICE_WISH, .wish = &wish});
    pass(stand, 0);
}

static void discover(struct stand *stand) {
    assert_string_equal(fake_at(&stand->fake, find(stand, "/api/v1"))->request.path, "/api/v1");
    answer(stand, "/api/v1", 200, DISCOVERY);
}

// All ConfigMaps of the cluster are watched, with these in the list.
static void watch_all(struct stand *stand, const char *list) {
    wish_for(stand, "", true);
    discover(stand);
    answer(stand, ALL, 200, list);
    open_stream(stand, ALL_WATCH);
}

static void of_all_objects_the_wished_ones_are_told(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, ENGINE_MANAGEMENT);
    wish_for(&stand, "", true);
    wish_for(&stand, "a", true);
    wish_for(&stand, "missing", true);
    discover(&stand);
    assert_true(text_has_prefix(fake_at(&stand.fake, find(&stand, ALL))->request.accept,
                                "application/json;as=PartialObjectMetadataList;"));
    answer(&stand, ALL, 200, LIST("5", OBJECT("a", "3", OTHERS) "," OBJECT("b", "4", MARKED)));
    open_stream(&stand, ALL_WATCH);
    expect(&stand, "listing; seen n/a@3; gone n/missing; listed; ");
    change(&stand, ALL_WATCH, EVENT("MODIFIED", OBJECT("b", "6", "")));
    change(&stand, ALL_WATCH, EVENT("MODIFIED", OBJECT("a", "7", "")));
    change(&stand, ALL_WATCH, EVENT("DELETED", OBJECT("a", "8", "")));
    change(&stand, ALL_WATCH, EVENT("ADDED", OBJECT("missing", "9", "")));
    expect(&stand, "seen n/a@7; gone n/a; seen n/missing@9; ");
    wish_for(&stand, "a", false);
    change(&stand, ALL_WATCH, EVENT("ADDED", OBJECT("a", "10", "")));
    expect(&stand, "");
    end(&stand);
}

static void a_worker_tells_what_has_the_mark_of_the_host_too(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    watch_all(&stand, LIST("5", OBJECT("a", "3", OTHERS) "," OBJECT("b", "4", MARKED)));
    expect(&stand, "listing; seen n/b@4; listed; ");
    change(&stand, ALL_WATCH, EVENT("DELETED", OBJECT("b", "6", MARKED)));
    change(&stand, ALL_WATCH, EVENT("DELETED", OBJECT("a", "7", OTHERS)));
    expect(&stand, "gone n/b; ");
    end(&stand);
}

// Labels and annotations of others are cut off: an annotation may have the content of a Secret.
static void only_the_metadata_that_concerns_the_host_is_told(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    wish_for(&stand, "a", true);
    answer(&stand, ONE "a", 200, LIST("5", OBJECT("a", "3", OTHERS)));
    size_t once = bytes;
    open_stream(&stand, ONE "a&watch");
    change(&stand, ONE "a&watch", EVENT("MODIFIED", OBJECT("a", "4", OTHERS)));
    expect(&stand, "listing n/a; seen n/a@3; listed n/a; seen n/a@4; ");
    assert_int_equal(bytes, 2 * once);
    assert_int_equal(once, strlen(OBJECT("a", "3", ",\"labels\":{\"wharf.dev/origin\":\"there\"},\"annotations\":{}")));
    end(&stand);
}

// A copy with a controller is none of the host's.
static void the_owners_are_told(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    wish_for(&stand, "a", true);
    answer(&stand, ONE "a", 200, LIST("5", OBJECT("a", "3", OWNED)));
    expect(&stand, "listing n/a; seen n/a@3; ");
    assert_int_equal(bytes, strlen(OBJECT("a", "3", OWNED)));
    end(&stand);
}

static void a_wish_after_the_list_costs_one_read(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    watch_all(&stand, LIST("5", OBJECT("a", "3", "")));
    buffer_free(&stand.told);
    wish_for(&stand, "a", true);
    wish_for(&stand, "b", true);
    wish_for(&stand, "a", true);
    answer(&stand, ONE "a", 200, LIST("9", OBJECT("a", "7", "")));
    answer(&stand, ONE "b", 200,
           "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":null}");
    expect(&stand, "seen n/a@7; gone n/b; ");
    assert_int_equal(find(&stand, ONE), 0);
    // The watch lags behind the reads.
    change(&stand, ALL_WATCH, EVENT("MODIFIED", OBJECT("a", "6", "")));
    change(&stand, ALL_WATCH, EVENT("DELETED", OBJECT("b", "8", "")));
    change(&stand, ALL_WATCH, EVENT("MODIFIED", OBJECT("a", "7", "")));
    expect(&stand, "");
    change(&stand, ALL_WATCH, EVENT("MODIFIED", OBJECT("a", "11", "")));
    change(&stand, ALL_WATCH, EVENT("ADDED", OBJECT("b", "12", "")));
    expect(&stand, "seen n/a@11; seen n/b@12; ");
    end(&stand);
}

static void the_watch_knows_better_than_a_read_that_began_before(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    watch_all(&stand, LIST("5", ""));
    buffer_free(&stand.told);
    wish_for(&stand, "a", true);
    wish_for(&stand, "b", true);
    change(&stand, ALL_WATCH, EVENT("ADDED", OBJECT("a", "6", "")));
    answer(&stand, ONE "a", 200, LIST("5", ""));
    expect(&stand, "seen n/a@6; ");
    wish_for(&stand, "b", false);
    answer(&stand, ONE "b", 200, LIST("5", OBJECT("b", "4", "")));
    expect(&stand, "");
    end(&stand);
}

static void a_failed_read_is_repeated(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    watch_all(&stand, LIST("5", ""));
    buffer_free(&stand.told);
    wish_for(&stand, "a", true);
    answer(&stand, ONE "a", 500, "{}");
    assert_int_equal(find(&stand, ONE), 0);
    pass(&stand, CLOCK_SECOND);
    answer(&stand, ONE "a", 200, "{\"kind\":\"ConfigMap\"}");
    assert_int_equal(find(&stand, ONE), 0);
    pass(&stand, CLOCK_SECOND);
    answer(&stand, ONE "a", 200, LIST("5", OBJECT("a", "4", "")));
    expect(&stand, "seen n/a@4; ");
    end(&stand);
}

static void for_many_late_wishes_all_are_listed_again(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    watch_all(&stand, LIST("5", ""));
    buffer_free(&stand.told);
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct dependency_wish wish = {
            .resource = "configmaps", .version = "v1", .namespace_ = "n", .name = names[i], .wanted = true};
        notify(&stand, &(struct cluster_notice){.type = NOTICE_WISH, .wish = &wish});
    }
    pass(&stand, 0);
    assert_int_equal(find(&stand, ONE), 0);
    answer(&stand, ALL, 200, LIST("6", OBJECT("a", "4", "")));
    assert_true(text_has_prefix(stand.told.data, "listing; seen n/a@4; gone n/"));
    assert_int_equal(stand.told.len, strlen("listing; seen n/a@4; ") + 9 * strlen("gone n/b; "));
    assert_int_equal(find(&stand, ONE), 0);
    end(&stand);
}

static void an_object_wished_during_a_list_is_not_taken_for_missing(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    wish_for(&stand, "", true);
    discover(&stand);
    answer(&stand, ALL, 200,
           "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"t\"},\"items\":[]}");
    wish_for(&stand, "a", true);
    answer(&stand, ALL, 200, LIST("5", ""));
    open_stream(&stand, ALL_WATCH);
    expect(&stand, "listing; listed; ");
    answer(&stand, ONE "a", 200, LIST("6", OBJECT("a", "4", "")));
    expect(&stand, "seen n/a@4; ");
    end(&stand);
}

static void without_the_right_to_all_the_wished_ones_are_watched_one_by_one(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    wish_for(&stand, "", true);
    wish_for(&stand, "a", true);
    discover(&stand);
    answer(&stand, ALL, 403, FORBIDDEN);
    expect(&stand, "lost; refused; ");
    answer(&stand, ONE "a", 200, LIST("5", OBJECT("a", "4", "")));
    open_stream(&stand, ONE "a&watch");
    expect(&stand, "listing n/a; seen n/a@4; listed n/a; ");
    for (int i = 0; i < 8; i++) { // still refused, told once
        pass(&stand, 80 * CLOCK_SECOND);
        discover(&stand);
        if (i < 7)
            answer(&stand, ALL, 403, FORBIDDEN);
    }
    expect(&stand, "");
    answer(&stand, ALL, 200, LIST("7", OBJECT("a", "4", "")));
    open_stream(&stand, ALL_WATCH);
    expect(&stand, "listing; seen n/a@4; listed; ");
    assert_int_equal(find(&stand, ONE), 0);
    end(&stand);
}

static void a_refused_object_is_told_and_tried_again(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    wish_for(&stand, "a", true);
    for (int i = 0; i < 3; i++) {
        answer(&stand, ONE "a", 403, FORBIDDEN);
        expect(&stand, i == 0 ? "lost n/a; refused n/a; " : "");
        assert_int_equal(find(&stand, "/"), 0);
        pass(&stand, 10 * CLOCK_SECOND);
    }
    answer(&stand, ONE "a", 200, LIST("5", ""));
    open_stream(&stand, ONE "a&watch");
    expect(&stand, "listing n/a; gone n/a; listed n/a; ");
    wish_for(&stand, "a", false);
    assert_int_equal(find(&stand, "/"), 0);
    end(&stand);
}

static void while_credentials_are_rejected_nothing_is_tried(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    wish_for(&stand, "", true);
    wish_for(&stand, "a", true);
    answer(&stand, "/api/v1", 401, "{}");
    expect(&stand, "lost; ");
    stand.scope.rejected = true;
    pass(&stand, CLOCK_MINUTE);
    assert_int_equal(find(&stand, "/"), 0);
    stand.scope.rejected = false;
    notify(&stand, &(struct cluster_notice){.type = NOTICE_REACHED});
    pass(&stand, 0);
    discover(&stand);
    answer(&stand, ALL, 200, LIST("5", OBJECT("a", "4", "")));
    open_stream(&stand, ALL_WATCH);
    expect(&stand, "listing; seen n/a@4; listed; ");
    end(&stand);
}

static void an_object_of_a_resource_that_is_not_served_is_refused(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    wish_for(&stand, "a", true);
    answer(&stand, ONE "a", 404, "404 page not found");
    answer(&stand, "/api/v1", 200, "{\"kind\":\"APIResourceList\",\"resources\":[]}");
    expect(&stand, "refused n/a; ");
    pass(&stand, 2 * CLOCK_SECOND);
    answer(&stand, ONE "a", 200, LIST("5", OBJECT("a", "4", "")));
    expect(&stand, "listing n/a; seen n/a@4; ");
    end(&stand);
}

static void a_resource_that_is_not_served_is_refused(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    wish_for(&stand, "", true);
    wish_for(&stand, "a", true);
    answer(&stand, "/api/v1", 404, "{}");
    expect(&stand, "refused; ");
    assert_int_equal(find(&stand, "/"), 0); // nothing to watch one by one
    pass(&stand, 2 * CLOCK_SECOND);
    discover(&stand);
    answer(&stand, ALL, 200, LIST("5", OBJECT("a", "4", "")));
    expect(&stand, "listing; seen n/a@4; ");
    end(&stand);
}

static void a_watch_that_resumes_says_so(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    watch_all(&stand, LIST("5", ""));
    expect(&stand, "listing; listed; ");
    pass(&stand, CLOCK_MINUTE);
    fake_break(&stand.fake, find(&stand, ALL_WATCH), 200);
    pass(&stand, 0);
    fake_refuse(&stand.fake, find(&stand, "/api/v1/configmaps?limit=1"));
    pass(&stand, 0);
    expect(&stand, "lost; ");
    notify(&stand, &(struct cluster_notice){.type = NOTICE_REACHED});
    pass(&stand, 0);
    size_t proof = find(&stand, "/api/v1/configmaps?limit=1");
    (void)fake_data(&stand.fake, proof, LIST("5", ""), strlen(LIST("5", "")));
    fake_answer_text(&stand.fake, proof, 200, "");
    pass(&stand, 0);
    open_stream(&stand, ALL_WATCH);
    pass(&stand, 2 * CLOCK_SECOND);
    expect(&stand, "listed; ");
    end(&stand);
}

static void what_is_watched_is_lost_with_the_connection(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    watch_all(&stand, LIST("5", ""));
    expect(&stand, "listing; listed; ");
    notify(&stand, &(struct cluster_notice){.type = NOTICE_CLOSING, .problem = "closed"});
    expect(&stand, "lost; ");
    end(&stand);
    begin(&stand, 1);
    wish_for(&stand, "a", true);
    notify(&stand, &(struct cluster_notice){.type = NOTICE_CLOSING, .problem = "closed"});
    expect(&stand, "lost n/a; ");
    end(&stand);
}

static void a_restored_cluster_is_listed_again(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    watch_all(&stand, LIST("50", OBJECT("a", "40", "")));
    wish_for(&stand, "a", true);
    answer(&stand, ONE "a", 200, LIST("50", OBJECT("a", "40", "")));
    expect(&stand, "listing; listed; seen n/a@40; ");
    notify(&stand, &(struct cluster_notice){.type = NOTICE_REWOUND, .problem = "restored"});
    pass(&stand, 0);
    answer(&stand, ALL, 200, LIST("30", OBJECT("a", "20", "")));
    expect(&stand, "listing; seen n/a@20; ");
    end(&stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_all_objects_the_wished_ones_are_told),
        cmocka_unit_test(a_worker_tells_what_has_the_mark_of_the_host_too),
        cmocka_unit_test(only_the_metadata_that_concerns_the_host_is_told),
        cmocka_unit_test(the_owners_are_told),
        cmocka_unit_test(a_wish_after_the_list_costs_one_read),
        cmocka_unit_test(the_watch_knows_better_than_a_read_that_began_before),
        cmocka_unit_test(a_failed_read_is_repeated),
        cmocka_unit_test(for_many_late_wishes_all_are_listed_again),
        cmocka_unit_test(an_object_wished_during_a_list_is_not_taken_for_missing),
        cmocka_unit_test(without_the_right_to_all_the_wished_ones_are_watched_one_by_one),
        cmocka_unit_test(a_refused_object_is_told_and_tried_again),
        cmocka_unit_test(while_credentials_are_rejected_nothing_is_tried),
        cmocka_unit_test(an_object_of_a_resource_that_is_not_served_is_refused),
        cmocka_unit_test(a_resource_that_is_not_served_is_refused),
        cmocka_unit_test(a_watch_that_resumes_says_so),
        cmocka_unit_test(what_is_watched_is_lost_with_the_connection),
        cmocka_unit_test(a_restored_cluster_is_listed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
