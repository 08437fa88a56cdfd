// SPDX-License-Identifier: Apache-2.0
// The reasons of a mirror's pods, as the engine asks: from failed pods, and from Events about pods that do not start.
#include "tests/unit/host/watcher_stand.h"

#include "tests/unit/host/dispatch_play.h"

#define PODS "/api/v1/namespaces/n/pods?limit=100&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DRunning"
#define EVENTS "/api/v1/namespaces/n/events?limit=500&fieldSelector=type%3DWarning"
#define OWNED(api, kind, name, uid)                                                                                    \
    "\"ownerReferences\":[{\"apiVersion\":\"" api "\",\"kind\":\"" kind "\",\"name\":\"" name "\",\"uid\":\"" uid      \
    "\",\"controller\":true}]"
#define POD(name, owner, status)                                                                                       \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u-" name "\"," owner                             \
    "},\"spec\":{\"initContainers\":[{\"name\":\"i\"}],\"containers\":[{\"name\":\"c\"}]},\"status\":{" status "}}"
#define OF_A OWNED("batch/v1", "Job", "a", "ju")
#define OF_B OWNED("batch/v1", "Job", "b", "bu")
#define ENDED(code, reason)                                                                                            \
    "\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"terminated\":{\"exitCode\":" #code ",\"reason\":\"" reason    \
    "\"}}}]"
#define EVENT(kind, name, uid, reason, message, at)                                                                    \
    "{\"type\":\"Warning\",\"reason\":\"" reason "\",\"message\":\"" message "\",\"lastTimestamp\":\"" at              \
    "\",\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":\"" kind "\",\"namespace\":\"n\",\"name\":\"" name          \
    "\",\"uid\":\"" uid "\"}}"
#define NOW "2026-01-02T03:04:00Z"
#define LIST(items) "{\"items\":[" items "]}"

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    struct engine_event own;
    assert_null(engine_event_own(event, &own)); // as the inbox does
    assert_int_equal(own.type, EVENT_CAUSES);
    buffer_printf(&stand->told, "%s/%s %s|%s%s%s", own.causes.namespace_, own.causes.name, own.causes.uid,
                  own.causes.causes, own.causes.problem ? "! " : "", own.causes.problem ? own.causes.problem : "");
    engine_event_clear(&own);
}

// Kind 0 is Job.
static void begin(struct stand *stand) {
    start(stand, &pod_causes_watcher,
          &(struct cluster_scope){
              .cluster = 1, .origin = "here", .settings = {.kinds = play_kinds(), .n_kinds = 1, .pod_causes = true}},
          take);
    assert_int_equal(stand->fake.count, 0);
}

static void ask(struct stand *stand, const char *uid, bool stuck) {
    notify(stand,
           &(struct cluster_notice){.type = NOTICE_ASK,
                                    .question = &(struct pod_question){
                                        .namespace_ = "n", .name = "a", .uid = uid, .cluster = 1, .stuck = stuck}});
    pass(stand, 0);
}

static char *pods_of(const char *uid) {
    return text_format("%s&labelSelector=batch.kubernetes.io%%2Fcontroller-uid%%3D%s", PODS, uid);
}

static void answer_pods(struct stand *stand, const char *uid, int status, const char *body) {
    AUTO_TEXT path = pods_of(uid);
    answer(stand, path, status, body);
}

static void runs_only_where_it_is_wanted(void **state) {
    (void)state;
    assert_false(pod_causes_watcher.wanted(&(struct cluster_io_settings){.pod_events = POD_EVENTS_ALL}));
    assert_true(pod_causes_watcher.wanted(&(struct cluster_io_settings){.pod_causes = true}));
}

static void a_failed_pod_has_reasons_and_exit_codes(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    ask(&stand, "ju", false);
    answer_pods(
        &stand, "ju", 200,
        LIST(POD("a-1", OF_A, ENDED(137, "OOMKilled")) "," POD(
            "a-2", OF_A,
            "\"reason\":\"Evicted\",\"message\":\"low on\\tdisk\",\"conditions\":[{\"type\":\"DisruptionTarget\","
            "\"status\":\"True\",\"reason\":\"TerminationByKubelet\"}]") "," POD("b-1", OF_B, ENDED(1, "Error"))));
    answer(&stand, "/apis/batch/v1/namespaces/n/jobs/b", 404, "{}");
    expect(&stand, "n/a ju|OOMKilled\t137\tpod a-1: container c ended with exit code 137\n"
                   "Evicted\t\tpod a-2: low on disk\nTerminationByKubelet\t\tpod a-2\n");
    end(&stand);
}

static void a_pod_that_does_not_start_tells_why(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    ask(&stand, "ju", true);
    answer_pods(
        &stand, "ju", 200,
        LIST(POD("a-1", OF_A,
                 "\"initContainerStatuses\":[{\"name\":\"i\",\"state\":{\"waiting\":{\"reason\":"
                 "\"ImagePullBackOff\",\"message\":\"no\"}}}],\"containerStatuses\":[{\"name\":\"c\",\"state\":{"
                 "\"waiting\":{\"reason\":\"PodInitializing\"}}}]")));
    expect(&stand, "");
    answer(&stand, EVENTS, 200,
           LIST(EVENT("Pod", "a-1", "u-a-1", "FailedMount", "no volume", NOW) "," EVENT(
               "Pod", "z", "u-z", "FailedMount", "of another",
               NOW) "," EVENT("Pod", "a-1", "u-a-1", "BackOff", "x",
                              NOW) "," EVENT("Job", "a", "ju", "FailedCreate", "exceeded quota: q",
                                             NOW) "," EVENT("Job", "a", "ju", "FailedCreate", "old",
                                                            "2026-01-02T02:00:00Z")));
    expect(&stand, "n/a ju|ImagePullBackOff\t\tpod a-1: no\nFailedMount\t\tEvent of Pod a-1: no volume\n"
                   "QuotaExceeded\t\tEvent of Job a: exceeded quota: q\n");
    end(&stand);
}

// All pages, and one row of each kind of failure.
static void many_pods_are_read_in_pages(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    ask(&stand, "ju", false);
    answer_pods(&stand, "ju", 200,
                "{\"metadata\":{\"continue\":\"x/=\"},\"items\":[" POD("a-1", OF_A, ENDED(1, "Error")) "," POD(
                    "a-2", OF_A, ENDED(1, "Error")) "]}");
    expect(&stand, "");
    AUTO_TEXT first = pods_of("ju");
    AUTO_TEXT next = text_format("%s&continue=x%%2F%%3D", first);
    answer(&stand, next, 200, LIST(POD("a-3", OF_A, "\"reason\":\"Evicted\"") "," POD("a-4", OF_A, ENDED(1, "Error"))));
    expect(&stand, "n/a ju|Error\t1\tpod a-1: container c ended with exit code 1\nEvicted\t\tpod a-3\n");
    end(&stand);
}

// Once for each object: the second pod has the same owner.
static void owners_lead_to_the_mirror(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    ask(&stand, "ju", false);
    answer_pods(&stand, "ju", 200,
                LIST(POD("a-1", OWNED("x/v1", "Part", "p", "pu"),
                         ENDED(3, "Error")) "," POD("a-2", OWNED("x/v1", "Part", "p", "pu"), ENDED(4, "Error"))));
    answer(&stand, "/apis/x/v1", 200, "{\"resources\":[{\"name\":\"parts\",\"kind\":\"Part\",\"namespaced\":true}]}");
    answer(&stand, "/apis/x/v1/namespaces/n/parts/p", 200,
           "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"pu\"," OF_A "}}");
    answer(
        &stand, "/apis/batch/v1/namespaces/n/jobs/a", 200,
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"ju\",\"labels\":{\"wharf.dev/origin\":\"here\","
        "\"wharf.dev/uid\":\"wu\",\"wharf.dev/kind\":\"jobs.batch\"},\"annotations\":{\"wharf.dev/attempt\":\"1\"}}}");
    expect(&stand, "n/a ju|Error\t3\tpod a-1: container c ended with exit code 3\n"
                   "Error\t4\tpod a-2: container c ended with exit code 4\n");
    end(&stand);
}

static void a_refusal_is_an_answer_and_other_failures_are_tried_again(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    ask(&stand, "ju", false);
    ask(&stand, "ku", false);
    ask(&stand, "ku", false); // asked already
    answer_pods(&stand, "ju", 403,
                "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"no pods\"}");
    expect(&stand, "n/a ju|! no pods");
    answer_pods(&stand, "ku", 500, "{}");
    expect(&stand, "");
    pass(&stand, 2 * CLOCK_SECOND);
    answer_pods(&stand, "ku", 200, LIST(""));
    expect(&stand, "n/a ku|");
    pass(&stand, CLOCK_MINUTE);
    expect(&stand, "");
    end(&stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_only_where_it_is_wanted),
        cmocka_unit_test(a_failed_pod_has_reasons_and_exit_codes),
        cmocka_unit_test(a_pod_that_does_not_start_tells_why),
        cmocka_unit_test(many_pods_are_read_in_pages),
        cmocka_unit_test(owners_lead_to_the_mirror),
        cmocka_unit_test(a_refusal_is_an_answer_and_other_failures_are_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
