// SPDX-License-Identifier: Apache-2.0
// Workers that come and go while the host runs.
#include "tests/integration/inside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct party {
    struct scene *scene;
    struct inside *inside;
};

static struct party party;

static int open_scene(void **state) {
    party.scene = stage_open(3, false, "mirrorRetention: 0s\nworkerLostTimeout: 60s\n");
    party.inside = NULL;
    *state = &party;
    return 0;
}

static int close_scene(void **state) {
    (void)state;
    inside_end(party.inside);
    stage_close(party.scene);
    return 0;
}

static struct scene *begin(const char *workers) {
    party.inside = inside_run(party.scene, workers);
    return party.scene;
}

static void one_that_joins_gets_work_and_one_that_leaves_finishes_it(void **state) {
    (void)state;
    struct scene *scene = begin("w1");
    inside_set(party.inside, "w1 w2", REMOVAL_FINISH);
    UNTIL(scene, 10, inside_takes_work(party.inside, "w2"));
    stage_submit_many_held(scene, "first", 4);
    UNTIL(scene, 10, scene_jobs(scene, 1) == 2 && scene_jobs(scene, 2) == 2);
    inside_set(party.inside, "w1", REMOVAL_FINISH);
    UNTIL(scene, 10, inside_is_leaving(party.inside, "w2") && !inside_takes_work(party.inside, "w2"));
    stage_submit_many(scene, "later", 4);
    UNTIL(scene, 10, stage_complete(scene, "later") == 4);
    assert_int_equal(stage_creates(scene, 2, 3), 2);
    stage_let_end(scene);
    UNTIL(scene, 10, stage_complete(scene, "first") == 4 && stage_mirrors(scene) == 0);
    UNTIL(scene, 10, !inside_has(party.inside, "w2"));
    assert_int_equal(stage_attempt_of(scene, "first0"), 1);
    assert_int_equal(stage_attempt_of(scene, "first1"), 1);
    inside_set(party.inside, "w1 w3", REMOVAL_FINISH); // which gets the number of w2
    UNTIL(scene, 10, inside_takes_work(party.inside, "w3"));
    stage_hold(scene);
    stage_submit_many_held(scene, "last", 2);
    UNTIL(scene, 10, stage_mirrors(scene) == 2);
    stage_let_end(scene);
    UNTIL(scene, 10, stage_complete(scene, "last") == 2);
    assert_in_range(stage_creates(scene, 3, 4), 1, 2); // what w1 has just finished counts there for a minute
}

static void what_runs_in_one_that_leaves_is_moved(void **state) {
    (void)state;
    struct scene *scene = begin("w1 w2");
    stage_submit_many_held(scene, "job", 4);
    UNTIL(scene, 10, scene_jobs(scene, 1) == 2 && scene_jobs(scene, 2) == 2);
    inside_set(party.inside, "w1", REMOVAL_MOVE);
    UNTIL(scene, 10, !inside_has(party.inside, "w2"));
    assert_int_equal(scene_jobs(scene, 2), 0);
    stage_let_end(scene);
    UNTIL(scene, 15, stage_complete(scene, "job") == 4 && stage_mirrors(scene) == 0);
    size_t moved = 0;
    for (size_t i = 0; i < 4; i++) {
        AUTO_TEXT name = text_format("job%zu", i);
        assert_int_equal(stage_worker_of(scene, name), 1);
        moved += stage_attempt_of(scene, name) == 2;
    }
    assert_int_equal(moved, 2);
    assert_true(wharf_logged(scene, "cluster w2 is drained") >= 2);
}

static void one_that_is_drained_and_no_longer_keeps_what_cannot_move(void **state) {
    (void)state;
    struct scene *scene = begin("w1");
    stage_submit_held(scene, "stays");
    UNTIL(scene, 10, scene_jobs(scene, 1) == 1);
    inside_set(party.inside, "w1!move w2!cordoned", REMOVAL_FINISH);
    UNTIL(scene, 10, inside_has(party.inside, "w2") && !inside_takes_work(party.inside, "w1"));
    stage_let_end(scene);
    UNTIL(scene, 10, stage_is_complete(scene, "stays"));
    assert_int_equal(stage_attempt_of(scene, "stays"), 1);
    stage_submit(scene, "waits");
    UNTIL(scene, 10, wharf_logged(scene, "the worker is cordoned") == 1);
    assert_int_equal(stage_worker_of(scene, "waits"), 0);
    inside_set(party.inside, "w1!move w2", REMOVAL_FINISH);
    UNTIL(scene, 10, stage_is_complete(scene, "waits"));
    assert_int_equal(stage_worker_of(scene, "waits"), 2);
}

static void one_that_is_abandoned_is_told_and_takes_up_its_work_when_it_is_back(void **state) {
    (void)state;
    struct scene *scene = begin("w1 w2");
    stage_submit_many_held(scene, "job", 4);
    UNTIL(scene, 10, scene_jobs(scene, 1) == 2 && scene_jobs(scene, 2) == 2);
    inside_set(party.inside, "w1", REMOVAL_ABANDON);
    UNTIL(scene, 10, !inside_has(party.inside, "w2") && inside_unknown(party.inside, "w2") == 2);
    UNTIL(scene, 5, wharf_logged(scene, "wharf.dev/cluster names w2, which is not in the configuration") == 2);
    UNTIL(scene, 5, wharf_logged(scene, "worker w2 is not in the configuration, but 2 unfinished workloads") == 1);
    assert_int_equal(scene_jobs(scene, 2), 2);
    inside_set(party.inside, "w1 w2", REMOVAL_ABANDON);
    stage_let_end(scene);
    UNTIL(scene, 15, stage_complete(scene, "job") == 4 && stage_mirrors(scene) == 0);
    UNTIL(scene, 5, inside_unknown(party.inside, "w2") == 0);
    for (size_t i = 0; i < 4; i++) {
        AUTO_TEXT name = text_format("job%zu", i);
        assert_int_equal(stage_attempt_of(scene, name), 1);
    }
}

static void one_that_is_in_the_set_again_stays(void **state) {
    (void)state;
    struct scene *scene = begin("w1 w2");
    stage_submit_many_held(scene, "job", 4);
    UNTIL(scene, 10, scene_jobs(scene, 2) == 2);
    inside_set(party.inside, "w1", REMOVAL_FINISH);
    UNTIL(scene, 10, inside_is_leaving(party.inside, "w2"));
    inside_set(party.inside, "w1 w2", REMOVAL_FINISH);
    UNTIL(scene, 10, inside_takes_work(party.inside, "w2") && !inside_is_leaving(party.inside, "w2"));
    assert_int_equal(inside_losses(party.inside, "w2"), 0);
    stage_let_end(scene);
    UNTIL(scene, 10, stage_complete(scene, "job") == 4);
}

// As "alias": w2 at another address.
static void write_alias(struct scene *scene) {
    AUTO_TEXT url = text_format("https://localhost%s", strrchr(front_url(scene->clusters[2].front), ':'));
    AUTO_TEXT text = certs_kubeconfig(&scene->certs, "w2", url);
    assert_null(scene_write(scene, "alias.kubeconfig", text));
}

static void another_address_is_a_new_connection_that_disturbs_nobody(void **state) {
    (void)state;
    struct scene *scene = begin("w1 w2");
    size_t opened = front_connections(scene->clusters[2].front).opened;
    write_alias(scene);
    stage_submit_many(scene, "job", 60);
    for (size_t i = 1; i <= 5; i++) {
        inside_set(party.inside, i % 2 ? "w1 w2=alias*" : "w1 w2*", REMOVAL_FINISH);
        UNTIL(scene, 10, inside_losses(party.inside, "w2") == i && inside_takes_work(party.inside, "w2"));
    }
    UNTIL(scene, 20, stage_complete(scene, "job") == 60 && stage_mirrors(scene) == 0);
    assert_true(front_connections(scene->clusters[2].front).opened >= opened + 5);
    assert_int_equal(inside_failures(party.inside, "w1"), 0);
    assert_int_equal(inside_failures(party.inside, "management"), 0);
    assert_int_equal(inside_losses(party.inside, "w1"), 0);
    assert_int_equal(stage_creates(scene, 1, 3), 60); // nothing ran twice
}

static void credentials_that_cannot_be_used_leave_the_former_ones(void **state) {
    (void)state;
    struct scene *scene = begin("w1 w2");
    inside_set(party.inside, "w1 w2=nowhere*", REMOVAL_FINISH);
    UNTIL(scene, 10, wharf_logged(scene, "the former ones are still in use") > 0);
    stage_submit_many_held(scene, "job", 2);
    UNTIL(scene, 10, stage_mirrors(scene) == 2);
    stage_let_end(scene);
    UNTIL(scene, 10, stage_complete(scene, "job") == 2);
    assert_int_equal(stage_creates(scene, 2, 3), 1);
}

static void another_cluster_under_the_same_name_is_refused(void **state) {
    (void)state;
    struct scene *scene = begin("w1 w2");
    stage_submit_many_held(scene, "job", 2);
    UNTIL(scene, 10, scene_jobs(scene, 2) == 1);
    inside_set(party.inside, "w1 w2=w3*", REMOVAL_FINISH);
    UNTIL(scene, 10, inside_is_refused(party.inside, "w2"));
    assert_int_equal(stage_creates(scene, 3, 4), 0);
    inside_set(party.inside, "w1 w2*", REMOVAL_FINISH);
    UNTIL(scene, 10, !inside_is_refused(party.inside, "w2") && inside_takes_work(party.inside, "w2"));
    stage_let_end(scene);
    UNTIL(scene, 10, stage_complete(scene, "job") == 2);
    assert_int_equal(stage_creates(scene, 1, 4), 2);
}

// It accepts requests and never answers.
static void one_that_hangs_joins_and_leaves_and_delays_nobody(void **state) {
    (void)state;
    struct scene *scene = begin("w1");
    front_set_fault(scene->clusters[2].front, FRONT_HANGS);
    for (size_t i = 0; i < 4; i++) {
        AUTO_TEXT prefix = text_format("round%zu-", i);
        inside_set(party.inside, "w1 w2", REMOVAL_ABANDON);
        UNTIL(scene, 10, inside_has(party.inside, "w2"));
        stage_submit_many(scene, prefix, 5);
        inside_set(party.inside, "w1", i % 2 ? REMOVAL_ABANDON : REMOVAL_FINISH);
        UNTIL(scene, 10, !inside_has(party.inside, "w2"));
        UNTIL(scene, 5, stage_complete(scene, prefix) == 5);
    }
    front_set_fault(scene->clusters[2].front, FRONT_FINE);
    assert_int_equal(inside_losses(party.inside, "w1"), 0);
}

// Hundreds of changes while 100 Jobs live: whatever becomes of the others, nothing runs twice, and all end.
static void they_come_and_go_under_load(void **state) {
    (void)state;
    static const char *const sets[] = {
        "w1 w2 w3", "w1 w3", "w1 w2!move w3", "w1 w2", "w1 w2* w3!cordoned", "w1 w2!finish w3*",
        "w1 w2 w3", "w1",    "w1 w3!move w2"};
    struct scene *scene = begin("w1 w2");
    struct random random = {.state = 7};
    stage_submit_many(scene, "job", 100);
    for (size_t i = 0; i < 40; i++) {
        inside_set(party.inside, sets[random_below(&random, sizeof sets / sizeof *sets)],
                   (enum removal)random_below(&random, 2));
        int64_t until_ns = clock_now().mono_ns + (int64_t)random_below(&random, 100) * CLOCK_MS;
        while (clock_now().mono_ns < until_ns)
            usleep(1000);
    }
    inside_set(party.inside, "w1 w2 w3", REMOVAL_FINISH);
    UNTIL(scene, 30, stage_complete(scene, "job") == 100 && stage_mirrors(scene) == 0);
    UNTIL(scene, 10, inside_takes_work(party.inside, "w2") && inside_takes_work(party.inside, "w3"));
    assert_int_equal(inside_failures(party.inside, "w1"), 0);
    assert_int_equal(inside_losses(party.inside, "w1"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(one_that_joins_gets_work_and_one_that_leaves_finishes_it),
        TEST(what_runs_in_one_that_leaves_is_moved),
        TEST(one_that_is_drained_and_no_longer_keeps_what_cannot_move),
        TEST(one_that_is_abandoned_is_told_and_takes_up_its_work_when_it_is_back),
        TEST(one_that_is_in_the_set_again_stays),
        TEST(another_address_is_a_new_connection_that_disturbs_nobody),
        TEST(credentials_that_cannot_be_used_leave_the_former_ones),
        TEST(another_cluster_under_the_same_name_is_refused),
        TEST(one_that_hangs_joins_and_leaves_and_delays_nobody),
        TEST(they_come_and_go_under_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
