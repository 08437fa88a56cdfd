// SPDX-License-Identifier: Apache-2.0
// Failing workers beside a healthy one.
#include "tests/integration/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void set_fault(struct scene *scene, size_t cluster, enum front_fault fault) {
    front_set_fault(scene->clusters[cluster].front, fault);
}

static void bring_up(struct scene *scene, size_t cluster) {
    struct error *error = front_up(scene->clusters[cluster].front);
    if (error)
        print_error("%s\n", error_text(error));
    assert_null(error);
}

static void start(struct scene *scene) {
    struct error *error = wharf_start(scene);
    if (error)
        print_error("%s\n", error_text(error));
    assert_null(error);
}

static int open_two(void **state) {
    *state = stage_open(2, false, "mirrorRetention: 0s\nworkerLostTimeout: 2s\n");
    return 0;
}

static int run_two(void **state) {
    *state = stage_run(2, false, "mirrorRetention: 0s\nworkerLostTimeout: 2s\n");
    return 0;
}

static int end(void **state) {
    stage_close(*state);
    return 0;
}

// By when work that the other worker does not delay is done: in five seconds, and later on a machine that has been slow
// since `since_ns`. A worker that hangs is suspect after ten seconds at the earliest.
static int64_t undelayed_ns(int64_t since_ns) {
    return stage_deadline_ns(5) + 5 * (clock_now().mono_ns - since_ns);
}

// From the start: w1 is never reachable, and w2 does all the work.
static void delays_nobody_from_the_start(struct scene *scene, enum front_fault fault) {
    set_fault(scene, 1, fault);
    int64_t since_ns = clock_now().mono_ns;
    start(scene);
    UNTIL(scene, 10, stage_is_connected(scene, "management") && stage_is_connected(scene, "w2"));
    int64_t until_ns = undelayed_ns(since_ns);
    stage_submit_many(scene, "job", 20);
    UNTIL_NS(scene, until_ns, stage_complete(scene, "job") == 20 && scene_jobs(scene, 2) == 0);
    assert_false(stage_is_connected(scene, "w1"));
    set_fault(scene, 1, FRONT_FINE);
}

static void a_worker_that_hangs_from_the_start_delays_no_other(void **state) {
    delays_nobody_from_the_start(*state, FRONT_HANGS);
}

static void a_worker_that_answers_only_errors_from_the_start_delays_no_other(void **state) {
    delays_nobody_from_the_start(*state, FRONT_ERRORS);
}

static void a_worker_that_is_too_busy_from_the_start_delays_no_other(void **state) {
    delays_nobody_from_the_start(*state, FRONT_BUSY);
}

static void a_worker_that_answers_garbage_from_the_start_delays_no_other(void **state) {
    delays_nobody_from_the_start(*state, FRONT_GARBAGE);
}

static size_t placed_in(struct scene *scene, int worker, size_t count, size_t *complete) {
    size_t placed = 0;
    *complete = 0;
    for (size_t i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("job%zu", i);
        assert_non_null(name);
        if (stage_worker_of(scene, name) != worker)
            continue;
        placed++;
        *complete += stage_is_complete(scene, name);
    }
    return placed;
}

static bool is_all_complete_in(struct scene *scene, int worker, size_t count) {
    size_t complete;
    return placed_in(scene, worker, count, &complete) == complete && complete > 0;
}

static size_t placed(struct scene *scene, size_t count) {
    size_t complete;
    return placed_in(scene, 1, count, &complete) + placed_in(scene, 2, count, &complete);
}

// Later: workloads placed in w1 wait for it, everything else continues; w1 catches up once it is back.
static void delays_nobody_on_the_way(struct scene *scene, enum front_fault fault) {
    UNTIL(scene, 10, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2"));
    int64_t since_ns = clock_now().mono_ns;
    stage_submit_many(scene, "warm", 4);
    UNTIL(scene, 10, stage_complete(scene, "warm") == 4);
    int64_t until_ns = undelayed_ns(since_ns);
    set_fault(scene, 1, fault);
    stage_submit_many(scene, "job", 20);
    UNTIL_NS(scene, until_ns, placed(scene, 20) == 20);
    UNTIL_NS(scene, until_ns, is_all_complete_in(scene, 2, 20));
    assert_int_equal(http_ask(scene->serve_port, "GET", "/healthz", NULL), 200);
    set_fault(scene, 1, FRONT_FINE);
    UNTIL(scene, 20, stage_complete(scene, "job") == 20 && stage_mirrors(scene) == 0);
}

static void a_worker_that_hangs_on_the_way_delays_no_other(void **state) {
    delays_nobody_on_the_way(*state, FRONT_HANGS);
}

static void a_worker_that_begins_to_answer_only_errors_delays_no_other(void **state) {
    delays_nobody_on_the_way(*state, FRONT_ERRORS);
}

static void a_worker_that_begins_to_answer_garbage_delays_no_other(void **state) {
    delays_nobody_on_the_way(*state, FRONT_GARBAGE);
}

static void work_that_waits_goes_to_a_worker_that_comes_up_later(void **state) {
    struct scene *scene = *state;
    front_down(scene->clusters[1].front);
    front_down(scene->clusters[2].front);
    start(scene);
    UNTIL(scene, 10, stage_is_connected(scene, "management"));
    stage_submit_many(scene, "job", 3);
    UNTIL(scene, 10, wharf_metric(scene, "wharf_workloads{kind=\"jobs.batch\",phase=\"pending\"}") == 3);
    assert_int_equal(stage_worker_of(scene, "job0"), 0);
    bring_up(scene, 2);
    UNTIL(scene, 15, stage_complete(scene, "job") == 3);
    assert_int_equal(stage_worker_of(scene, "job0"), 2);
    assert_int_equal(stage_creates(scene, 1, 2), 0);
    bring_up(scene, 1);
    UNTIL(scene, 30, stage_takes_work(scene, "w1"));
    stage_submit_many_held(scene, "more", 2); // the second one comes while the first one runs
    UNTIL(scene, 10, stage_mirrors(scene) == 2);
    stage_let_end(scene);
    UNTIL(scene, 10, stage_complete(scene, "more") == 2 && stage_mirrors(scene) == 0);
    assert_int_equal(stage_creates(scene, 1, 2), 1);
}

static void a_job_goes_elsewhere_when_its_worker_is_lost_and_the_old_mirror_goes_when_it_is_back(void **state) {
    struct scene *scene = *state;
    stage_submit_held(scene, "moved");
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    size_t first = (size_t)stage_worker_of(scene, "moved"), second = 3 - first;
    front_down(scene->clusters[first].front);
    UNTIL(scene, 10, stage_worker_of(scene, "moved") == (int)second && scene_jobs(scene, second) == 1);
    assert_int_equal(stage_attempt_of(scene, "moved"), 2);
    bring_up(scene, first);
    UNTIL(scene, 15, scene_jobs(scene, first) == 0);
    stage_let_end(scene);
    UNTIL(scene, 15, stage_is_complete(scene, "moved"));
    assert_int_equal(stage_attempt_of(scene, "moved"), 2);
    UNTIL(scene, 10, stage_mirrors(scene) == 0);
}

static void a_worker_that_refuses_connections_is_not_in_good_contact(void **state) {
    struct scene *scene = *state;
    UNTIL(scene, 10, wharf_metric(scene, "wharf_cluster_contact{cluster=\"w1\",contact=\"good\"}") == 1);
    UNTIL(scene, 10, wharf_metric(scene, "wharf_cluster_contact{cluster=\"w2\",contact=\"good\"}") == 1);
    front_down(scene->clusters[1].front);
    UNTIL(scene, 10, wharf_metric(scene, "wharf_cluster_contact{cluster=\"w1\",contact=\"suspect\"}") == 1);
    assert_true(wharf_metric(scene, "wharf_cluster_contact{cluster=\"w1\",contact=\"good\"}") == 0);
    assert_true(wharf_metric(scene, "wharf_cluster_contact{cluster=\"w2\",contact=\"good\"}") == 1);
    bring_up(scene, 1);
    UNTIL(scene, 10, wharf_metric(scene, "wharf_cluster_contact{cluster=\"w1\",contact=\"good\"}") == 1);
}

static void the_management_cluster_may_be_away_for_a_while(void **state) {
    struct scene *scene = *state;
    stage_submit_held(scene, "away");
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    size_t worker = (size_t)stage_worker_of(scene, "away");
    assert_true(worker > 0);
    front_down(scene->clusters[SCENE_MANAGEMENT].front);
    UNTIL(scene, 10, http_ask(scene->serve_port, "GET", "/readyz", NULL) == 503);
    stage_let_end(scene);
    UNTIL(scene, 10, stage_has_condition(scene, worker, "away", "Complete"));
    bring_up(scene, SCENE_MANAGEMENT);
    UNTIL(scene, 20, stage_is_complete(scene, "away") && stage_mirrors(scene) == 0);
    assert_int_equal(stage_attempt_of(scene, "away"), 1);
}

static void a_kubeconfig_that_cannot_be_used_at_the_start_is_read_again(void **state) {
    static const char *const broken[] = {"", "{", "apiVersion: v1\nkind: Config\n"};
    struct scene *scene = *state;
    AUTO_TEXT good = certs_kubeconfig(&scene->certs, "w1", front_url(scene->clusters[1].front));
    assert_non_null(good);
    assert_null(scene_write(scene, "w1.kubeconfig", broken[0]));
    start(scene);
    UNTIL(scene, 10, stage_is_connected(scene, "w2"));
    stage_submit_many(scene, "job", 4);
    UNTIL(scene, 10, stage_complete(scene, "job") == 4); // without w1
    assert_int_equal(stage_creates(scene, 1, 2), 0);
    size_t told = wharf_logged(scene, "worker cannot be used");
    assert_true(told > 0);
    for (size_t i = 1; i < sizeof broken / sizeof *broken; i++) {
        assert_null(scene_write(scene, "w1.kubeconfig", broken[i]));
        UNTIL(scene, 15, wharf_logged(scene, "worker cannot be used") > told);
        told = wharf_logged(scene, "worker cannot be used");
    }
    assert_null(scene_write(scene, "w1.kubeconfig", good));
    UNTIL(scene, 20, stage_takes_work(scene, "w1"));
    stage_submit_many(scene, "later", 4);
    UNTIL(scene, 10, stage_complete(scene, "later") == 4 && stage_mirrors(scene) == 0);
    assert_true(stage_creates(scene, 1, 2) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_that_hangs_from_the_start_delays_no_other, open_two, end),
        cmocka_unit_test_setup_teardown(a_worker_that_answers_only_errors_from_the_start_delays_no_other, open_two,
                                        end),
        cmocka_unit_test_setup_teardown(a_worker_that_is_too_busy_from_the_start_delays_no_other, open_two, end),
        cmocka_unit_test_setup_teardown(a_worker_that_answers_garbage_from_the_start_delays_no_other, open_two, end),
        cmocka_unit_test_setup_teardown(a_worker_that_hangs_on_the_way_delays_no_other, run_two, end),
        cmocka_unit_test_setup_teardown(a_worker_that_begins_to_answer_only_errors_delays_no_other, run_two, end),
        cmocka_unit_test_setup_teardown(a_worker_that_begins_to_answer_garbage_delays_no_other, run_two, end),
        cmocka_unit_test_setup_teardown(work_that_waits_goes_to_a_worker_that_comes_up_later, open_two, end),
        cmocka_unit_test_setup_teardown(
            a_job_goes_elsewhere_when_its_worker_is_lost_and_the_old_mirror_goes_when_it_is_back, run_two, end),
        cmocka_unit_test_setup_teardown(a_worker_that_refuses_connections_is_not_in_good_contact, run_two, end),
        cmocka_unit_test_setup_teardown(the_management_cluster_may_be_away_for_a_while, run_two, end),
        cmocka_unit_test_setup_teardown(a_kubeconfig_that_cannot_be_used_at_the_start_is_read_again, open_two, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
