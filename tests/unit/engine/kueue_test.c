// SPDX-License-Identifier: Apache-2.0
// Kueue of the management cluster: an admitted object is dispatched without Kueue's labels, and one that MultiKueue
// owns is ignored.
#include "tests/unit/engine/event_play.h"

#define QUEUED "{'kueue.x-k8s.io/queue-name':'q','kueue.x-k8s.io/priority-class':'p','team':'x'}"
#define WORKLOADS(status)                                                                                              \
    "{'kind':'WorkloadList','items':[{'metadata':{'name':'other','ownerReferences':[{'uid':'x','controller':true}]}}," \
    "{'metadata':{'name':'job-a','ownerReferences':[{'uid':'u-a','controller':true}]},'status':" status "}]}"
#define CHECKS                                                                                                         \
    "{'kind':'AdmissionCheckList','items':[{'metadata':{'name':'multi'},'spec':{'controllerName':"                     \
    "'kueue.x-k8s.io/multikueue'}},{'metadata':{'name':'mult'},'spec':{'controllerName':'example.com/budget'}}]}"

static void open_play(struct play *play) {
    play_init(play);
    play_start(play);
    play_connect_all(play);
}

static struct json *queued(const char *cluster) {
    struct json *workload = play_workload("a", play_kind->managed_by, cluster);
    assert_true(pointer_set(workload, "/metadata/labels", harness_json(QUEUED)));
    assert_true(pointer_set(workload, "/spec/template/metadata",
                            harness_json("{'annotations':{'kueue.x-k8s.io/workload':'w','x':'kept'}}")));
    return workload;
}

static struct play_command *newest(struct play *play, enum verb verb) {
    assert_true(play->n_commands > 0);
    struct play_command *command = &play->commands[play->n_commands - 1];
    assert_int_equal(command->verb, verb);
    return command;
}

static void answer_question(struct play *play, enum reason reason, const char *value) {
    struct response response = {.reason = reason, .message = strdup("played"), .retry_after_ns = -1};
    response.value = value ? harness_json(value) : NULL;
    uint64_t id = newest(play, VERB_RAW_GET)->id;
    play_tell(play, (struct engine_event){.type = EVENT_ANSWER, .answer = {id, &response}});
    response_clear(&response);
    play_wait(play, 0);
}

static void place(struct play *play) {
    const char *cluster = strstr(newest(play, VERB_MERGE_PATCH)->body, "\"w1\"") ? "w1" : "w2";
    play_answer(play, newest(play, VERB_MERGE_PATCH)->id, REASON_OK, queued(cluster));
    play_wait(play, 0);
}

static void what_kueue_has_admitted_is_made_without_its_labels(void **state) {
    (void)state;
    for (int carry = 0; carry < 2; carry++) {
        struct play play;
        play_init(&play);
        play.options.settings.kueue_carried = carry;
        play_start(&play);
        play_connect_all(&play);
        play_seen(&play, 0, queued(""));
        play_wait(&play, 0);
        if (!carry)
            answer_question(&play, REASON_OK, WORKLOADS("{}"));
        place(&play);
        const char *body = newest(&play, VERB_CREATE)->body;
        assert_int_equal(!!strstr(body, "queue-name"), carry);
        assert_int_equal(!!strstr(body, "priority-class"), carry);
        assert_non_null(strstr(body, "\"team\":\"x\""));
        assert_non_null(strstr(body, "\"annotations\":{\"x\":\"kept\"}")); // in the template
        play_end(&play);
    }
}

static void what_no_workload_of_kueue_owns_keeps_its_labels(void **state) {
    (void)state;
    static const struct {
        enum reason reason;
        const char *value;
    } cases[] = {{REASON_OK, "{'kind':'WorkloadList','items':[]}"}, {REASON_FORBIDDEN, NULL}};
    for (size_t i = 0; i < 2; i++) {
        struct play play;
        open_play(&play);
        play_seen(&play, 0, queued(""));
        play_wait(&play, 0);
        answer_question(&play, cases[i].reason, cases[i].value);
        place(&play);
        assert_non_null(strstr(newest(&play, VERB_CREATE)->body, "queue-name"));
        assert_int_equal(play_times(&play.notes, "cannot read whether"), i);
        play_end(&play);
    }
}

static void a_cluster_without_kueue_is_asked_once(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play_seen(&play, 0, queued(""));
    play_wait(&play, 0);
    answer_question(&play, REASON_KIND_NOT_FOUND, NULL);
    answer_question(&play, REASON_KIND_NOT_FOUND, NULL);
    place(&play);
    struct json *other = play_workload("b", play_kind->managed_by, "");
    assert_true(pointer_set(other, "/metadata/labels", harness_json(QUEUED)));
    play_seen(&play, 0, other);
    play_wait(&play, 0);
    newest(&play, VERB_MERGE_PATCH);
    assert_int_equal(play_sent(&play, 0, VERB_RAW_GET), 2);
    play_wait(&play, 10 * CLOCK_SECOND); // it may have been installed
    other = play_workload("c", play_kind->managed_by, "");
    assert_true(pointer_set(other, "/metadata/labels", harness_json(QUEUED)));
    play_seen(&play, 0, other);
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 0, VERB_RAW_GET), 3);
    play_end(&play);
}

// A host that is restarted between the two writes has not asked.
static void what_was_placed_before_a_restart_is_asked_for_before_it_is_made(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play_seen(&play, 0, queued("w1"));
    play_wait(&play, 0);
    answer_question(&play, REASON_OK, WORKLOADS("{}"));
    assert_null(strstr(newest(&play, VERB_CREATE)->body, "queue-name"));
    play_end(&play);
}

static int load_shared(void **state) {
    harness_load(state);
    struct error *error = kind_check(job_kind, "kueue.x-k8s.io/multikueue", "wharf.dev/host", &play_kind);
    if (error)
        fail_msg("%s", error_text(error));
    return 0;
}

static void what_multikueue_checks_is_left_to_it(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play_seen(&play, 0, queued(""));
    play_wait(&play, 0);
    answer_question(&play, REASON_OK, WORKLOADS("{'admissionChecks':[{'name':'multi','state':'Ready'}]}"));
    answer_question(&play, REASON_OK, CHECKS);
    assert_int_equal(play_times(&play.notes, "OwnedByKueue: "), 1);
    play_wait(&play, 50 * CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 0);
    play_wait(&play, 20 * CLOCK_SECOND); // it is asked again once a minute
    answer_question(&play, REASON_OK, WORKLOADS("{'admissionChecks':[]}"));
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 1);
    play_end(&play);
}

static void a_workload_of_kueue_with_other_checks_or_none_is_no_reason_to_leave_it(void **state) {
    (void)state;
    static const char *const lists[] = {WORKLOADS("{'admissionChecks':[{'name':'mult','state':'Ready'}]}"),
                                        WORKLOADS("{}")};
    for (size_t i = 0; i < 2; i++) {
        struct play play;
        open_play(&play);
        play_seen(&play, 0, queued(""));
        play_wait(&play, 0);
        answer_question(&play, REASON_OK, lists[i]);
        if (i == 0)
            answer_question(&play, REASON_OK, CHECKS);
        place(&play);
        assert_null(strstr(newest(&play, VERB_CREATE)->body, "queue-name"));
        play_end(&play);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_kueue_has_admitted_is_made_without_its_labels, play_load, play_unload),
        cmocka_unit_test_setup_teardown(what_no_workload_of_kueue_owns_keeps_its_labels, play_load, play_unload),
        cmocka_unit_test_setup_teardown(a_cluster_without_kueue_is_asked_once, play_load, play_unload),
        cmocka_unit_test_setup_teardown(what_was_placed_before_a_restart_is_asked_for_before_it_is_made, play_load,
                                        play_unload),
        cmocka_unit_test_setup_teardown(what_multikueue_checks_is_left_to_it, load_shared, play_unload),
        cmocka_unit_test_setup_teardown(a_workload_of_kueue_with_other_checks_or_none_is_no_reason_to_leave_it,
                                        load_shared, play_unload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
