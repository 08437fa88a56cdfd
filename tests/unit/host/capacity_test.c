// SPDX-License-Identifier: Apache-2.0
// From the nodes and pods of a worker to views of what is left, on a fake transport and virtual time.
#include "core/host/watchers/watcher.h"

#include "core/base/text.h"
#include "tests/unit/kube/fake_transport.h"

#define DISCOVERY                                                                                                      \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"nodes\",\"kind\":\"Node\",\"verbs\":[\"list\","          \
    "\"watch\"]},"                                                                                                     \
    "{\"name\":\"pods\",\"kind\":\"Pod\",\"verbs\":[\"list\",\"watch\"]}]}"
#define NODE(name, cpu)                                                                                                \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"" name "\",\"resourceVersion\":\"1\"},\"status\":{\"allocatable\"" \
    ":{\"cpu\":\"" cpu                                                                                                 \
    "\"},\"images\":[{\"names\":[\"x\"]}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}"
#define POD(name, node, cpu)                                                                                           \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"" name                                                             \
    "\",\"resourceVersion\":\"2\"},\"spec\":{\"nodeName\":\"" node                                                     \
    "\",\"containers\":[{\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}]}}"
#define LIST(kind, items) "{\"kind\":\"" kind "List\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define STATUS(code, reason)                                                                                           \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"m\"}"
#define PODS "/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&"

#define KEPT ((size_t)128 << 10)

struct stand {
    struct fake_transport fake;
    struct budget budget;
    struct cluster_scope scope;
    void *watch;
    struct buffer told;
    struct moment now;
};

static void take(void *ctx, struct engine_event *event) {
    static const char *const states[] = {"off", "reading", "known", "stale", "unknown"};
    struct stand *stand = ctx;
    struct engine_event own;
    assert_null(engine_event_own(event, &own)); // as the inbox does
    assert_int_equal(own.type, EVENT_CAPACITY);
    const struct nodes *nodes = own.capacity.nodes;
    assert_int_equal(own.capacity.state == CAPACITY_KNOWN, (bool)nodes);
    buffer_text(&stand->told, states[own.capacity.state]);
    for (size_t n = 0; nodes && n < nodes->count; n++)
        buffer_printf(&stand->told, " %lld", (long long)nodes->left[n * nodes->names.count]);
    buffer_text(&stand->told, ";");
    engine_event_clear(&own);
}

static void expect(struct stand *stand, const char *text) {
    assert_string_equal(stand->told.data ? stand->told.data : "", text);
    buffer_free(&stand->told);
}

static void pass(struct stand *stand, int64_t ns) {
    stand->now.mono_ns += ns;
    for (int i = 0; i < 5; i++)
        (void)capacity_watcher.step(stand->watch, stand->now);
}

static void answer(struct stand *stand, const char *path, int status, const char *body) {
    fake_answer(&stand->fake, fake_asked(&stand->fake, path), status, body);
    pass(stand, 0);
}

static void open_watch(struct stand *stand, const char *path) {
    fake_open(&stand->fake, fake_asked(&stand->fake, path));
    pass(stand, 0);
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
    assert_null(watcher_start(&capacity_watcher, &stand->scope, &stand->watch));
    expect(stand, "reading;"); // before anything else of the worker
    pass(stand, 0);
    answer(stand, "/api/v1", 200, DISCOVERY);
    answer(stand, "/api/v1", 200, DISCOVERY);
}

static void begin_known(struct stand *stand) {
    begin(stand);
    answer(stand, "/api/v1/nodes?limit", 200, LIST("Node", NODE("a", "4") "," NODE("b", "2")));
    open_watch(stand, "/api/v1/nodes?watch");
    expect(stand, ""); // not without the pods
    answer(stand, PODS "limit", 200, LIST("Pod", POD("p", "a", "1")));
    open_watch(stand, PODS "watch");
    pass(stand, CLOCK_SECOND);
    expect(stand, "known 3000 2000;");
}

static void end(struct stand *stand) {
    watcher_stop(&capacity_watcher, stand->watch);
    assert_int_equal(stand->budget.kept, 0);
    buffer_free(&stand->told);
    fake_free(&stand->fake);
}

static void happens(struct stand *stand, const char *path, const char *line) {
    assert_true(fake_data(&stand->fake, fake_find(&stand->fake, path), line, strlen(line)));
    pass(stand, 0);
}

static void what_is_left_is_told_once_both_lists_are_complete_and_when_it_changes(void **state) {
    (void)state;
    struct stand stand;
    begin_known(&stand);
    pass(&stand, CLOCK_MINUTE);
    expect(&stand, ""); // nothing has changed
    happens(&stand, PODS "watch", EVENT("ADDED", POD("q", "b", "500m")));
    expect(&stand, "known 3000 1500;");
    happens(&stand, PODS "watch", EVENT("DELETED", POD("p", "a", "1")));
    happens(&stand, PODS "watch", EVENT("DELETED", POD("q", "b", "500m")));
    expect(&stand, ""); // not more often than twice a second
    pass(&stand, CLOCK_SECOND);
    expect(&stand, "known 4000 2000;");
    happens(&stand, "/api/v1/nodes?watch", EVENT("MODIFIED", NODE("a", "8")));
    pass(&stand, CLOCK_SECOND);
    expect(&stand, "known 8000 2000;");
    end(&stand);
}

static void a_worker_that_forbids_it_is_told_and_a_grant_is_noticed_within_seconds(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    for (int i = 0; i < 20; i++) {
        answer(&stand, "/api/v1/nodes?limit", 403, STATUS(403, "Forbidden"));
        pass(&stand, 0);
        assert_int_equal(fake_find(&stand.fake, "/"), 0); // pods are not asked for
        pass(&stand, 12 * CLOCK_SECOND);
    }
    expect(&stand, "unknown;");
    answer(&stand, "/api/v1/nodes?limit", 200, LIST("Node", NODE("a", "4")));
    open_watch(&stand, "/api/v1/nodes?watch");
    answer(&stand, "/api/v1", 200, DISCOVERY);
    answer(&stand, PODS "limit", 200, LIST("Pod", ""));
    open_watch(&stand, PODS "watch");
    pass(&stand, CLOCK_SECOND);
    expect(&stand, "known 4000;");
    end(&stand);
}

static void a_lost_watch_is_told_and_so_is_its_return(void **state) {
    (void)state;
    struct stand stand;
    begin_known(&stand);
    fake_break(&stand.fake, fake_find(&stand.fake, PODS "watch"), 200);
    pass(&stand, 0);
    fake_refuse(&stand.fake, fake_find(&stand.fake, PODS));
    pass(&stand, 0);
    expect(&stand, "stale;");
    pass(&stand, CLOCK_MINUTE);
    answer(&stand, PODS "limit=1&", 200, LIST("Pod", "")); // whether the server has been restored
    pass(&stand, CLOCK_MINUTE);
    answer(&stand, PODS "limit=500", 200, LIST("Pod", ""));
    open_watch(&stand, PODS "watch");
    pass(&stand, 2 * CLOCK_SECOND);
    expect(&stand, "known 4000 2000;");
    end(&stand);
}

// Until the watch ends. Returns how many.
static size_t send_nodes(struct stand *stand, size_t count) {
    size_t sent = 0;
    for (; sent < count && fake_find(&stand->fake, "/api/v1/nodes?watch"); sent++) {
        AUTO_TEXT line = text_format(EVENT("ADDED", NODE("n%zu", "1")), sent, sent);
        happens(stand, "/api/v1/nodes?watch", line);
    }
    return sent;
}

static void list_again(struct stand *stand) {
    assert_true(fake_find(&stand->fake, "/"));
    answer(stand, "/api/v1", 200, DISCOVERY);
    answer(stand, "/api/v1", 200, DISCOVERY);
    answer(stand, "/api/v1/nodes?limit", 200, LIST("Node", NODE("a", "4")));
    answer(stand, PODS "limit", 200, LIST("Pod", ""));
    open_watch(stand, "/api/v1/nodes?watch");
    open_watch(stand, PODS "watch");
    pass(stand, CLOCK_SECOND);
    expect(stand, "known 4000;");
}

// It is unknown, nothing is kept, and nothing is requested before `ns` have passed.
static void expect_given_up(struct stand *stand, int64_t ns) {
    assert_non_null(stand->told.data);
    assert_true(text_has_suffix(stand->told.data, "unknown;"));
    assert_null(strstr(stand->told.data, "unknown;known"));
    buffer_free(&stand->told);
    assert_int_equal(stand->budget.kept, 0);
    pass(stand, ns - CLOCK_SECOND);
    assert_int_equal(fake_find(&stand->fake, "/"), 0);
    expect(stand, "");
}

static void more_nodes_than_the_budget_allows_are_not_kept_and_tried_again_with_growing_delays(void **state) {
    (void)state;
    struct stand stand;
    begin_known(&stand);
    for (int64_t delay_ns = CLOCK_MINUTE; delay_ns <= 8 * CLOCK_MINUTE; delay_ns *= 2) {
        assert_in_range(send_nodes(&stand, 10000), 50, 9999);
        expect_given_up(&stand, delay_ns);
        pass(&stand, 2 * CLOCK_SECOND);
        list_again(&stand);
    }
    pass(&stand, 60 * CLOCK_MINUTE); // all is well
    assert_in_range(send_nodes(&stand, 10000), 50, 9999);
    expect_given_up(&stand, CLOCK_MINUTE);
    end(&stand);
}

static void a_page_of_too_many_nodes_is_not_kept(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    AUTO_BUFFER(page, 1 << 22);
    buffer_text(&page,
                "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"c\"},\"items\":[");
    for (int i = 0; i < 2000; i++)
        buffer_printf(&page, "%s" NODE("n%d", "1"), i > 0 ? "," : "", i, i);
    buffer_text(&page, "]}");
    answer(&stand, "/api/v1/nodes?limit", 200, page.data);
    expect_given_up(&stand, CLOCK_MINUTE);
    end(&stand);
}

static void more_pods_than_the_budget_allows_are_not_kept(void **state) {
    (void)state;
    struct stand stand;
    begin_known(&stand);
    size_t sent = 0;
    for (; sent < 10000 && fake_find(&stand.fake, PODS "watch"); sent++) {
        AUTO_TEXT line = text_format(EVENT("ADDED", POD("p%zu", "n%zu", "1")), sent, sent, sent);
        happens(&stand, PODS "watch", line);
    }
    assert_in_range(sent, 50, 9999);
    expect_given_up(&stand, CLOCK_MINUTE);
    end(&stand);
}

static void a_raised_budget_is_tried_at_once(void **state) {
    (void)state;
    struct stand stand;
    begin_known(&stand);
    size_t sent = send_nodes(&stand, 10000);
    expect_given_up(&stand, 10 * CLOCK_SECOND);
    budget_resize(&stand.budget, 16 * KEPT, 0, 0);
    pass(&stand, 0);
    list_again(&stand);
    assert_int_equal(send_nodes(&stand, 2 * sent), 2 * sent);
    end(&stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_is_told_once_both_lists_are_complete_and_when_it_changes),
        cmocka_unit_test(a_worker_that_forbids_it_is_told_and_a_grant_is_noticed_within_seconds),
        cmocka_unit_test(a_lost_watch_is_told_and_so_is_its_return),
        cmocka_unit_test(more_nodes_than_the_budget_allows_are_not_kept_and_tried_again_with_growing_delays),
        cmocka_unit_test(a_page_of_too_many_nodes_is_not_kept),
        cmocka_unit_test(more_pods_than_the_budget_allows_are_not_kept),
        cmocka_unit_test(a_raised_budget_is_tried_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
