// SPDX-License-Identifier: Apache-2.0
// Objects that workloads refer to: workers that are lost, wiped, restored, removed; namespaces, shards, the
// configuration.
#include "core/engine/shard/shard_hash.h"
#include "tests/unit/engine/needs_play.h"

static struct needs_play play;
static struct stage *const stage = &play.stage;

static bool has_copy(size_t cluster) {
    return needs_object(stage, cluster, "configmaps", "settings");
}

// The workload runs elsewhere; the copy in the lost worker goes once that is back and the mirror is gone.
static void test_lost(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = stage_where(stage, "a");
    stage_disconnect(stage, w);
    stage_run(stage, 6 * CLOCK_MINUTE);
    assert_int_equal(stage_where(stage, "a"), 3 - w);
    assert_non_null(stage_job(stage, 3 - w, "a"));
    assert_true(has_copy(1) && has_copy(2));
    stage_connect(stage, w);
    stage_run(stage, 55 * CLOCK_SECOND);
    assert_null(stage_job(stage, w, "a"));
    assert_true(has_copy(w));
    stage_run(stage, 20 * CLOCK_SECOND);
    assert_false(has_copy(w));
    assert_true(has_copy(3 - w));
    needs_end(&play);
}

// D3, of further attempts too: the lost worker's mirror goes on if it comes back before the source.
static void test_lost_without_the_source(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = stage_where(stage, "a");
    needs_delete(stage, 0, "configmaps", "settings");
    stage_disconnect(stage, w);
    stage_run(stage, 6 * CLOCK_MINUTE);
    assert_int_equal(stage_where(stage, "a"), w);
    assert_string_equal(needs_explain(stage, "a"), "missing in the management cluster: configmaps default/settings");
    needs_map(stage, 0, "settings", "1");
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 3 - w);
    assert_non_null(stage_job(stage, 3 - w, "a"));
    needs_end(&play);
}

static int lose_reads(struct stage *here, const struct command *command) {
    (void)here;
    return command->cluster && command->request.verb == VERB_GET ? STAGE_LOST : STAGE_PASS;
}

// The lost worker comes back without the mirror, and is lost again before a read confirms that.
static void test_lost_with_its_mirror(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = stage_where(stage, "a");
    stage_disconnect(stage, w);
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_delete(stage, w, "a"), 200);
    play.meddle = lose_reads;
    stage_connect(stage, w);
    stage_disconnect(stage, w);
    stage_run(stage, 6 * CLOCK_MINUTE);
    assert_int_equal(stage_where(stage, "a"), 3 - w);
    assert_true(has_copy(w));
    play.meddle = NULL;
    stage_connect(stage, w);
    stage_run(stage, 75 * CLOCK_SECOND);
    assert_false(has_copy(w));
    assert_true(has_copy(3 - w));
    needs_end(&play);
}

// A rotation while the worker is away reaches it when it is back.
static void test_rotation_meanwhile(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = stage_where(stage, "a");
    stage_disconnect(stage, w);
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, CLOCK_MINUTE);
    assert_string_equal(needs_value(stage, w, "settings"), "1");
    stage_connect(stage, w);
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, w, "settings"), "2");
    needs_end(&play);
}

// A worker restored to the time before has neither copy nor mirror: the next attempt brings both, in either worker.
static void test_wiped(void **state) {
    (void)state;
    needs_begin(&play);
    struct world_copy *copies[] = {NULL, world_copy(stage->clusters[1]), world_copy(stage->clusters[2])};
    needs_submit(stage);
    size_t w = stage_where(stage, "a");
    stage_back(stage, w, copies[w]);
    world_copy_free(copies[1]);
    world_copy_free(copies[2]);
    stage_run(stage, 10 * CLOCK_SECOND);
    size_t now = stage_where(stage, "a");
    assert_non_null(stage_job(stage, now, "a"));
    assert_true(has_copy(now));
    needs_end(&play);
}

// A rotation reaches the Job's worker, *w. The worker as before, owned by the caller.
static struct world_copy *begin_with_rotation(size_t *w) {
    needs_begin_with_job(&play);
    *w = stage_where(stage, "a");
    struct world_copy *copy = world_copy(stage->clusters[*w]);
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, *w, "settings"), "2");
    return copy;
}

// A worker restored to the time before a rotation gets the newest content again.
static void test_restored(void **state) {
    (void)state;
    size_t w;
    struct world_copy *copy = begin_with_rotation(&w);
    stage_back(stage, w, copy);
    world_copy_free(copy);
    assert_string_equal(needs_value(stage, w, "settings"), "1");
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, w, "settings"), "2");
    needs_end(&play);
}

// D6: the same where the watch of the copy is one of its own, shortly after the change.
static void test_restored_by_name(void **state) {
    (void)state;
    size_t w;
    struct world_copy *copy = begin_with_rotation(&w);
    world_restore(stage->clusters[w], copy, stage->now.wall_ns);
    world_copy_free(copy);
    assert_string_equal(needs_value(stage, w, "settings"), "1");
    needs_say(stage, w, DEPENDENCIES_LISTING, "settings", NULL);
    needs_repeat(&play, w);
    stage_run(stage, 2 * CLOCK_MS);
    needs_say(stage, w, DEPENDENCIES_LISTED, "settings", NULL);
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, w, "settings"), "2");
    needs_end(&play);
}

// The list of one object begins and ends within that of all, which lacks an unused copy: nothing is left to delete.
static void test_list_within_a_list(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = stage_where(stage, "a");
    assert_int_equal(stage_delete(stage, 0, "a"), 200);
    stage_run(stage, 5 * CLOCK_SECOND);
    stage_restart(stage); // the new process does not watch the copy by name
    stage_run(stage, 5 * CLOCK_SECOND);
    play.blind[w] = true;
    needs_delete(stage, w, "configmaps", "settings");
    needs_say(stage, w, DEPENDENCIES_LISTING, NULL, NULL);
    needs_say(stage, w, DEPENDENCIES_LISTING, "other", NULL);
    needs_say(stage, w, DEPENDENCIES_LISTED, "other", NULL);
    needs_say(stage, w, DEPENDENCIES_LISTED, NULL, NULL);
    stage_run(stage, 2 * CLOCK_MINUTE);
    assert_int_equal(play.sent[w][VERB_DELETE], 0);
    needs_end(&play);
}

// Before the first lists are complete nothing is deleted; D5.
static void test_incomplete_lists(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = stage_where(stage, "a");
    stage_disconnect(stage, 0);
    stage_restart(stage);
    stage_disconnect(stage, 0);
    stage_run(stage, 5 * CLOCK_MINUTE);
    assert_true(has_copy(w));
    assert_non_null(stage_job(stage, w, "a"));
    needs_end(&play);
}

// The deletion of a workload while the host is down: the mirror is held as an orphan, and its copy stays.
static void test_orphan(void **state) {
    (void)state;
    needs_init(&play);
    stage->options.settings.orphan_grace_ns = 10 * CLOCK_MINUTE;
    stage->options.settings.max_orphans = 100; // then the host keeps the names alone, and does not know the needs
    stage->options.settings.mass_deletion_max = 2;
    stage->options.settings.mass_deletion_percent = 100;
    stage_start(stage);
    needs_map(stage, 0, "settings", "1");
    for (int i = 0; i < 6; i++) {
        AUTO_TEXT name = text_format("a%d", i);
        needs_job(stage, name, MAP_VOLUME("settings"));
    }
    stage_run(stage, CLOCK_SECOND);
    for (int i = 0; i < 6; i++) {
        AUTO_TEXT name = text_format("a%d", i);
        stage_delete(stage, 0, name);
    }
    stage_restart(stage);
    stage_run(stage, 5 * CLOCK_MINUTE);
    assert_true(world_count(stage->clusters[1], "batch", "jobs") + world_count(stage->clusters[2], "batch", "jobs") >
                0);
    assert_true(has_copy(1) && has_copy(2));
    stage_run(stage, 20 * CLOCK_MINUTE);
    assert_int_equal(
        world_count(stage->clusters[1], "batch", "jobs") + world_count(stage->clusters[2], "batch", "jobs"), 0);
    assert_false(has_copy(1) || has_copy(2));
    needs_end(&play);
}

// createNamespaces: the copy may be the first object in the namespace.
static void test_namespace(void **state) {
    (void)state;
    needs_init(&play);
    stage->options.settings.create_namespaces = true;
    stage_start(stage);
    stage->space = "team";
    assert_int_equal(stage_apply(stage, 0, "", "namespaces", "{'metadata':{'name':'team'}}"), 201);
    needs_apply(stage, 0, "configmaps",
                "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings','namespace':'team'},'data':{}}");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    stage_run(stage, 3 * CLOCK_SECOND);
    size_t w = stage_where(stage, "a");
    assert_non_null(stage_job(stage, w, "a"));
    assert_non_null(needs_object(stage, w, "configmaps", "settings"));
    assert_int_equal(stage_attempt(stage, "a"), 1);
    needs_end(&play);
}

static void begin_in_team(void) {
    needs_init(&play);
    stage->options.settings.create_namespaces = true;
    stage->latency_ns = 100 * CLOCK_MS;
    stage_start(stage);
    stage->space = "team";
    assert_int_equal(stage_apply(stage, 0, "", "namespaces", "{'metadata':{'name':'team'}}"), 201);
    needs_apply(stage, 0, "configmaps",
                "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings','namespace':'team'},'data':{}}");
}

static void deny_team(size_t cluster) {
    struct engine_settings settings = stage->options.settings;
    if (cluster) {
        stage_step(stage,
                   &(struct engine_event){.type = EVENT_WORKER,
                                          .cluster = cluster,
                                          .worker = {.name = cluster == 1 ? "w1" : "w2", .namespaces = "-team\n"}});
        return;
    }
    settings.namespaces = "-team\n";
    assert_null(engine_configure(stage->engine, &settings));
    stage_step(stage, &(struct engine_event){.type = EVENT_TIME});
}

static bool copy_is_sent(struct stage *s) {
    (void)s;
    return play.sent[1][VERB_CREATE] + play.sent[2][VERB_CREATE] > 0;
}

static bool has_namespace(size_t cluster) {
    return world_object(stage->clusters[cluster], "", "namespaces", "", "team");
}

// While the create of the copy is in flight, the namespace is denied, or the workload goes.
static void test_namespace_denied(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        begin_in_team();
        needs_job(stage, "a", MAP_VOLUME("settings"));
        stage_until(stage, copy_is_sent);
        size_t w = stage_where(stage, "a");
        assert_false(has_namespace(w));
        if (way == 2)
            assert_int_equal(stage_delete(stage, 0, "a"), 200);
        else
            deny_team(way == 0 ? 0 : w);
        stage_run(stage, CLOCK_MINUTE);
        assert_false(has_namespace(w));
        assert_int_equal(has_namespace(3 - w), way == 1);
        needs_end(&play);
    }
}

// Annotations of an author make no copy, and no namespace, where the host would not place the workload.
static void test_namespace_of_an_author(void **state) {
    (void)state;
    begin_in_team();
    deny_team(1);
    assert_int_equal(
        stage_apply(stage, 0, "batch", "jobs",
                    "{'metadata':{'name':'a','namespace':'team','annotations':{'wharf.dev/cluster':'w1',"
                    "'wharf.dev/attempt':'1'}},'spec':{'managedBy':'wharf.dev/host','parallelism':1,'completions':1,"
                    "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]," MAP_VOLUME(
                        "settings") "}}}}"),
        201);
    stage_run(stage, 20 * CLOCK_MINUTE);
    assert_int_equal(stage_where(stage, "a"), 2);
    assert_false(has_namespace(1));
    assert_int_equal(play.sent[1][VERB_CREATE], 0);
    needs_end(&play);
}

static void configure(const char *copy) {
    struct engine_settings settings = stage->options.settings;
    settings.dependencies.copy = copy;
    settings.dependencies.check = NULL;
    assert_null(engine_configure(stage->engine, &settings));
    stage_step(stage, &(struct engine_event){.type = EVENT_TIME});
}

// A reload turns the feature off and on.
static void test_reload(void **state) {
    (void)state;
    needs_begin(&play);
    configure(NULL);
    needs_submit(stage);
    size_t w = stage_where(stage, "a");
    assert_non_null(stage_job(stage, w, "a"));
    assert_false(has_copy(w));
    configure("configmaps");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_true(has_copy(w)); // for the mirror that runs
    configure("secrets");
    stage_run(stage, 5 * CLOCK_MINUTE);
    assert_true(has_copy(w)); // a resource that leaves the list deletes nothing
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, w, "settings"), "1");
    configure("configmaps");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, w, "settings"), "2");
    configure("secrets");
    stage_delete(stage, 0, "a");
    stage_run(stage, 5 * CLOCK_MINUTE);
    assert_null(stage_job(stage, w, "a"));
    assert_false(has_copy(w)); // without a user it goes
    needs_end(&play);
}

static void worker(size_t cluster, const char *name, enum worker_policy policy) {
    stage_step(stage, &(struct engine_event){
                          .type = EVENT_WORKER, .cluster = cluster, .worker = {.name = name, .policy = policy}});
}

// A worker leaves while a request is in flight, and joins again.
static void test_leaves(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    while (play.sent[1][VERB_CREATE] == 0)
        stage_run(stage, CLOCK_MS / 4);
    stage->connected[1] = false;
    worker(1, "w1", WORKER_LEFT);
    stage_run(stage, 6 * CLOCK_MINUTE);
    assert_non_null(stage_job(stage, 2, "a"));
    assert_true(has_copy(2));
    worker(1, "w1", WORKER_ACTIVE);
    stage_connect(stage, 1);
    stage_run(stage, 2 * CLOCK_MINUTE);
    assert_false(has_copy(1));
    assert_int_equal(engine_pending(stage->engine), 0);
    needs_end(&play);
}

// D3, of a further attempt too: the mirror runs on.
static void test_drained_without_the_source(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = stage_where(stage, "a");
    needs_delete(stage, 0, "configmaps", "settings");
    stage_run(stage, CLOCK_SECOND);
    worker(w, w == 1 ? "w1" : "w2", WORKER_DRAIN_MOVE);
    stage_run(stage, CLOCK_MINUTE);
    assert_non_null(stage_job(stage, w, "a"));
    assert_string_equal(needs_explain(stage, "a"), "missing in the management cluster: configmaps default/settings");
    needs_map(stage, 0, "settings", "1");
    stage_run(stage, CLOCK_SECOND);
    assert_null(stage_job(stage, w, "a"));
    assert_non_null(stage_job(stage, 3 - w, "a"));
    needs_end(&play);
}

static void lease(uint32_t shard, bool held, uint64_t term) {
    stage_step(stage,
               &(struct engine_event){.type = EVENT_LEASE,
                                      .lease = {.shard = shard,
                                                .until_ns = held ? stage->now.mono_ns + 10 * 60 * CLOCK_MINUTE : 0,
                                                .term = term}});
}

// D11: only the holder of the object's shard writes the copy. Without leases nothing is written.
static void test_shards(void **state) {
    (void)state;
    needs_init(&play);
    stage->options.shards = 8;
    stage_start(stage);
    needs_map(stage, 0, "settings", "1");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_int_equal(needs_requests(&play), 0);
    size_t held = 0;
    uint32_t s = 0;
    for (; s < 8; s++) {
        lease(s, true, 1);
        held++;
        stage_run(stage, 5 * CLOCK_SECOND);
        if (needs_runs(stage, "a"))
            break;
    }
    assert_in_range(held, 1, 8);
    size_t w = stage_where(stage, "a");
    assert_true(has_copy(w));
    // Without the leases, a rotation and the end of the last user are the new holder's.
    for (uint32_t i = 0; i <= s; i++)
        lease(i, false, 1);
    unsigned before = needs_requests(&play);
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, CLOCK_MINUTE);
    assert_int_equal(needs_requests(&play), before);
    for (uint32_t i = 0; i < 8; i++)
        lease(i, true, 2);
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, w, "settings"), "2");
    needs_end(&play);
}

// D11: with the lease of the workload's shard alone, the host waits for the other one, and then makes the copy.
static void test_other_shard(void **state) {
    (void)state;
    needs_init(&play);
    stage->options.shards = 8;
    stage_start(stage);
    needs_submit(stage);
    bool copied = false;
    for (uint32_t s = 0; s < 8 && !copied; s++) {
        lease(s, true, 1);
        stage_run(stage, CLOCK_SECOND);
        assert_false(has_copy(1) || has_copy(2));
        stage_run(stage, 4 * CLOCK_SECOND);
        copied = has_copy(1) || has_copy(2);
        lease(s, false, 1);
    }
    assert_true(copied);
    needs_end(&play);
}

static uint32_t half_of(const char *plural_group, const char *name) {
    return shard_hash_at(shard_hash_of(plural_group, "default", name), 2);
}

// The workload is another replica's, which deletes the mirror; this host sees that before the final status.
static void test_finished_elsewhere(void **state) {
    (void)state;
    char name[] = "a";
    uint32_t shard = half_of("configmaps", "settings");
    while (half_of("jobs.batch", name) == shard)
        name[0]++;
    needs_init(&play);
    stage->options.shards = 2;
    stage->options.settings.mirror_retention_ns = 0;
    stage_start(stage);
    lease(0, true, 1);
    lease(1, true, 1);
    needs_map(stage, 0, "settings", "1");
    needs_job(stage, name, MAP_VOLUME("settings"));
    stage_run(stage, CLOCK_SECOND);
    size_t w = stage_where(stage, name);
    assert_true(has_copy(w));
    stage_runs(stage, w, name);
    stage_run(stage, CLOCK_SECOND);
    lease(1 - shard, false, 1);
    stage_disconnect(stage, w);
    assert_int_equal(stage_delete(stage, w, name), 200);
    stage_connect(stage, w);
    stage_run(stage, CLOCK_SECOND);
    stage_completes(stage, 0, name);
    assert_true(stage_finished(stage, name));
    stage_run(stage, 50 * CLOCK_SECOND);
    assert_true(has_copy(w));
    stage_run(stage, 25 * CLOCK_SECOND);
    assert_false(has_copy(w));
    needs_end(&play);
}

// A replica without a lease reads no ServiceAccount, so it does not know that a mirror needs the Secret. Once it has
// the lease, the wait begins with the end of that mirror.
static void test_needs_unknown_to_a_standby(void **state) {
    (void)state;
    needs_init(&play);
    stage->options.shards = 1;
    stage_start(stage);
    lease(0, true, 1);
    needs_apply(stage, 0, "secrets", "{'metadata':{'name':'pull','namespace':'default'},'data':{'key':'MQ=='}}");
    needs_apply(stage, 0, "serviceaccounts",
                "{'metadata':{'name':'robot','namespace':'default'},'imagePullSecrets':[{'name':'pull'}]}");
    needs_job(stage, "a", "'serviceAccountName':'robot'");
    stage_run(stage, 5 * CLOCK_SECOND);
    size_t w = stage_where(stage, "a");
    assert_non_null(needs_object(stage, w, "secrets", "pull"));
    stage_restart(stage);
    stage_run(stage, 2 * CLOCK_MINUTE);
    assert_int_equal(stage_delete(stage, 0, "a"), 200);
    assert_int_equal(stage_delete(stage, w, "a"), 200);
    stage_run(stage, CLOCK_SECOND);
    lease(0, true, 2);
    stage_run(stage, 50 * CLOCK_SECOND);
    assert_non_null(needs_object(stage, w, "secrets", "pull"));
    stage_run(stage, 20 * CLOCK_SECOND);
    assert_null(needs_object(stage, w, "secrets", "pull"));
    needs_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_lost_without_the_source),
        cmocka_unit_test(test_lost_with_its_mirror),
        cmocka_unit_test(test_rotation_meanwhile),
        cmocka_unit_test(test_wiped),
        cmocka_unit_test(test_restored),
        cmocka_unit_test(test_restored_by_name),
        cmocka_unit_test(test_list_within_a_list),
        cmocka_unit_test(test_orphan),
        cmocka_unit_test(test_incomplete_lists),
        cmocka_unit_test(test_namespace),
        cmocka_unit_test(test_namespace_denied),
        cmocka_unit_test(test_namespace_of_an_author),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_drained_without_the_source),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_other_shard),
        cmocka_unit_test(test_finished_elsewhere),
        cmocka_unit_test(test_needs_unknown_to_a_standby),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
