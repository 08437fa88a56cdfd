// SPDX-License-Identifier: Apache-2.0
// The protocol of docs/fencing.md with one Lease of the host, and what a guard does with a mirror.
#include "tests/unit/engine/guard_play.h"

static int64_t sure_in_ns(const struct play *play) {
    return play->news.sure_ns - of_host(play).mono_ns;
}

static void while_the_host_renews_nothing_is_stopped(void **state) {
    (void)state;
    for (int per_mille = -20; per_mille <= 20; per_mille += 20) {
        struct play play;
        start(&play);
        play.per_mille = per_mille;
        for (int i = 0; i < 2000; i++) {
            pass(&play, CLOCK_SECOND);
            assert_false(fences(&play));
        }
        assert_true(play.news.guarded);
        assert_false(play.news.fencing);
        end(&play);
    }
}

static void both_leases_are_written_eight_times_in_fence_after(void **state) {
    (void)state;
    struct play play;
    start(&play);
    pass(&play, 20 * CLOCK_SECOND);
    unsigned before = play.news_count;
    uint64_t beats = play.guard.beats;
    pass(&play, 10 * AFTER_NS);
    assert_in_range(play.news_count - before, 76, 81);
    assert_in_range(play.guard.beats - beats, 76, 81);
    end(&play);
}

static void a_host_that_is_gone_is_noticed_within_fence_after(void **state) {
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        struct play play;
        start(&play);
        pass(&play, 10 * CLOCK_MINUTE);
        play.host_gone = !cut;
        play.cut = cut;
        int64_t took_ns = time_to_fence_ns(&play);
        assert_true(took_ns <= AFTER_NS && took_ns >= AFTER_NS / 2);
        assert_true(sure_in_ns(&play) > 0); // the host gives nothing up before
        end(&play);
    }
}

static void it_stays_so_until_a_new_beat_has_come_back(void **state) {
    (void)state;
    struct play play;
    start(&play);
    pass(&play, 10 * CLOCK_MINUTE);
    play.cut = true;
    assert_true(time_to_fence_ns(&play) < INT64_MAX);
    pass(&play, 10 * CLOCK_MINUTE);
    assert_true(fences(&play));
    unsigned before = play.news_count;
    play.cut = false;
    pass(&play, 12 * CLOCK_SECOND);
    assert_false(fences(&play));
    assert_true(play.news_count > before);
    pass(&play, 12 * CLOCK_SECOND);
    assert_false(play.news.fencing); // and the host knows
    end(&play);
}

// What was sent before the network was cut arrives when the host has given the worker up.
static void a_renewal_that_arrives_late_extends_nothing(void **state) {
    (void)state;
    struct play play;
    start(&play);
    pass(&play, 10 * CLOCK_MINUTE);
    play.cut = true;
    AUTO_TEXT beat = text_format("%s/%llu", play.guard.identity, (unsigned long long)play.guard.beats);
    play.late = (struct late){text_format("{'metadata':{'annotations':{'wharf.dev/beat':'%s'}},'spec':{'renewTime':"
                                          "'2030-01-01T00:00:00.000000Z','holderIdentity':'host'}}",
                                          beat),
                              play.now_ns + AFTER_NS - 2 * CLOCK_SECOND};
    assert_true(time_to_fence_ns(&play) <= AFTER_NS);
    end(&play);
}

static void the_first_guard_of_a_worker_waits_a_full_fence_after(void **state) {
    (void)state;
    struct play play;
    start(&play);
    pass(&play, 10 * CLOCK_MINUTE);
    play.cut = true;
    pass(&play, AFTER_NS / 2);
    json_free(play.guards);
    play.guards = NULL; // nothing is known of one before it
    start_guard(&play);
    int64_t took_ns = time_to_fence_ns(&play);
    assert_in_range(took_ns, AFTER_NS - CLOCK_SECOND, AFTER_NS + CLOCK_SECOND);
    assert_true(sure_in_ns(&play) > 0);
    end(&play);
}

static void a_restart_just_before_it_would_act_is_within_what_the_host_waits(void **state) {
    (void)state;
    for (int per_mille = -20; per_mille <= 20; per_mille += 20) {
        struct play play;
        start(&play);
        play.per_mille = per_mille;
        pass(&play, 10 * CLOCK_MINUTE);
        play.cut = true;
        while (guard_expires_at_ns(&play.guard.leases, of_guard(&play)) - of_guard(&play).mono_ns > CLOCK_SECOND)
            pass(&play, STEP_NS);
        play.guard_gone = true;
        pass(&play, 10 * CLOCK_SECOND);
        play.guard_gone = false;
        start_guard(&play);
        assert_true(time_to_fence_ns(&play) < INT64_MAX);
        assert_true(sure_in_ns(&play) > 0);
        end(&play);
    }
}

static void restart_after(struct play *play, int64_t begun_ns, int64_t at_ns, int64_t down_ns) {
    pass(play, begun_ns + at_ns - play->now_ns);
    play->guard_gone = true;
    pass(play, down_ns);
    play->guard_gone = false;
    start_guard(play);
}

// Each process goes on where the one before it ended: the host gives the worker up after they have acted.
static void a_guard_that_is_restarted_again_and_again_goes_on_counting(void **state) {
    (void)state;
    for (int per_mille = -20; per_mille <= 20; per_mille += 20) {
        struct play play;
        start(&play);
        play.per_mille = per_mille;
        pass(&play, 10 * CLOCK_MINUTE);
        play.cut = true;
        int64_t begun_ns = play.now_ns;
        restart_after(&play, begun_ns, AFTER_NS * 3 / 4, 2 * CLOCK_SECOND);
        assert_false(fences(&play));
        restart_after(&play, begun_ns, AFTER_NS * 33 / 20, 2 * CLOCK_SECOND);
        assert_in_range(time_to_fence_ns(&play), 0, CLOCK_SECOND); // it acted before, and goes on
        assert_true(sure_in_ns(&play) > 0);
        end(&play);
    }
}

// How long it takes from the restart on; the host is cut off when the test begins.
static void a_guard_that_was_down_counts_that_time(void **state) {
    (void)state;
    static const struct {
        int64_t at_ns, down_ns, wall_ns; // the clock of the new process's node is so much ahead
        int64_t least_ns, most_ns;
    } rows[] = {
        {AFTER_NS * 3 / 4, AFTER_NS / 2, 0, 0, CLOCK_SECOND},
        {AFTER_NS * 3 / 4, AFTER_NS / 8, 0, 0, AFTER_NS / 8},
        {AFTER_NS * 3 / 4, AFTER_NS / 8, -CLOCK_MINUTE * 60, 0, AFTER_NS / 4 + CLOCK_SECOND},
        {AFTER_NS * 3 / 4, AFTER_NS / 8, CLOCK_MINUTE * 60, 0, CLOCK_SECOND},
        // Until a half was measured, time that was not measured counts up to a half.
        {AFTER_NS / 8, AFTER_NS * 3 / 4, 0, AFTER_NS * 3 / 8, AFTER_NS / 2 + CLOCK_SECOND},
        {AFTER_NS / 8, AFTER_NS / 8, CLOCK_MINUTE * 60, AFTER_NS * 3 / 8, AFTER_NS / 2 + CLOCK_SECOND},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct play play;
        start(&play);
        pass(&play, 10 * CLOCK_MINUTE);
        play.cut = true;
        play.guard_wall_ns = 0;
        pass(&play, rows[i].at_ns);
        play.guard_gone = true;
        pass(&play, rows[i].down_ns);
        play.guard_gone = false;
        play.guard_wall_ns = rows[i].wall_ns;
        start_guard(&play);
        int64_t took_ns = time_to_fence_ns(&play);
        if (took_ns < rows[i].least_ns || took_ns > rows[i].most_ns)
            fail_msg("row %zu: %lld ms", i, (long long)(took_ns / CLOCK_MS));
        assert_true(sure_in_ns(&play) > 0);
        end(&play);
    }
}

static void start_second(struct play *play) {
    play->has_second = true;
    guard_init(&play->second,
               &(struct guard_options){.origin = "here", .namespace_ = "wharf-system", .identity = "second_1"},
               of_guard(play));
}

static size_t count_records(const struct play *play) {
    size_t records = 0;
    struct guard_record record;
    for (const struct json *item = json_first(pointer_find(play->guards, "/metadata/annotations")); item;
         item = json_next(item))
        if (guard_record_read(item, &record))
            records++;
    return records;
}

// Processes that end soon after they began, each of which has to add to the count.
static void a_guard_that_is_restarted_all_the_time_stops_them_too(void **state) {
    (void)state;
    struct play play;
    start(&play);
    pass(&play, 10 * CLOCK_MINUTE);
    play.cut = true;
    while (!fences(&play)) {
        pass(&play, 3 * CLOCK_SECOND);
        assert_true(sure_in_ns(&play) > 0);
        if (!fences(&play))
            start_guard(&play);
    }
    assert_in_range(count_records(&play), 2, GUARD_PEERS + 1);
    end(&play);
}

enum absence { ENDED, STOPPED, CUT_OFF };

// The host renews all the time, but there were no beats that it could have sent back. Nothing is stopped.
static void an_absence_of_the_guard_is_not_one_of_the_host(void **state) {
    (void)state;
    static const int64_t jumps_ns[] = {0, 120 * CLOCK_MINUTE, -120 * CLOCK_MINUTE};
    for (int absence = ENDED; absence <= CUT_OFF; absence++)
        for (size_t j = 0; j < 3; j++)
            for (int64_t down_ns = 2 * CLOCK_SECOND; down_ns < 10 * AFTER_NS; down_ns += down_ns / 3) {
                struct play play;
                start(&play);
                pass(&play, 5 * CLOCK_MINUTE + down_ns % (11 * CLOCK_SECOND));
                play.guard_gone = absence != CUT_OFF;
                play.guard_cut = absence == CUT_OFF;
                pass(&play, down_ns);
                play.guard_gone = play.guard_cut = false;
                play.guard_wall_ns = jumps_ns[j];
                if (absence == ENDED)
                    start_guard(&play);
                for (int step = 0; step < 400; step++) {
                    pass(&play, STEP_NS);
                    if (fences(&play))
                        fail_msg("absence %d of %lld s", absence, (long long)(down_ns / CLOCK_SECOND));
                }
                end(&play);
            }
}

static void of_two_guards_either_is_enough(void **state) {
    (void)state;
    for (int first_ends = 0; first_ends < 2; first_ends++) {
        struct play play;
        start(&play);
        pass(&play, CLOCK_MINUTE);
        assert_int_equal(play.news.guards, 1);
        start_second(&play);
        pass(&play, 10 * CLOCK_MINUTE);
        assert_int_equal(play.news.guards, 2);
        play.cut = true;
        pass(&play, AFTER_NS / 4);
        play.guard_gone = first_ends; // for good
        play.has_second = first_ends;
        pass(&play, AFTER_NS * 7 / 8);
        const struct guard *left = first_ends ? &play.second : &play.guard;
        assert_true(guard_is_fencing(&left->leases, of_guard(&play)));
        assert_true(sure_in_ns(&play) > AFTER_NS);
        assert_int_equal(count_records(&play), 1); // that of the other one is removed
        end(&play);
    }
}

// Each is away for a while or made anew, in turns: nothing is stopped, and the host sees one at least.
static void while_one_guard_is_away_or_started_the_other_one_goes_on(void **state) {
    (void)state;
    struct play play;
    start(&play);
    start_second(&play);
    pass(&play, 10 * CLOCK_MINUTE);
    for (int i = 0; i < 60; i++) {
        play.guard_gone = i % 4 == 0;
        play.has_second = i % 4 != 2;
        if (i % 8 == 1)
            start_guard(&play);
        for (int step = 0; step < 40 + 11 * i; step++) {
            pass(&play, STEP_NS);
            assert_false(!play.guard_gone && fences(&play));
            assert_false(play.has_second && guard_is_fencing(&play.second.leases, of_guard(&play)));
            assert_true(play.news.guarded && play.news.guards > 0);
            assert_true(count_records(&play) <= 3);
        }
    }
    end(&play);
}

// It lists the Leases once more before it acts, and again while its API server does not answer.
static void without_a_list_of_leases_it_acts_only_if_that_is_refused(void **state) {
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        struct play play;
        start(&play);
        pass(&play, 10 * CLOCK_MINUTE);
        play.cut = true;
        pass(&play, AFTER_NS / 4);
        play.guard_cut = !refused;
        play.guard_code = refused ? 403 : 0;
        pass(&play, AFTER_NS * 3 / 4 + 3 * CLOCK_SECOND);
        assert_int_equal(fences(&play), refused);
        play.guard_cut = false;
        pass(&play, 3 * CLOCK_SECOND);
        assert_true(fences(&play));
        end(&play);
    }
}

static void without_a_lease_it_does_nothing(void **state) {
    (void)state;
    struct play play;
    start(&play);
    play.host_gone = true;
    assert_int_equal(time_to_fence_ns(&play), INT64_MAX);
    end(&play);
}

static void a_lease_that_was_given_back_is_not_missed(void **state) {
    (void)state;
    struct play play;
    start(&play);
    pass(&play, CLOCK_MINUTE);
    fence_lease_leave(&play.host, 1, of_host(&play));
    pass(&play, 20 * CLOCK_SECOND);
    assert_true(has_left(&play.host));
    assert_int_equal(time_to_fence_ns(&play), INT64_MAX);
    end(&play);
}

static void a_lease_that_somebody_deleted_is_not_renewed_either(void **state) {
    (void)state;
    struct play play;
    start(&play);
    pass(&play, CLOCK_MINUTE);
    play.host_gone = true;
    json_free(play.leases[0]);
    play.leases[0] = NULL;
    assert_true(time_to_fence_ns(&play) <= AFTER_NS);
    end(&play);
}

static void a_guard_that_is_silent_or_absent_does_not_count(void **state) {
    (void)state;
    struct play play;
    start(&play);
    play.guard_gone = true;
    pass(&play, CLOCK_MINUTE);
    assert_true(play.news_count > 0 && !play.news.guarded);
    play.guard_gone = false;
    pass(&play, CLOCK_MINUTE);
    assert_true(play.news.guarded);
    play.guard_gone = true;
    pass(&play, AFTER_NS);
    assert_false(play.news.guarded);
    end(&play);
}

// A beat that never changes may be one from years ago.
static void one_beat_proves_no_guard(void **state) {
    (void)state;
    struct play play;
    start(&play);
    pass(&play, 5 * CLOCK_SECOND);
    play.guard_gone = true;
    fence_lease_init(
        &play.host,
        &(struct fence_lease_options){
            .origin = "here", .namespace_ = "wharf-system", .identity = "host2", .shards = 1, .after_ns = AFTER_NS},
        of_host(&play));
    fence_lease_renew(&play.host, 1, of_host(&play));
    pass(&play, CLOCK_SECOND);
    assert_false(play.news.guarded);
    end(&play);
}

static void a_standby_reads_and_writes_nothing(void **state) {
    (void)state;
    struct play play;
    start(&play);
    fence_lease_renew(&play.host, 0, of_host(&play));
    pass(&play, CLOCK_MINUTE);
    assert_null(play.leases[0]);
    assert_true(play.news_count > 0 && !play.news.guarded); // a guard that has seen no Lease stops nothing
    int64_t takes_over_ns = of_host(&play).mono_ns;
    fence_lease_renew(&play.host, 1, of_host(&play));
    pass(&play, CLOCK_SECOND);
    assert_non_null(play.leases[0]);
    assert_true(play.news.sure_ns >= takes_over_ns + fence_sure_ns(AFTER_NS));
    pass(&play, CLOCK_MINUTE);
    fence_lease_renew(&play.host, 0, of_host(&play));
    pass(&play, 20 * CLOCK_SECOND);
    assert_true(play.news.guarded); // and as a standby
    end(&play);
}

static void a_longer_time_counts_from_when_it_may_have_been_read(void **state) {
    (void)state;
    struct play play;
    start(&play);
    pass(&play, CLOCK_MINUTE);
    fence_lease_set_after(&play.host, 3 * AFTER_NS);
    pass(&play, 40 * CLOCK_SECOND);
    assert_true(sure_in_ns(&play) > 6 * AFTER_NS);
    fence_lease_set_after(&play.host, AFTER_NS); // the guard may not have read it
    play.guard_gone = true;
    pass(&play, 15 * CLOCK_SECOND);
    assert_true(sure_in_ns(&play) > 5 * AFTER_NS);
    end(&play);
}

// One request of the host. False: none is due.
static bool ask_once(struct play *play, enum fence_request *type, bool is_heard) {
    struct request request;
    struct response response;
    int64_t at_ns = 0;
    *type = fence_lease_next(&play->host, of_host(play), &request, &at_ns);
    if (*type == FENCE_NONE)
        return false;
    serve(play, &request, &response);
    if (is_heard)
        fence_lease_answer(&play->host, &response, of_host(play), &play->news);
    response_clear(&response);
    return true;
}

// The configuration is read again between the read of the guard's Lease and the renewal, and the worker is lost then.
static void a_longer_time_is_not_written_before_the_host_counts_with_it(void **state) {
    (void)state;
    struct play play;
    enum fence_request type = FENCE_NONE;
    start(&play);
    pass(&play, 5 * CLOCK_MINUTE);
    while (type != FENCE_READ)
        if (!ask_once(&play, &type, true)) {
            run_guards(&play);
            play.now_ns += STEP_NS;
        }
    fence_lease_set_after(&play.host, 3 * AFTER_NS);
    (void)ask_once(&play, &type, false);
    play.host_gone = true;
    int64_t sure_in_ns = play.news.sure_ns - of_host(&play).mono_ns;
    assert_true(time_to_fence_ns(&play) < sure_in_ns);
    end(&play);
}

// A host whose Leases cannot be written has no guard, whatever the guard writes.
static void a_guard_that_has_not_seen_the_lease_does_not_count(void **state) {
    (void)state;
    struct play play;
    start(&play);
    play.refuses = true;
    pass(&play, 10 * CLOCK_MINUTE);
    assert_int_equal(play.news.guarded, 0);
    play.refuses = false;
    pass(&play, CLOCK_MINUTE);
    assert_int_equal(play.news.guarded, 1);
    end(&play);
}

#define MIRROR(more, spec, status)                                                                                     \
    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'a','namespace':'default','uid':'u',"                    \
    "'labels':{'wharf.dev/origin':'here','wharf.dev/uid':'w','wharf.dev/kind':'jobs.batch'" more "},"                  \
    "'annotations':{'wharf.dev/attempt':'1'}},'spec':{" spec "},'status':{" status "}}"

static void only_mirrors_that_run_are_stopped(void **state) {
    (void)state;
    static const struct {
        const char *name, *object;
        enum guard_action action;
        bool refused;
        enum guard_verdict verdict;
    } rows[] = {
        {"it runs", MIRROR("", "", "'active':1"), GUARD_SUSPENDS, false, GUARD_SUSPENDS_IT},
        {"it has not begun", MIRROR("", "", ""), GUARD_SUSPENDS, false, GUARD_SUSPENDS_IT},
        {"all are deleted", MIRROR("", "", "'active':1"), GUARD_DELETES, false, GUARD_DELETES_IT},
        {"it cannot be suspended", MIRROR("", "", "'active':1"), GUARD_SUSPENDS, true, GUARD_DELETES_IT},
        {"it is suspended", MIRROR("", "'suspend':true", ""), GUARD_SUSPENDS, false, GUARD_LEAVES_IT},
        {"it is suspended, and all are deleted", MIRROR("", "'suspend':true", ""), GUARD_DELETES, false,
         GUARD_DELETES_IT},
        {"a queue would resume it", MIRROR(",'kueue.x-k8s.io/queue-name':'q'", "'suspend':true", ""), GUARD_SUSPENDS,
         false, GUARD_DELETES_IT},
        {"it has finished", MIRROR("", "", "'conditions':[{'type':'Complete','status':'True'}]"), GUARD_DELETES, false,
         GUARD_LEAVES_IT},
        {"of another origin",
         "{'metadata':{'name':'a','uid':'u','labels':{'wharf.dev/origin':'there','wharf.dev/uid':'w','wharf.dev/kind':"
         "'jobs.batch'},'annotations':{'wharf.dev/attempt':'1'}}}",
         GUARD_DELETES, false, GUARD_LEAVES_IT},
        {"labels that a controller copied",
         "{'metadata':{'name':'a','uid':'u','labels':{'wharf.dev/origin':'here','wharf.dev/uid':'w','wharf.dev/kind':"
         "'jobsets.jobset.x-k8s.io'},'annotations':{'wharf.dev/attempt':'1'}}}",
         GUARD_DELETES, false, GUARD_LEAVES_IT},
        {"a child of a mirror",
         "{'metadata':{'name':'a','uid':'u','ownerReferences':[{'controller':true,'uid':'o','kind':'X','name':'x'}],"
         "'labels':{'wharf.dev/origin':'here','wharf.dev/uid':'w','wharf.dev/kind':'jobs.batch'},'annotations':{"
         "'wharf.dev/attempt':'1'}}}",
         GUARD_DELETES, false, GUARD_LEAVES_IT},
        {"it is being deleted",
         "{'metadata':{'name':'a','uid':'u','deletionTimestamp':'2026-03-01T12:00:00Z','labels':{'wharf.dev/origin':"
         "'here','wharf.dev/uid':'w','wharf.dev/kind':'jobs.batch'},'annotations':{'wharf.dev/attempt':'1'}}}",
         GUARD_DELETES, false, GUARD_LEAVES_IT},
    };
    struct kind *kind = NULL;
    assert_null(kind_check(job_kind, NULL, "wharf.dev/host", &kind));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct guard guard;
        struct moment now = {CLOCK_SECOND, CLOCK_SECOND};
        guard_init(
            &guard,
            &(struct guard_options){.origin = "here", .namespace_ = "n", .identity = "g", .action = rows[i].action},
            now);
        guard.leases.list[guard.leases.count++] =
            (struct guarded){.part = {0, 1}, .after_ns = 1, .fresh_ns = -CLOCK_MINUTE};
        AUTO_JSON object = harness_json(rows[i].object);
        if (guard_judge(&guard, kind, object, now, rows[i].refused) != rows[i].verdict)
            fail_msg("%s", rows[i].name);
    }
    kind_free(kind);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(while_the_host_renews_nothing_is_stopped),
        cmocka_unit_test(both_leases_are_written_eight_times_in_fence_after),
        cmocka_unit_test(a_host_that_is_gone_is_noticed_within_fence_after),
        cmocka_unit_test(it_stays_so_until_a_new_beat_has_come_back),
        cmocka_unit_test(a_renewal_that_arrives_late_extends_nothing),
        cmocka_unit_test(the_first_guard_of_a_worker_waits_a_full_fence_after),
        cmocka_unit_test(a_restart_just_before_it_would_act_is_within_what_the_host_waits),
        cmocka_unit_test(a_guard_that_is_restarted_again_and_again_goes_on_counting),
        cmocka_unit_test(a_guard_that_was_down_counts_that_time),
        cmocka_unit_test(a_guard_that_is_restarted_all_the_time_stops_them_too),
        cmocka_unit_test(an_absence_of_the_guard_is_not_one_of_the_host),
        cmocka_unit_test(of_two_guards_either_is_enough),
        cmocka_unit_test(while_one_guard_is_away_or_started_the_other_one_goes_on),
        cmocka_unit_test(without_a_list_of_leases_it_acts_only_if_that_is_refused),
        cmocka_unit_test(without_a_lease_it_does_nothing),
        cmocka_unit_test(a_lease_that_was_given_back_is_not_missed),
        cmocka_unit_test(a_lease_that_somebody_deleted_is_not_renewed_either),
        cmocka_unit_test(a_guard_that_is_silent_or_absent_does_not_count),
        cmocka_unit_test(one_beat_proves_no_guard),
        cmocka_unit_test(a_standby_reads_and_writes_nothing),
        cmocka_unit_test(a_longer_time_counts_from_when_it_may_have_been_read),
        cmocka_unit_test(a_longer_time_is_not_written_before_the_host_counts_with_it),
        cmocka_unit_test(a_guard_that_has_not_seen_the_lease_does_not_count),
        cmocka_unit_test(only_mirrors_that_run_are_stopped),
    };
    return cmocka_run_group_tests(tests, harness_load, NULL);
}
