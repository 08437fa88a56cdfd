// SPDX-License-Identifier: Apache-2.0
// From the Event of a pod in a worker to a remark on its mirror, on a fake transport and virtual time.
#include "core/host/pods/pod_groups.h"
#include "core/host/watchers/watcher.h"

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/kube/client/client.h"
#include "tests/unit/host/dispatch_play.h"
#include "tests/unit/kube/fake_transport.h"

#include <unistd.h>

#define DISCOVERY                                                                                                      \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"events\",\"kind\":\"Event\",\"verbs\":[\"list\","        \
    "\"watch\"]}]}"
#define EVENTS "{\"kind\":\"EventList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"
#define OWNER(api, kind, name, uid)                                                                                    \
    "\"ownerReferences\":[{\"apiVersion\":\"" api "\",\"kind\":\"" kind "\",\"name\":\"" name "\",\"uid\":\"" uid      \
    "\",\"controller\":true}]"
#define MARKS                                                                                                          \
    "\"labels\":{\"wharf.dev/origin\":\"here\",\"wharf.dev/uid\":\"wu\",\"wharf.dev/kind\":\"jobs.batch\"},"           \
    "\"annotations\":{\"wharf.dev/attempt\":\"1\"}"
#define JOB(name, uid, more)                                                                                           \
    "{\"kind\":\"Job\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"" uid "\"," more "}}"
#define STATUS(code, reason)                                                                                           \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"m\"}"

struct stand {
    struct fake_transport fake;
    struct cluster_scope scope;
    void *events;
    struct meter meter;
    struct buffer told;
    struct moment now;
    size_t watch;
    unsigned sent; // Events
};

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    struct engine_event own;
    assert_null(engine_event_own(event, &own)); // as the inbox does
    assert_int_equal(own.type, EVENT_POD_REPORT);
    buffer_printf(&stand->told, "%zu %s/%s %s %s%s: %s;", own.kind, own.pod_report.namespace_, own.pod_report.name,
                  own.pod_report.uid, own.pod_report.warning ? "" : "normal ", own.pod_report.reason,
                  own.pod_report.text);
    engine_event_clear(&own);
}

static int64_t tick(struct stand *stand) {
    return pod_events_watcher.step(stand->events, stand->now);
}

static void pass(struct stand *stand, int64_t ns) {
    stand->now.mono_ns += ns;
    stand->now.wall_ns += ns;
    (void)tick(stand);
}

static void answer(struct stand *stand, const char *path, int status, const char *body) {
    fake_answer(&stand->fake, fake_asked(&stand->fake, path), status, body);
    (void)tick(stand);
}

static void see_mirror(struct stand *stand, size_t kind, struct json *mirror) {
    pod_events_watcher.handle(
        stand->events,
        &(struct cluster_notice){.type = NOTICE_SEEN, .kind = kind, .object = &(struct object){.value = mirror}});
}

static void begin_with(struct stand *stand, bool normal) {
    *stand = (struct stand){.now = {1000 * CLOCK_SECOND, 1767323045 * CLOCK_SECOND}};
    fake_init(&stand->fake);
    buffer_init(&stand->told, 1 << 20);
    stand->scope = (struct cluster_scope){
        .cluster = 1,
        .name = "w1",
        .transport = &stand->fake.base,
        .meter = &stand->meter,
        .origin = "here",
        .settings = {.kinds = play_kinds(), .n_kinds = 1, .pod_events = normal ? POD_EVENTS_ALL : POD_EVENTS_WARNINGS},
        .seed = 1,
        .post = take,
        .ctx = stand};
    assert_null(watcher_start(&pod_events_watcher, &stand->scope, &stand->events));
    (void)tick(stand);
    assert_int_equal(stand->fake.count, 0); // no mirror was seen yet
    AUTO_JSON mirror = json_new_object();
    see_mirror(stand, 0, mirror);
    (void)tick(stand);
    answer(stand, "/api/v1", 200, DISCOVERY);
}

static void begin(struct stand *stand) {
    begin_with(stand, false);
    answer(stand, "/api/v1/events?fieldSelector=involvedObject.kind%3DPod%2Ctype%3DWarning&limit=1", 200, EVENTS);
    stand->watch =
        fake_find(&stand->fake, "/api/v1/events?fieldSelector=involvedObject.kind%3DPod%2Ctype%3DWarning&watch=true");
    assert_true(stand->watch > 0);
    fake_open(&stand->fake, stand->watch);
    (void)tick(stand);
}

static void end(struct stand *stand) {
    watcher_stop(&pod_events_watcher, stand->events);
    buffer_free(&stand->told);
    fake_free(&stand->fake);
}

static void expect(struct stand *stand, const char *text) {
    assert_string_equal(stand->told.data ? stand->told.data : "", text);
    buffer_free(&stand->told);
}

static uint64_t counted(const struct stand *stand, enum meter_pods what) {
    struct meter_reading reading;
    meter_read(&stand->meter, &reading);
    return reading.pod_events[what];
}

static void happens(struct stand *stand, const char *pod, const char *reason, const char *message) {
    AUTO_TEXT line = text_format(
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"e%u\",\"namespace\":\"n\",\"uid\":\"e%u\","
        "\"resourceVersion\":\"%u\"},\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"n\",\"name\":\"%s\",\"uid\":"
        "\"u-%s\"},\"reason\":\"%s\",\"message\":\"%s\",\"type\":\"Warning\"}}\n",
        stand->sent, stand->sent, 10 + stand->sent, pod, pod, reason, message);
    stand->sent++;
    assert_true(fake_data(&stand->fake, stand->watch, line, strlen(line)));
    (void)tick(stand);
}

static char *pod_of(const char *name, const char *owner, const char *more) {
    return text_format("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"u-%s\","
                       "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"%s\",\"uid\":\"j-"
                       "%s\",\"controller\":true}]}%s}",
                       name, name, owner, owner, more);
}

static void answer_pod(struct stand *stand, const char *name, const char *owner, const char *more) {
    AUTO_TEXT path = text_format("/api/v1/namespaces/n/pods/%s", name);
    AUTO_TEXT pod = pod_of(name, owner, more);
    answer(stand, path, 200, pod);
}

static void an_event_of_a_pod_is_told_on_the_mirror_that_owns_it_and_the_way_is_remembered(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    assert_int_equal(counted(&stand, METER_PODS_WATCHED), 1);
    happens(&stand, "a-1", "FailedMount", "no such volume");
    answer_pod(&stand, "a-1", "a", "");
    answer(&stand, "/apis/batch/v1/namespaces/n/jobs/a", 200, JOB("a", "j-a", MARKS));
    pass(&stand, POD_GROUPS_COLLECT_NS);
    expect(&stand, "0 n/a j-a FailedMount: pod a-1: no such volume;");
    size_t requests = stand.fake.count;
    happens(&stand, "a-1", "FailedMount", "another volume");
    pass(&stand, POD_GROUPS_COLLECT_NS);
    expect(&stand, "0 n/a j-a FailedMount: pod a-1: another volume;");
    assert_int_equal(stand.fake.count, requests);
    happens(&stand, "a-2", "FailedMount", "another volume"); // of another pod: its owner is known
    answer_pod(&stand, "a-2", "a", "");
    assert_int_equal(stand.fake.count, requests + 1);
    assert_int_equal(counted(&stand, METER_PODS_RECEIVED), 3);
    assert_int_equal(counted(&stand, METER_PODS_REPORTED), 2);
    end(&stand);
}

static void owners_of_owners_are_followed_also_of_kinds_that_the_host_does_not_have(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    happens(&stand, "a-1", "Failed", "x");
    answer(&stand, "/api/v1/namespaces/n/pods/a-1", 200,
           "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a-1\",\"namespace\":\"n\",\"uid\":\"u-a-1\"," OWNER(
               "acme.example/v2", "Batch", "b", "b-uid") "}}");
    answer(&stand, "/apis/acme.example/v2", 200,
           "{\"resources\":[{\"name\":\"batches/"
           "status\",\"kind\":\"Batch\"},{\"name\":\"batches\",\"kind\":\"Batch\",\"namespaced\":true}]"
           "}");
    answer(&stand, "/apis/acme.example/v2/namespaces/n/batches/b", 200,
           "{\"kind\":\"Batch\",\"metadata\":{\"name\":\"b\",\"namespace\":\"n\",\"uid\":\"b-uid\"," OWNER(
               "batch/v1", "Job", "a", "j-a") "}}");
    answer(&stand, "/apis/batch/v1/namespaces/n/jobs/a", 200, JOB("a", "j-a", MARKS));
    pass(&stand, POD_GROUPS_COLLECT_NS);
    expect(&stand, "0 n/a j-a Failed: pod a-1: x;");
    end(&stand);
}

static void what_does_not_belong_to_a_mirror_is_counted_and_read_once(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    happens(&stand, "a-1", "Failed", "x");
    answer_pod(&stand, "a-1", "a", "");
    answer(&stand, "/apis/batch/v1/namespaces/n/jobs/a", 200, JOB("a", "j-a", "\"labels\":{}")); // nobody's mirror
    happens(&stand, "b-1", "Failed", "x");
    answer_pod(&stand, "b-1", "b", "");
    answer(&stand, "/apis/batch/v1/namespaces/n/jobs/b", 404, STATUS(404, "NotFound"));
    happens(&stand, "c-1", "Failed", "x");
    answer_pod(&stand, "c-1", "c", "");
    answer(&stand, "/apis/batch/v1/namespaces/n/jobs/c", 200, JOB("c", "another", MARKS)); // of the same name
    size_t requests = stand.fake.count;
    happens(&stand, "a-1", "Failed", "x");
    happens(&stand, "b-1", "Failed", "x");
    pass(&stand, POD_GROUPS_COLLECT_NS);
    expect(&stand, "");
    assert_int_equal(stand.fake.count, requests);
    assert_int_equal(counted(&stand, METER_PODS_OTHER), 5);
    end(&stand);
}

#define KILLED                                                                                                         \
    ",\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"memory\":\"64Mi\"}}}]},\"status\":{"   \
    "\"containerStatuses\":[{\"name\":\"main\",\"lastState\":{\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":"  \
    "137,\"finishedAt\":\"2026-01-02T03:04:06Z\"}}}]}"
#define OOM_TOLD "0 n/a j-a OOMKilled: pod a-1: container main was killed because it exceeded its memory limit (64Mi);"

static void a_container_that_was_killed_for_its_memory_is_told_once_whenever_its_pod_is_read(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    happens(&stand, "a-1", "BackOff", "restarting");
    answer_pod(&stand, "a-1", "a", KILLED);
    answer(&stand, "/apis/batch/v1/namespaces/n/jobs/a", 200, JOB("a", "j-a", MARKS));
    pass(&stand, POD_GROUPS_COLLECT_NS);
    expect(&stand, "0 n/a j-a BackOff: pod a-1: restarting;" OOM_TOLD);
    pass(&stand, CLOCK_MINUTE);
    happens(&stand, "a-1", "BackOff", "restarting");
    answer_pod(&stand, "a-1", "a", KILLED); // read again, since it may have been killed again
    pass(&stand, POD_GROUPS_COLLECT_NS);
    expect(&stand, "0 n/a j-a BackOff: pod a-1: restarting;");
    end(&stand);
}

static void the_failed_pods_of_a_namespace_are_looked_at_when_more_of_a_mirrors_pods_have_failed(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    static const char *const failed[] = {"0", "1", "1", "2"};
    for (size_t i = 0; i < 4; i++) {
        AUTO_TEXT text = text_format("{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"j-a\"},\"status\":{"
                                     "\"failed\":%s}}",
                                     failed[i]);
        AUTO_JSON mirror = NULL;
        assert_null(json_parse(text, strlen(text), &mirror));
        see_mirror(&stand, 0, mirror);
        (void)tick(&stand);
        const char *path = "/api/v1/namespaces/n/pods?fieldSelector=status.phase%3DFailed&limit=100";
        if (i == 1) {
            AUTO_TEXT pod = pod_of("a-1", "a", KILLED);
            AUTO_TEXT list = text_format("{\"kind\":\"PodList\",\"metadata\":{},\"items\":[%s]}", pod);
            answer(&stand, path, 200, list);
            answer(&stand, "/apis/batch/v1/namespaces/n/jobs/a", 200, JOB("a", "j-a", MARKS));
        } else {
            assert_int_equal(fake_find(&stand.fake, path), 0); // the next one only 10 s later
        }
    }
    pass(&stand, POD_GROUPS_COLLECT_NS);
    expect(&stand, OOM_TOLD);
    pass(&stand, 10 * CLOCK_SECOND);
    assert_true(fake_find(&stand.fake, "/api/v1/namespaces/n/pods?") > 0);
    end(&stand);
}

static char *logged_by(void (*act)(struct stand *stand), struct stand *stand) {
    FILE *file = tmpfile();
    assert_non_null(file);
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    act(stand);
    dup2(saved, STDERR_FILENO);
    close(saved);
    char *text = calloc(1, 65536);
    assert_non_null(text);
    rewind(file);
    (void)!fread(text, 1, 65535, file);
    fclose(file);
    return text;
}

static void refuse_watch(struct stand *stand) {
    for (int round = 0; round < 3; round++) {
        answer(stand, "/api/v1/events?", 403, STATUS(403, "Forbidden"));
        pass(stand, 0);
        size_t requests = stand->fake.count;
        for (int i = 0; i < 9; i++)
            pass(stand, CLOCK_MINUTE);
        assert_int_equal(stand->fake.count, requests);
        pass(stand, CLOCK_MINUTE);
        answer(stand, "/api/v1", 200, DISCOVERY);
    }
}

static void a_worker_that_refuses_events_is_asked_every_ten_minutes_and_it_is_logged_once(void **state) {
    (void)state;
    struct stand stand;
    begin_with(&stand, true);
    AUTO_TEXT text = logged_by(refuse_watch, &stand);
    const char *line = strstr(text, "does not let the host watch Events");
    assert_non_null(line);
    assert_null(strstr(line + 1, "does not let the host"));
    assert_int_equal(counted(&stand, METER_PODS_WATCHED), 0);
    end(&stand);
}

static void refuse_pods(struct stand *stand) {
    happens(stand, "a-1", "Failed", "x");
    answer(stand, "/api/v1/namespaces/n/pods/a-1", 403, STATUS(403, "Forbidden"));
    size_t requests = stand->fake.count;
    happens(stand, "a-2", "Failed", "x");
    pass(stand, 9 * CLOCK_MINUTE);
    assert_int_equal(stand->fake.count, requests);
    pass(stand, CLOCK_MINUTE);
    happens(stand, "a-3", "Failed", "x");
    assert_true(fake_find(&stand->fake, "/api/v1/namespaces/n/pods/a-3") > 0);
}

static void a_worker_that_refuses_pods_is_told_of_and_what_cannot_be_read_is_counted(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    AUTO_TEXT text = logged_by(refuse_pods, &stand);
    assert_non_null(strstr(text, "does not let the host read pods"));
    assert_int_equal(counted(&stand, METER_PODS_UNREAD), 2);
    end(&stand);
}

static void what_is_read_is_limited_and_what_waits_for_it_too(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    char pod[32];
    for (unsigned i = 0; i < 300; i++) {
        snprintf(pod, sizeof pod, "p-%u", i);
        happens(&stand, pod, "Failed", "x");
    }
    assert_int_equal(counted(&stand, METER_PODS_CROWDED), 300 - 257); // one is being read
    unsigned read = 0;
    for (; fake_find(&stand.fake, "/api/v1/namespaces/n/pods/"); read++)
        answer(&stand, "/api/v1/namespaces/n/pods/", 404, STATUS(404, "NotFound"));
    assert_int_equal(read, 20);
    assert_in_range(tick(&stand), stand.now.mono_ns + 1, stand.now.mono_ns + CLOCK_SECOND / 5);
    pass(&stand, CLOCK_SECOND);
    for (read = 0; fake_find(&stand.fake, "/api/v1/namespaces/n/pods/"); read++)
        answer(&stand, "/api/v1/namespaces/n/pods/", 404, STATUS(404, "NotFound"));
    assert_int_equal(read, 5);
    end(&stand);
}

static void texts_longer_than_an_api_server_permits_are_neither_read_nor_kept(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    AUTO_BUFFER(large, 1 << 20);
    while (large.len < 1 << 18)
        buffer_text(&large, "abcdefghijklmnop");
    happens(&stand, "p", large.data, "x");
    happens(&stand, large.data, "Failed", "x");
    assert_int_equal(fake_find(&stand.fake, "/api/v1/namespaces/n/pods/"), 0);
    assert_int_equal(counted(&stand, METER_PODS_OTHER), 2);
    happens(&stand, "p", "Failed", large.data);
    answer_pod(&stand, "p", large.data, ""); // its owner is no Job of any API server
    assert_int_equal(fake_find(&stand.fake, "/apis"), 0);
    pass(&stand, POD_GROUPS_COLLECT_NS);
    expect(&stand, "");
    assert_int_equal(counted(&stand, METER_PODS_UNREAD), 1);
    end(&stand);
}

static void the_same_of_a_pod_waits_once_and_what_is_known_does_not_wait(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    happens(&stand, "busy", "Failed", "x"); // is being read
    for (int i = 0; i < 1000; i++)
        happens(&stand, "a-1", "Failed", "x");
    happens(&stand, "a-1", "Failed", "y");
    answer(&stand, "/api/v1/namespaces/n/pods/busy", 404, STATUS(404, "NotFound"));
    answer_pod(&stand, "a-1", "a", "");
    answer(&stand, "/apis/batch/v1/namespaces/n/jobs/a", 200, JOB("a", "j-a", MARKS));
    happens(&stand, "busy-too", "Failed", "x");
    happens(&stand, "a-1", "Failed", "z");
    happens(&stand, "busy", "Failed", "z");
    assert_int_equal(counted(&stand, METER_PODS_CROWDED), 0);
    assert_int_equal(counted(&stand, METER_PODS_OTHER), 2);
    pass(&stand, POD_GROUPS_COLLECT_NS);
    expect(&stand, "0 n/a j-a Failed: pod a-1: x;0 n/a j-a Failed: pod a-1: y;0 n/a j-a Failed: pod a-1: z;");
    end(&stand);
}

static void a_read_that_fails_is_tried_three_times(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    happens(&stand, "a-1", "Failed", "x");
    for (int i = 0; i < 3; i++) {
        answer(&stand, "/api/v1/namespaces/n/pods/a-1", 500, STATUS(500, "InternalError"));
        pass(&stand, 4 * CLOCK_SECOND);
    }
    assert_int_equal(fake_find(&stand.fake, "/api/v1/namespaces/n/pods/"), 0);
    assert_int_equal(counted(&stand, METER_PODS_UNREAD), 1);
    end(&stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_of_a_pod_is_told_on_the_mirror_that_owns_it_and_the_way_is_remembered),
        cmocka_unit_test(owners_of_owners_are_followed_also_of_kinds_that_the_host_does_not_have),
        cmocka_unit_test(what_does_not_belong_to_a_mirror_is_counted_and_read_once),
        cmocka_unit_test(a_container_that_was_killed_for_its_memory_is_told_once_whenever_its_pod_is_read),
        cmocka_unit_test(the_failed_pods_of_a_namespace_are_looked_at_when_more_of_a_mirrors_pods_have_failed),
        cmocka_unit_test(a_worker_that_refuses_events_is_asked_every_ten_minutes_and_it_is_logged_once),
        cmocka_unit_test(a_worker_that_refuses_pods_is_told_of_and_what_cannot_be_read_is_counted),
        cmocka_unit_test(what_is_read_is_limited_and_what_waits_for_it_too),
        cmocka_unit_test(texts_longer_than_an_api_server_permits_are_neither_read_nor_kept),
        cmocka_unit_test(the_same_of_a_pod_waits_once_and_what_is_known_does_not_wait),
        cmocka_unit_test(a_read_that_fails_is_tried_three_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
