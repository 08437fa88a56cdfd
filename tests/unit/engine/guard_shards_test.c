// SPDX-License-Identifier: Apache-2.0
// The protocol of docs/fencing.md with several shards: replicas that come and go, and another number of shards.
#include "tests/unit/engine/guard_play.h"

// A replica of a host with several shards; the host without shards is gone.
static void start_replica(struct play *play, size_t index, uint32_t shards, uint64_t held) {
    static const char *const names[HOSTS] = {"r0", "r1", "r2", "r3"};
    play->host_gone = true;
    fence_lease_init(&play->others[index],
                     &(struct fence_lease_options){.origin = "here",
                                                   .namespace_ = "wharf-system",
                                                   .identity = names[index],
                                                   .shards = shards,
                                                   .after_ns = AFTER_NS},
                     of_host(play));
    fence_lease_renew(&play->others[index], held, of_host(play));
}

static void end_replica(struct play *play, size_t index) {
    play->others[index].shards = 0;
}

static bool stops(const struct play *play, uint32_t shard, uint32_t shards) {
    for (uint64_t hash = 0;; hash++) // of the shard; whatever it is in others
        if (shard_hash_at(hash, shards) == shard)
            return guard_is_fencing_of(&play->guard.leases, hash, of_guard(play));
}

// Which of them the guard stops.
static uint64_t stopped(const struct play *play, uint32_t shards) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < shards; i++)
        mask |= (uint64_t)stops(play, i, shards) << i;
    return mask;
}

static void pass_without_stopping(struct play *play, int64_t ns) {
    for (int64_t end_ns = play->now_ns + ns; play->now_ns < end_ns; pass(play, STEP_NS))
        if (fences(play)) {
            char leases[256];
            guard_missed(&play->guard.leases, of_guard(play), leases, sizeof leases);
            fail_msg("stopped: %s", leases);
        }
}

// Of 8 shards, as the guard reports.
static uint64_t watched(const struct play *play) {
    struct guard_record record;
    struct guard_watched watched;
    uint64_t mask = 0;
    AUTO_TEXT key = text_format(GUARD_RECORD "%s", play->guard.identity);
    assert_true(guard_record_read(json_path(play->guards, "metadata", "annotations", key, NULL), &record));
    while (guard_record_next(&record, &watched)) {
        assert_int_equal(watched.part.count, 8);
        assert_false(watched.stops);
        mask |= UINT64_C(1) << watched.part.shard;
    }
    return mask;
}

static void replicas_renew_what_they_hold_and_nothing_is_stopped(void **state) {
    (void)state;
    struct play play;
    start(&play);
    start_replica(&play, 0, 8, 0x0f);
    start_replica(&play, 1, 8, 0xf0);
    pass_without_stopping(&play, 20 * CLOCK_MINUTE);
    assert_int_equal(play.other_news[0].guarded, 0xff); // those of the other one too: it may take them over
    assert_int_equal(play.other_news[1].fencing, 0);
    assert_int_equal(watched(&play), 0xff);
    end(&play);
}

static void only_the_shards_of_the_lost_replica_are_stopped(void **state) {
    (void)state;
    struct play play;
    start(&play);
    start_replica(&play, 0, 8, 0x0f);
    start_replica(&play, 1, 8, 0xf0);
    pass(&play, 10 * CLOCK_MINUTE);
    end_replica(&play, 1);
    int64_t sure_ns = play.other_news[1].sure_ns;
    assert_true(time_to_fence_ns(&play) <= AFTER_NS);
    pass(&play, 20 * CLOCK_SECOND);
    assert_int_equal(stopped(&play, 8), 0xf0);
    assert_true(of_host(&play).mono_ns < sure_ns);
    assert_int_equal(play.other_news[0].fencing, 0xf0); // told to the others
    assert_int_equal(play.other_news[0].guarded, 0xff);
    pass(&play, CLOCK_MINUTE);
    fence_lease_renew(&play.others[0], 0xff, of_host(&play)); // takes them over
    pass(&play, 20 * CLOCK_SECOND);
    assert_int_equal(stopped(&play, 8), 0);
    assert_int_equal(play.other_news[0].fencing, 0);
    end(&play);
}

static void a_shard_that_moves_is_no_reason_to_stop_anything(void **state) {
    (void)state;
    struct play play;
    start(&play);
    start_replica(&play, 0, 4, 0xf);
    pass_without_stopping(&play, 10 * CLOCK_MINUTE);
    start_replica(&play, 1, 4, 0);
    for (uint32_t i = 0; i < 4; i++) { // given back, and taken a while later
        uint64_t moved = ~(ALL << (i + 1)) & 0xf;
        fence_lease_renew(&play.others[0], 0xf & ~moved, of_host(&play));
        pass_without_stopping(&play, 20 * CLOCK_SECOND);
        fence_lease_renew(&play.others[1], moved, of_host(&play));
        assert_true(play.others[1].sent_back_ns >= of_host(&play).mono_ns); // the former holder renewed until now
        pass_without_stopping(&play, CLOCK_MINUTE);
    }
    end_replica(&play, 1); // is killed, and its shards are taken over
    pass_without_stopping(&play, 20 * CLOCK_SECOND);
    fence_lease_renew(&play.others[0], 0xf, of_host(&play));
    pass_without_stopping(&play, 10 * CLOCK_MINUTE);
    end(&play);
}

static void another_number_of_shards_stops_nothing_that_the_new_replicas_hold(void **state) {
    (void)state;
    static const uint32_t numbers[][2] = {{4, 6}, {8, 3}, {1, 4}, {4, 1}, {64, 63}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint32_t from = numbers[i][0], to = numbers[i][1];
        struct play play;
        start(&play);
        start_replica(&play, 0, from, ALL >> (64 - from));
        pass_without_stopping(&play, 10 * CLOCK_MINUTE);
        end_replica(&play, 0);
        pass_without_stopping(&play, 30 * CLOCK_SECOND);
        start_replica(&play, 1, to, ALL >> (64 - to));
        pass_without_stopping(&play, 10 * CLOCK_MINUTE);
        assert_int_equal(play.other_news[1].guarded, ALL >> (64 - to));
        assert_int_equal(play.other_news[1].fencing, 0);
        // The former Leases are given back, so neither the end of the new ones nor a restart brings them back.
        fence_lease_leave(&play.others[1], ALL >> (64 - to), of_host(&play));
        play.guard_gone = true;
        pass(&play, 5 * CLOCK_SECOND);
        play.guard_gone = false;
        start_guard(&play);
        pass_without_stopping(&play, 20 * CLOCK_MINUTE);
        end(&play);
    }
}

static void a_former_lease_that_cannot_be_given_back_is_told_until_it_is(void **state) {
    (void)state;
    static const struct {
        enum reason reason;
        bool told;
    } rows[] = {
        {REASON_FORBIDDEN, true}, {REASON_SERVER_ERROR, true}, {REASON_CONFLICT, false}, {REASON_NOT_FOUND, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct play play;
        start(&play);
        start_replica(&play, 0, 4, 0xf);
        pass_without_stopping(&play, 10 * CLOCK_MINUTE);
        end_replica(&play, 0);
        play.clear = rows[i].reason;
        start_replica(&play, 1, 2, 3);
        pass_without_stopping(&play, 10 * CLOCK_MINUTE);
        for (int step = 0; step < 100; step++) { // also between its attempts, while it reads and beats
            bool told = strstr(play.guard.unreturned, "-of-4: not that one");
            assert_int_equal(told, rows[i].told);
            assert_string_equal(play.guard.problem, "");
            pass_without_stopping(&play, STEP_NS);
        }
        assert_int_equal(play.other_news[1].guarded, 3); // it goes on with its beats
        play.clear = REASON_OK;
        pass_without_stopping(&play, CLOCK_MINUTE);
        assert_string_equal(play.guard.unreturned, "");
        end(&play);
    }
}

// A host that hears no beat would take the guard for gone.
static void a_guard_beats_also_while_its_attempts_to_give_one_back_get_no_answer(void **state) {
    (void)state;
    struct play play;
    start(&play);
    start_replica(&play, 0, 4, 0xf);
    pass_without_stopping(&play, 10 * CLOCK_MINUTE);
    end_replica(&play, 0);
    play.clear = REASON_UNKNOWN_OUTCOME;
    start_replica(&play, 1, 2, 3);
    pass_without_stopping(&play, 20 * CLOCK_MINUTE);
    assert_int_equal(play.other_news[1].guarded, 3);
    end(&play);
}

static void what_no_replica_of_the_new_number_renews_is_stopped(void **state) {
    (void)state;
    struct play play;
    start(&play);
    start_replica(&play, 0, 2, 3);
    pass(&play, 10 * CLOCK_MINUTE);
    end_replica(&play, 0);
    start_replica(&play, 1, 4, 0xd); // nobody holds shard 1, and the guard has not seen its Lease
    pass(&play, 5 * CLOCK_MINUTE);
    assert_int_equal(stopped(&play, 4), 2);
    assert_int_equal(play.other_news[1].guarded, 0xd);
    assert_int_equal(play.other_news[1].fencing & 0xf, 2);
    fence_lease_renew(&play.others[1], 0xf, of_host(&play));
    pass(&play, 2 * CLOCK_MINUTE);
    assert_int_equal(stopped(&play, 4), 0);
    assert_int_equal(play.other_news[1].guarded, 0xf);
    assert_int_equal(play.other_news[1].fencing & 0xf, 0);
    end(&play);
}

static void replicas_give_back_their_shards_and_what_is_left_of_another_number(void **state) {
    (void)state;
    struct play play;
    start(&play);
    start_replica(&play, 0, 2, 3);
    pass(&play, CLOCK_MINUTE);
    end_replica(&play, 0);
    start_replica(&play, 1, 4, 1);
    start_replica(&play, 2, 4, 6); // nobody holds shard 3
    pass(&play, CLOCK_MINUTE);
    fence_lease_leave(&play.others[1], 1, of_host(&play));
    fence_lease_leave(&play.others[2], 6, of_host(&play));
    pass(&play, CLOCK_SECOND);
    assert_true(has_left(&play.others[1]) && has_left(&play.others[2]));
    for (size_t i = 0; i < LEASES && play.leases[i]; i++)
        if (fence_lease_is_held(play.leases[i]))
            fail_msg("%s", object_name(play.leases[i]));
    fence_lease_leave(&play.others[1], 9, of_host(&play)); // takes shard 3 later
    pass(&play, CLOCK_SECOND);
    assert_true(has_left(&play.others[1]));
    pass_without_stopping(&play, 20 * CLOCK_MINUTE);
    end(&play);
}

static void a_mirror_is_in_the_shard_of_its_workload(void **state) {
    (void)state;
    struct kind *kind = NULL;
    assert_null(kind_check(job_kind, NULL, "wharf.dev/host", &kind));
    AUTO_JSON object = harness_json("{'metadata':{'name':'a','namespace':'default'}}");
    assert_int_equal(guard_hash(kind, object), shard_hash("jobs.batch", "default/a"));
    kind_free(kind);
}

static void lists_of_shards_are_read_as_they_are_written(void **state) {
    (void)state;
    char list[FENCE_LIST_MAX] = "";
    struct fence_part part = {0, 0};
    size_t count = 0;
    for (uint32_t shards = 62; shards <= 64; shards++)
        for (uint32_t i = 0; i < shards; i++)
            fence_list_add(list, (struct fence_part){i, shards});
    for (const char *at = list; fence_list_next(&at, &part); count++)
        assert_true(part.shard < part.count);
    assert_int_equal(count, 62 + 63 + 64);
    const char *at = "8-of-8 x 1-of-65 -1-of-2 3-of- 3-of-8x 2-of-3";
    assert_true(fence_list_next(&at, &part));
    assert_true(part.shard == 2 && part.count == 3);
    assert_false(fence_list_next(&at, &part));
    char name[FENCE_NAME_MAX];
    fence_name_print("here", (struct fence_part){3, 8}, name);
    assert_string_equal(name, "wharf-fence-here.3-of-8");
    fence_name_print("here", (struct fence_part){0, 1}, name);
    assert_string_equal(name, "wharf-fence-here");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_renew_what_they_hold_and_nothing_is_stopped),
        cmocka_unit_test(only_the_shards_of_the_lost_replica_are_stopped),
        cmocka_unit_test(a_shard_that_moves_is_no_reason_to_stop_anything),
        cmocka_unit_test(another_number_of_shards_stops_nothing_that_the_new_replicas_hold),
        cmocka_unit_test(a_former_lease_that_cannot_be_given_back_is_told_until_it_is),
        cmocka_unit_test(a_guard_beats_also_while_its_attempts_to_give_one_back_get_no_answer),
        cmocka_unit_test(what_no_replica_of_the_new_number_renews_is_stopped),
        cmocka_unit_test(replicas_give_back_their_shards_and_what_is_left_of_another_number),
        cmocka_unit_test(a_mirror_is_in_the_shard_of_its_workload),
        cmocka_unit_test(lists_of_shards_are_read_as_they_are_written),
    };
    return cmocka_run_group_tests(tests, harness_load, NULL);
}
