// SPDX-License-Identifier: Apache-2.0
// Workloads of Kueue and the objects that they are of, in any order, on a fake transport and virtual time.
#include "core/host/watchers/watcher.h"

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/kube/client/client.h"
#include "tests/unit/host/dispatch_play.h"
#include "tests/unit/kube/fake_transport.h"

#define DISCOVERY                                                                                                      \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"workloads\",\"kind\":\"Workload\",\"verbs\":[\"list\","  \
    "\"watch\"]}]}"
#define PATH "/apis/kueue.x-k8s.io/v1beta2"
#define WORKLOAD(uid, version, owner, active) WORKLOAD_IN("n", uid, version, owner, active)
#define WORKLOAD_IN(space, uid, version, owner, active)                                                                \
    "{\"metadata\":{\"name\":\"w-" owner "\",\"namespace\":\"" space "\",\"uid\":\"" uid                               \
    "\",\"resourceVersion\":\"" version "\",\"ownerReferences\":[{\"uid\":\"" owner                                    \
    "\",\"controller\":true}]},\"spec\":{\"active\":" active ",\"queueName\":\"q\"}}"
#define LIST(items)                                                                                                    \
    "{\"kind\":\"WorkloadList\",\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"metadata\":{\"resourceVersion\":\"5\"},"   \
    "\"items\":[" items "]}"
#define FORBIDDEN "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"m\"}"

#define KEPT ((size_t)512 << 10)

struct stand {
    struct fake_transport fake;
    struct budget budget;
    struct cluster_scope scope;
    void *workloads;
    struct buffer told;
    struct moment now;
    size_t watch;
};

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    struct engine_event own;
    assert_null(engine_event_own(event, &own)); // as the inbox does
    assert_int_equal(own.type, EVENT_QUEUED);
    assert_int_equal(own.cluster, 1);
    static const char *const phases[] = {"gone", "pending", "reserved", "runs", "inactive", "over"};
    buffer_printf(&stand->told, "%zu %s/%s %s %s;", own.kind, own.queued.namespace_, own.queued.name, own.queued.uid,
                  phases[own.queued.state->phase]);
    engine_event_clear(&own);
}

static void tick(struct stand *stand) {
    (void)kueue_watcher.step(stand->workloads, stand->now);
}

static void pass(struct stand *stand, int64_t ns) {
    stand->now.mono_ns += ns;
    tick(stand);
}

static void answer(struct stand *stand, const char *path, int status, const char *body) {
    fake_answer(&stand->fake, fake_asked(&stand->fake, path), status, body);
    tick(stand);
}

static void notify(struct stand *stand, const struct cluster_notice *notice) {
    kueue_watcher.handle(stand->workloads, notice);
}

static void seen(struct stand *stand, const char *name, bool queued) {
    AUTO_TEXT text = text_format("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"%s\",\"labels\":{%s}}}",
                                 name, name, queued ? "\"kueue.x-k8s.io/queue-name\":\"q\"" : "");
    struct json *object = NULL;
    assert_null(json_parse(text, strlen(text), &object));
    notify(stand,
           &(struct cluster_notice){.type = NOTICE_SEEN, .kind = 3, .object = &(struct object){.value = object}});
    json_free(object);
    tick(stand);
}

static void gone(struct stand *stand, const char *name) {
    AUTO_TEXT text = text_format("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"%s\"}}", name, name);
    struct json *object = NULL;
    assert_null(json_parse(text, strlen(text), &object));
    notify(stand,
           &(struct cluster_notice){.type = NOTICE_GONE, .kind = 3, .object = &(struct object){.value = object}});
    json_free(object);
    tick(stand);
}

static void begin(struct stand *stand) {
    *stand = (struct stand){.now = {1000 * CLOCK_SECOND, 1767323045 * CLOCK_SECOND}};
    fake_init(&stand->fake);
    buffer_init(&stand->told, 1 << 20);
    budget_init(&stand->budget, 4 * KEPT, 0, 0, NULL);
    stand->scope = (struct cluster_scope){.cluster = 1,
                                          .name = "w1",
                                          .transport = &stand->fake.base,
                                          .budget = &stand->budget,
                                          .seed = 1,
                                          .post = take,
                                          .ctx = stand};
    assert_null(watcher_start(&kueue_watcher, &stand->scope, &stand->workloads));
    tick(stand);
}

// The watch is open; `items` were listed.
static void open_watch(struct stand *stand, const char *items) {
    answer(stand, PATH, 200, DISCOVERY);
    AUTO_TEXT list = text_format(LIST("%s"), items);
    answer(stand, PATH "/workloads?limit", 200, list);
    stand->watch = fake_find(&stand->fake, PATH "/workloads?watch=true");
    assert_true(stand->watch > 0);
    fake_open(&stand->fake, stand->watch);
    tick(stand);
}

static void happens(struct stand *stand, const char *type, const char *workload) {
    AUTO_TEXT line = text_format("{\"type\":\"%s\",\"object\":%s}\n", type, workload);
    (void)fake_data(&stand->fake, stand->watch, line, strlen(line));
    tick(stand);
}

static void expect(struct stand *stand, const char *text) {
    assert_string_equal(stand->told.data ? stand->told.data : "", text);
    buffer_free(&stand->told);
}

static void end(struct stand *stand) {
    watcher_stop(&kueue_watcher, stand->workloads);
    assert_int_equal(stand->budget.kept, 0);
    buffer_free(&stand->told);
    fake_free(&stand->fake);
}

static void nothing_is_watched_before_an_object_is_in_a_queue(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    seen(&stand, "a", false);
    pass(&stand, CLOCK_MINUTE);
    assert_int_equal(stand.fake.count, 0);
    seen(&stand, "b", true);
    assert_int_equal(stand.fake.count, 1);
    end(&stand);
}

static void a_workload_is_told_once_its_object_was_seen_whichever_comes_first(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    seen(&stand, "a", true);
    open_watch(&stand, WORKLOAD("1", "2", "a", "true"));
    expect(&stand, "3 n/a a pending;");
    happens(&stand, "ADDED", WORKLOAD("2", "6", "b", "true"));
    happens(&stand, "ADDED", WORKLOAD("3", "7", "stranger", "true"));
    expect(&stand, "");
    seen(&stand, "b", false);
    expect(&stand, "3 n/b b pending;");
    seen(&stand, "b", false); // it has not changed
    expect(&stand, "");
    happens(&stand, "MODIFIED", WORKLOAD("2", "8", "b", "false"));
    expect(&stand, "3 n/b b inactive;");
    end(&stand);
}

static void a_workload_that_is_deleted_is_told_unless_there_is_a_newer_one(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    seen(&stand, "a", true);
    open_watch(&stand, WORKLOAD("1", "2", "a", "true"));
    happens(&stand, "ADDED", WORKLOAD("2", "6", "a", "false"));
    happens(&stand, "DELETED", WORKLOAD("1", "7", "a", "true"));
    expect(&stand, "3 n/a a pending;3 n/a a inactive;");
    happens(&stand, "DELETED", WORKLOAD("2", "8", "a", "false"));
    expect(&stand, "3 n/a a gone;");
    gone(&stand, "a");
    happens(&stand, "ADDED", WORKLOAD("4", "9", "a", "true"));
    expect(&stand, "");
    end(&stand);
}

// Whoever may write Workloads in one namespace says nothing of what is in another one.
static void a_workload_of_another_namespace_is_not_of_the_object(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    seen(&stand, "a", true);
    open_watch(&stand, WORKLOAD_IN("other", "f1", "3", "a", "false") "," WORKLOAD("u1", "4", "a", "true"));
    expect(&stand, "3 n/a a pending;");
    happens(&stand, "MODIFIED", WORKLOAD_IN("other", "f1", "6", "a", "false"));
    happens(&stand, "ADDED", WORKLOAD_IN("other", "f2", "7", "b", "false"));
    seen(&stand, "b", true);
    happens(&stand, "DELETED", WORKLOAD_IN("other", "f1", "8", "a", "false"));
    expect(&stand, "");
    happens(&stand, "MODIFIED", WORKLOAD("u1", "9", "a", "false"));
    expect(&stand, "3 n/a a inactive;");
    end(&stand);
}

static void what_a_later_list_lacks_is_gone(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    seen(&stand, "a", true);
    seen(&stand, "b", true);
    open_watch(&stand, WORKLOAD("1", "2", "a", "true") "," WORKLOAD("2", "3", "b", "true"));
    buffer_free(&stand.told);
    happens(&stand, "ERROR", "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410,\"reason\":\"Expired\"}");
    for (int i = 0; i < 100 && !fake_find(&stand.fake, PATH "/workloads?limit"); i++)
        pass(&stand, CLOCK_SECOND);
    answer(&stand, PATH "/workloads?limit", 200, LIST(WORKLOAD("2", "8", "b", "false")));
    expect(&stand, "3 n/a a gone;3 n/b b inactive;");
    notify(&stand, &(struct cluster_notice){.type = NOTICE_LISTING, .kind = 3, .version = "v1"});
    seen(&stand, "b", true);
    notify(&stand, &(struct cluster_notice){.type = NOTICE_LISTED, .kind = 3}); // a is gone
    seen(&stand, "a", true);
    expect(&stand, ""); // known anew
    end(&stand);
}

static void a_watch_that_is_refused_is_tried_again_after_ten_minutes(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    seen(&stand, "a", true);
    answer(&stand, PATH, 200, DISCOVERY);
    answer(&stand, PATH "/workloads?limit", 403, FORBIDDEN);
    pass(&stand, 0);
    size_t count = stand.fake.count;
    for (int i = 0; i < 9; i++)
        pass(&stand, CLOCK_MINUTE);
    assert_int_equal(stand.fake.count, count);
    pass(&stand, CLOCK_MINUTE);
    assert_int_equal(stand.fake.count, count + 1);
    end(&stand);
}

// The object of a Workload may be seen a moment later; those of all others are forgotten.
static void workloads_without_an_object_are_bounded(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    seen(&stand, "a", true);
    open_watch(&stand, "");
    for (int i = 0; i < 3000; i++) {
        AUTO_TEXT text = text_format(WORKLOAD("u%d", "%d", "s%d", "true"), i, 10 + i, i, i);
        happens(&stand, "ADDED", text);
    }
    buffer_free(&stand.told);
    seen(&stand, "s1", true);
    expect(&stand, "");
    seen(&stand, "s2999", true);
    expect(&stand, "3 n/s2999 s2999 pending;");
    end(&stand);
}

static void what_a_worker_sends_is_kept_within_its_budget(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    seen(&stand, "a", true);
    open_watch(&stand, "");
    AUTO_BUFFER(large, 1 << 20);
    while (large.len < KEPT + 1)
        buffer_text(&large, "0123456789");
    AUTO_TEXT queue = text_format("{\"metadata\":{\"name\":\"w\",\"uid\":\"1\",\"resourceVersion\":\"6\","
                                  "\"ownerReferences\":[{\"uid\":\"a\",\"controller\":true}]},\"spec\":{"
                                  "\"queueName\":\"%s\"}}",
                                  large.data);
    happens(&stand, "ADDED", queue);
    AUTO_TEXT message = text_format("{\"metadata\":{\"name\":\"w\",\"uid\":\"1\",\"resourceVersion\":\"7\","
                                    "\"ownerReferences\":[{\"uid\":\"a\",\"controller\":true}]},\"status\":{"
                                    "\"conditions\":[{\"type\":\"QuotaReserved\",\"message\":\"%s\"}]}}",
                                    large.data);
    happens(&stand, "MODIFIED", message);
    expect(&stand, "");
    happens(&stand, "MODIFIED", WORKLOAD("1", "8", "a", "true"));
    expect(&stand, "3 n/a a pending;");
    for (int i = 0; i < 5000; i++) {
        AUTO_TEXT name = text_format("b%d", i);
        seen(&stand, name, true);
    }
    assert_in_range(stand.budget.kept, KEPT / 2, KEPT);
    gone(&stand, "b1");
    happens(&stand, "MODIFIED", WORKLOAD("1", "9", "a", "false"));
    expect(&stand, "3 n/a a inactive;");
    end(&stand);
}

// A label was taken off and put back, or a list lacked it meanwhile.
static void an_object_that_comes_back_is_told_the_workload_that_did_not_change(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    seen(&stand, "a", true);
    open_watch(&stand, WORKLOAD("k-a", "4", "a", "false"));
    expect(&stand, "3 n/a a inactive;");
    gone(&stand, "a");
    expect(&stand, "");
    seen(&stand, "a", true);
    expect(&stand, "3 n/a a inactive;");
    notify(&stand, &(struct cluster_notice){.type = NOTICE_LISTING, .kind = 3, .version = "v1"});
    notify(&stand, &(struct cluster_notice){.type = NOTICE_LISTED, .kind = 3});
    tick(&stand);
    expect(&stand, "");
    seen(&stand, "a", true);
    expect(&stand, "3 n/a a inactive;");
    gone(&stand, "a");
    happens(&stand, "DELETED", WORKLOAD("k-a", "6", "a", "false"));
    seen(&stand, "a", true);
    expect(&stand, "");
    end(&stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_watched_before_an_object_is_in_a_queue),
        cmocka_unit_test(a_workload_is_told_once_its_object_was_seen_whichever_comes_first),
        cmocka_unit_test(a_workload_that_is_deleted_is_told_unless_there_is_a_newer_one),
        cmocka_unit_test(a_workload_of_another_namespace_is_not_of_the_object),
        cmocka_unit_test(what_a_later_list_lacks_is_gone),
        cmocka_unit_test(an_object_that_comes_back_is_told_the_workload_that_did_not_change),
        cmocka_unit_test(a_watch_that_is_refused_is_tried_again_after_ten_minutes),
        cmocka_unit_test(workloads_without_an_object_are_bounded),
        cmocka_unit_test(what_a_worker_sends_is_kept_within_its_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
