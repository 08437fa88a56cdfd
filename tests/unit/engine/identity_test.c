// SPDX-License-Identifier: Apache-2.0
// Cluster identity: nothing is done in a worker before its identity is known, or if it is not the expected one.
#include "event_play.h"

static void connect(struct play *play, size_t cluster) {
    play_listing(play, cluster);
    play_listed(play, cluster);
}

// All clusters connected, with these uids; NULL: not read yet.
static void open_play(struct play *play, const char *management, const char *w1, const char *w2) {
    const char *const uids[PLAY_CLUSTERS] = {management, w1, w2};
    play_init(play);
    play_start(play);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++) {
        connect(play, c);
        if (uids[c])
            play_identity(play, c, uids[c]);
    }
}

static void submit(struct play *play, int count) {
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "j%d", i);
        play_seen(play, 0, play_workload(name, "wharf.dev/host", ""));
    }
    play_wait(play, 2 * CLOCK_SECOND);
}

static size_t writes(const struct play *play, size_t cluster) {
    return play_sent(play, cluster, VERB_CREATE) + play_sent(play, cluster, VERB_DELETE) +
           play_sent(play, cluster, VERB_MERGE_PATCH);
}

// Where new workloads go: "12" to both workers.
static const char *places(struct play *play) {
    static char out[3];
    size_t n = 0;
    for (size_t c = 1; c < PLAY_CLUSTERS; c++)
        if (engine_stats(play->engine)->clusters[c].active > 0)
            out[n++] = (char)('0' + c);
    out[n] = '\0';
    return out;
}

static const char *refused(const struct play *play, size_t cluster) {
    return engine_stats(play->engine)->clusters[cluster].refused;
}

static void workers_that_are_who_they_should_be_are_used(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", "k1", "k2");
    submit(&play, 4);
    assert_string_equal(places(&play), "12");
    assert_int_equal(play.log.len, 0);
    play_end(&play);
}

static void nothing_is_placed_before_it_is_known_who_they_are(void **state) {
    (void)state;
    static const struct {
        const char *uids[PLAY_CLUSTERS], *places;
    } cases[] = {
        {{"k0", NULL, NULL}, ""}, {{NULL, "k1", "k2"}, ""}, {{"k0", "k1", NULL}, "1"}, {{"k0", NULL, "k2"}, "2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct play play;
        open_play(&play, cases[i].uids[0], cases[i].uids[1], cases[i].uids[2]);
        submit(&play, 4);
        assert_string_equal(places(&play), cases[i].places);
        for (size_t c = 0; c < PLAY_CLUSTERS; c++)
            if (!cases[i].uids[c])
                play_identity(&play, c, c == 0 ? "k0" : c == 1 ? "k1" : "k2");
        play_wait(&play, CLOCK_SECOND);
        assert_true(*places(&play));
        play_end(&play);
    }
}

static void the_later_one_of_two_names_for_one_cluster_is_refused(void **state) {
    (void)state;
    for (size_t first = 1; first <= 2; first++) {
        struct play play;
        size_t later = 3 - first;
        open_play(&play, "k0", first == 1 ? "k1" : NULL, first == 2 ? "k1" : NULL);
        play_identity(&play, later, "k1");
        submit(&play, 4);
        assert_string_equal(places(&play), first == 1 ? "1" : "2");
        assert_string_equal(refused(&play, first), "");
        assert_non_null(
            strstr(refused(&play, later), first == 1 ? "the same cluster as w1" : "the same cluster as w2"));
        assert_int_equal(play_times(&play.log, ": the cluster is refused"), 1);
        play_identity(&play, later, "k1"); // again: reported once
        assert_int_equal(play_times(&play.log, ": the cluster is refused"), 1);
        play_end(&play);
    }
}

// What is known of a worker's cluster before it answers.
static void expect(struct play *play, size_t cluster, const char *uid, const char *recorded) {
    play_tell(
        play,
        (struct engine_event){
            .type = EVENT_WORKER,
            .cluster = cluster,
            .worker = {.name = cluster == 1 ? "w1" : "w2", .policy = WORKER_ACTIVE, .uid = uid, .recorded = recorded}});
}

// After a restart of the host: the worker that claims the uid of w2 answers first, and w2 later.
static void a_recorded_uid_is_not_lost_to_a_worker_that_claims_it_first(void **state) {
    (void)state;
    static const struct {
        const char *uid, *recorded; // of w2
        const char *claimed;        // uid of w1's Secret
    } cases[] = {{"k2", NULL, NULL}, {NULL, "k2", NULL}, {"k2", "k2", NULL}, {NULL, "k2", "k2"}, {"k2", "k2", "k2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct play play;
        open_play(&play, "k0", NULL, NULL);
        expect(&play, 1, cases[i].claimed, NULL);
        expect(&play, 2, cases[i].uid, cases[i].recorded);
        play_identity(&play, 1, "k2");
        bool known = cases[i].recorded; // by the host itself: w2 need not answer
        assert_int_equal(*refused(&play, 1) != '\0', known);
        play_identity(&play, 2, "k2");
        submit(&play, 4);
        assert_string_equal(places(&play), "2");
        assert_string_equal(refused(&play, 2), "");
        assert_non_null(strstr(refused(&play, 1), "the same cluster as w2"));
        play_end(&play);
    }
}

static void a_uid_in_use_is_not_lost_to_a_secret_that_names_it(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", NULL, "k2");
    expect(&play, 2, NULL, "k2"); // the host has recorded it
    expect(&play, 1, "k2", NULL);
    play_identity(&play, 1, "k2");
    submit(&play, 2);
    assert_string_equal(places(&play), "2");
    assert_string_equal(refused(&play, 2), "");
    play_end(&play);
}

static void a_worker_that_is_not_the_cluster_that_joined_is_refused(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", NULL, "k2");
    expect(&play, 1, "k1", NULL);
    play_identity(&play, 1, "k2"); // also the uid of another worker
    submit(&play, 2);
    assert_string_equal(places(&play), "2");
    assert_non_null(strstr(refused(&play, 1), "found uid k2 of namespace kube-system, expected k1"));
    assert_non_null(strstr(refused(&play, 1), "wharf.dev/cluster-uid"));
    play_identity(&play, 1, "k1");
    assert_string_equal(refused(&play, 1), "");
    expect(&play, 1, "other", NULL); // of a worker in use: it is compared after a restart
    assert_string_equal(refused(&play, 1), "");
    play_end(&play);
}

static void a_wrong_uid_in_a_secret_is_corrected(void **state) {
    (void)state;
    static const char *const corrected[] = {"k1", NULL};
    for (size_t i = 0; i < 2; i++) {
        struct play play;
        open_play(&play, "k0", NULL, "k2");
        expect(&play, 1, "wrong", NULL);
        play_identity(&play, 1, "k1");
        assert_true(*refused(&play, 1));
        expect(&play, 1, corrected[i], NULL);
        assert_string_equal(refused(&play, 1), "");
        play_end(&play);
    }
}

// The operator has exchanged the kubeconfigs, and restarted the host.
static void workers_that_were_exchanged_are_both_used(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", NULL, NULL);
    expect(&play, 1, NULL, "k2");
    expect(&play, 2, NULL, "k1");
    play_identity(&play, 1, "k1");
    play_identity(&play, 2, "k2");
    submit(&play, 4);
    assert_string_equal(places(&play), "12");
    play_end(&play);
}

static void what_a_worker_is_known_by_is_that_of_one_that_is_not_refused(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", "k1", "k1");
    assert_string_equal(engine_identity(play.engine, 1), "k1");
    assert_string_equal(engine_identity(play.engine, 2), "");
    assert_string_equal(engine_identity(play.engine, 9), "");
    play_end(&play);
}

static void the_management_cluster_is_refused_as_a_worker(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", "k0", "k2");
    submit(&play, 4);
    assert_string_equal(places(&play), "2");
    assert_non_null(strstr(refused(&play, 1), "the worker is the management cluster"));
    play_end(&play);
}

static void configure_self(struct play *play) {
    play_tell(
        play,
        (struct engine_event){
            .type = EVENT_WORKER,
            .cluster = 1,
            .worker = {.name = "w1", .policy = WORKER_ACTIVE, .is_self = true, .namespace_map = "default=x\n*=\n"}});
}

static void the_management_cluster_is_a_worker_of_its_own_where_configured(void **state) {
    (void)state;
    static const struct {
        const char *management, *w1, *places;
    } cases[] = {{"k0", "k0", "12"}, {"k0", "k1", "2"}, {"", "k0", "12"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct play play;
        open_play(&play, cases[i].management, NULL, "k2");
        configure_self(&play);
        play_identity(&play, 1, cases[i].w1);
        submit(&play, 4);
        assert_string_equal(places(&play), cases[i].places);
        assert_int_equal(!strstr(refused(&play, 1), "not the management cluster, although"), i != 1);
        play_end(&play);
    }
}

// Both would be the management cluster.
static void of_two_workers_with_self_one_is_refused(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", NULL, NULL);
    configure_self(&play);
    play_tell(&play, (struct engine_event){
                         .type = EVENT_WORKER,
                         .cluster = 2,
                         .worker = {.name = "w2", .policy = WORKER_ACTIVE, .is_self = true, .namespace_map = "*=y\n"}});
    play_identity(&play, 1, "k0");
    play_identity(&play, 2, "k0");
    submit(&play, 4);
    assert_string_equal(places(&play), "1");
    assert_non_null(strstr(refused(&play, 2), "the same cluster as w1"));
    play_end(&play);
}

static void who_cannot_be_known_is_used_and_told_once(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", "", "");
    play_identity(&play, 1, "");
    submit(&play, 4);
    assert_string_equal(places(&play), "12");
    assert_int_equal(play_times(&play.log, "cannot be identified"), 2);
    assert_int_equal(play_times(&play.log, "is forbidden"), 2);
    play_end(&play);
}

// A mirror of "a", placed in w1, is seen through both names.
static void open_twins(struct play *play, const char *placed_in) {
    play_init(play);
    play_start(play);
    play_identity(play, 0, "k0");
    play_listing(play, 0);
    play_seen(play, 0, play_workload("a", "wharf.dev/host", placed_in));
    play_listed(play, 0);
    for (size_t c = 1; c < PLAY_CLUSTERS; c++) {
        play_listing(play, c);
        play_seen(play, c, play_mirror("a"));
        play_listed(play, c);
    }
    play_identity(play, 1, "k1");
    play_identity(play, 2, "k1");
}

static void one_mirror_under_two_names_is_left_alone(void **state) {
    (void)state;
    static const char *const workers[] = {"w1", "w2"};
    for (size_t i = 0; i < 2; i++) {
        struct play play;
        open_twins(&play, workers[i]);
        play_wait(&play, 60 * CLOCK_MINUTE);
        assert_int_equal(writes(&play, 2), 0);
        assert_int_equal(play_sent(&play, 1, VERB_DELETE) + play_sent(&play, 1, VERB_CREATE), 0);
        assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 0); // it is not moved
        play_end(&play);
    }
}

static void what_was_placed_in_a_refused_worker_waits_and_is_told(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", "k1", "k1");
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w2"));
    play_wait(&play, 60 * CLOCK_MINUTE);
    assert_int_equal(writes(&play, 1) + writes(&play, 2), 0);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 0);
    assert_int_equal(play_times(&play.notes, "Waiting: "), 1);
    assert_int_equal(play_times(&play.notes, "the same cluster as w1"), 1);
    play_identity(&play, 2, "k2"); // the kubeconfig's cluster was corrected
    play_wait(&play, CLOCK_SECOND);
    play_identity(&play, 2, "k1");
    play_end(&play);
}

static void answer_statuses(struct play *play) {
    for (size_t i = 0; i < play->n_commands; i++)
        if (play->commands[i].verb == VERB_STATUS_PATCH)
            play_answer(play, play->commands[i].id, REASON_OK, play_workload("a", "wharf.dev/host", "w1"));
}

static void another_cluster_behind_a_known_address_counts_as_a_lost_one(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", "k1", "k2");
    play_seen(&play, 1, play_mirror("a"));
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    size_t before = play_sent(&play, 1, VERB_GET) + writes(&play, 1);
    play_state(&play, 1, REFLECTOR_LOST);
    connect(&play, 1); // without the mirror, and its identity is not known yet
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_GET) + writes(&play, 1), before);
    play_identity(&play, 1, "other");
    assert_non_null(strstr(refused(&play, 1), "a different cluster now: found uid other"));
    for (int minute = 0; minute < 14; minute++) {
        answer_statuses(&play);
        play_wait(&play, CLOCK_MINUTE);
    }
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 0);
    assert_int_equal(play_times(&play.notes, "a different cluster now"), 1);
    play_wait(&play, 2 * CLOCK_MINUTE);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 1); // workerLostTimeout has passed
    assert_string_equal(places(&play), "2");
    assert_int_equal(play_sent(&play, 1, VERB_GET) + writes(&play, 1), before);
    play_end(&play);
}

static void it_is_used_again_when_the_first_one_answers_again(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", "k1", "k2");
    play_identity(&play, 1, "other");
    submit(&play, 2);
    assert_string_equal(places(&play), "2");
    play_identity(&play, 1, "k1");
    assert_string_equal(refused(&play, 1), "");
    assert_int_equal(play_times(&play.log, "no longer refused"), 1);
    for (int i = 0; i < 2; i++)
        play_seen(&play, 0, play_workload(i ? "x" : "y", "wharf.dev/host", ""));
    play_wait(&play, CLOCK_SECOND);
    assert_string_equal(places(&play), "12");
    play_end(&play);
}

static void another_management_cluster_stops_everything(void **state) {
    (void)state;
    struct play play;
    open_play(&play, "k0", "k1", "k2");
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "j%d", i);
        play_seen(&play, 0, play_workload(name, "wharf.dev/host", "w1"));
        play_seen(&play, 1, play_mirror(name));
    }
    play_wait(&play, CLOCK_SECOND);
    size_t before = play.n_commands;
    play_state(&play, 0, REFLECTOR_LOST);
    connect(&play, 0);
    play_wait(&play, CLOCK_MINUTE);
    play_identity(&play, 0, "other");
    play_seen(&play, 0, play_workload("new", "wharf.dev/host", ""));
    play_wait(&play, 3 * 60 * CLOCK_MINUTE);
    assert_int_equal(play.n_commands, before);
    assert_int_equal(play_times(&play.log, "0: the cluster is refused"), 1);
    play_end(&play);
}

static void an_origin_that_was_derived_names_the_management_cluster(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play.options.management_uid = "k0";
    play_start(&play);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++) {
        play_identity(&play, c, c == 0 ? "other" : c == 1 ? "k1" : "k2");
        connect(&play, c);
    }
    submit(&play, 2);
    assert_int_equal(play.n_commands, 0);
    assert_true(*refused(&play, 0));
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_that_are_who_they_should_be_are_used),
        cmocka_unit_test(nothing_is_placed_before_it_is_known_who_they_are),
        cmocka_unit_test(the_later_one_of_two_names_for_one_cluster_is_refused),
        cmocka_unit_test(a_recorded_uid_is_not_lost_to_a_worker_that_claims_it_first),
        cmocka_unit_test(a_uid_in_use_is_not_lost_to_a_secret_that_names_it),
        cmocka_unit_test(a_worker_that_is_not_the_cluster_that_joined_is_refused),
        cmocka_unit_test(a_wrong_uid_in_a_secret_is_corrected),
        cmocka_unit_test(workers_that_were_exchanged_are_both_used),
        cmocka_unit_test(what_a_worker_is_known_by_is_that_of_one_that_is_not_refused),
        cmocka_unit_test(the_management_cluster_is_refused_as_a_worker),
        cmocka_unit_test(the_management_cluster_is_a_worker_of_its_own_where_configured),
        cmocka_unit_test(of_two_workers_with_self_one_is_refused),
        cmocka_unit_test(who_cannot_be_known_is_used_and_told_once),
        cmocka_unit_test(one_mirror_under_two_names_is_left_alone),
        cmocka_unit_test(what_was_placed_in_a_refused_worker_waits_and_is_told),
        cmocka_unit_test(another_cluster_behind_a_known_address_counts_as_a_lost_one),
        cmocka_unit_test(it_is_used_again_when_the_first_one_answers_again),
        cmocka_unit_test(another_management_cluster_stops_everything),
        cmocka_unit_test(an_origin_that_was_derived_names_the_management_cluster),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
