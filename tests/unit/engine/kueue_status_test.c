// SPDX-License-Identifier: Apache-2.0
// What Workloads of Kueue say is told, and a suspended workload deactivates that of its mirror.
#include "core/engine/history/inspect.h"
#include "core/engine/kueue/kueue_object.h"
#include "tests/unit/engine/event_play.h"

#define TIME "2026-01-02T03:00:00Z"
#define CONDITION(type, status, reason, message)                                                                       \
    "{'type':'" type "','status':'" status "','lastTransitionTime':'" TIME "','reason':'" reason                       \
    "','message':'" message "'}"
#define NO_QUOTA CONDITION("QuotaReserved", "False", "WaitingForQuota", "insufficient unused quota for cpu")
#define ADMITTED                                                                                                       \
    CONDITION("QuotaReserved", "True", "QuotaReserved", "") "," CONDITION("Admitted", "True", "Admitted", "")
#define EVICTED                                                                                                        \
    "{'type':'Evicted','status':'True','lastTransitionTime':'2026-01-02T03:05:00Z','reason':'Preempted','message':"    \
    "'Preempted to accommodate another'}"
#define WORKLOAD(annotations, spec, status)                                                                            \
    "{'metadata':{'name':'job-a-1','uid':'k-a','annotations':{" annotations "}},'spec':{'queueName':'team'," spec      \
    "},'status':{" status "}}"
#define CONDITIONS(list) "'conditions':[" list "]"
#define OURS "'wharf.dev/deactivated':'true'"

// The Workload of the object in this cluster is as this text says; NULL: it is gone.
static void say(struct play *play, size_t cluster, const char *text) {
    AUTO_JSON workload = harness_json(text ? text : WORKLOAD("", "'active':true", ""));
    struct kueue_state state;
    kueue_state_read(workload, "v1beta2", &state);
    if (!text)
        state.phase = KUEUE_GONE;
    struct engine_event own, event = {.type = EVENT_QUEUED, .cluster = cluster};
    event.queued.namespace_ = "default";
    event.queued.name = "a";
    event.queued.uid = cluster == 0 ? "u-a" : "m-a";
    event.queued.state = &state;
    assert_null(engine_event_own(&event, &own)); // as the inbox does
    play_tell(play, own);
    engine_event_clear(&own);
    play_wait(play, 0);
}

static struct json *workload(bool suspended) {
    struct json *value = play_workload("a", play_kind->managed_by, "w1");
    assert_true(pointer_set(value, "/spec/suspend", json_new_bool(suspended)));
    return value;
}

static char carried[256] = "v2:r::"; // the record of the mirror

static struct json *mirror(bool suspended) {
    struct json *value = play_mirror("a");
    assert_true(pointer_set(value, "/spec/suspend", json_new_bool(suspended)));
    assert_true(pointer_set(value, "/metadata/annotations/wharf.dev~1carried", json_new_string(carried)));
    assert_true(pointer_set(value, "/metadata/labels/kueue.x-k8s.io~1queue-name", json_new_string("team")));
    return value;
}

// Patches of the mirror's record alone are accepted.
static void accept_record(struct play *play, bool suspended) {
    for (size_t i = 0; i < play->n_commands; i++) {
        struct play_command *command = &play->commands[i];
        const char *record = command->body ? strstr(command->body, "carried\":\"") : NULL;
        if (command->cluster != 1 || strcmp(command->name, "a") != 0 || !record || strstr(command->body, "spec"))
            continue;
        record += strlen("carried\":\"");
        text_copy(carried, sizeof carried, record);
        carried[strcspn(carried, "\"")] = '\0';
        play_answer(play, command->id, REASON_OK, mirror(suspended)); // nothing, of one that was answered
    }
    play_wait(play, CLOCK_SECOND);
}

static void connect_cluster(struct play *play, size_t cluster, struct json *object) {
    play_listing(play, cluster);
    play_identity(play, cluster, cluster == 0 ? "k0" : cluster == 1 ? "k1" : "k2");
    play_contact(play, cluster);
    if (object)
        play_seen(play, cluster, object);
    play_listed(play, cluster);
}

// A workload whose mirror is in w1.
static void start_play(struct play *play, bool queued) {
    play_start(play);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++)
        connect_cluster(play, c, c == 0 ? workload(false) : c == 1 ? mirror(queued) : NULL);
    play_wait(play, CLOCK_SECOND);
    accept_record(play, queued);
}

static void open_play(struct play *play, bool queued) {
    text_copy(carried, sizeof carried, "v2:r::");
    play_init(play);
    start_play(play, queued);
}

static size_t writes_of(const struct play *play, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < play->n_commands; i++)
        count += play->commands[i].cluster == 1 && strcmp(play->commands[i].name, name) == 0;
    return count;
}

static struct play_command *newest_of(struct play *play, const char *name) {
    size_t i = play->n_commands;
    while (i > 0 && strcmp(play->commands[i - 1].name, name) != 0)
        i--;
    assert_true(i > 0);
    return &play->commands[i - 1];
}

static void ignore(void *ctx, const char *name, const struct worker_reason *reason, int64_t until, int64_t since) {
    (void)ctx, (void)name, (void)reason, (void)until, (void)since;
}

static void explain(struct play *play, struct explain_view *view) {
    assert_true(inspect_explain(play->engine, play->now, play_kind, "default", "a", view, ignore, NULL));
}

static void what_a_workers_kueue_queues_is_told_after_a_while_and_explained_at_once(void **state) {
    (void)state;
    struct play play;
    struct explain_view view;
    open_play(&play, true);
    explain(&play, &view);
    assert_int_equal(view.workload.waiting, WAITING_NOT);
    say(&play, 1, WORKLOAD("", "'active':true", CONDITIONS(NO_QUOTA)));
    explain(&play, &view);
    assert_string_equal(view.waiting_text, "suspended by Kueue in w1 since " TIME
                                           ", queue team: no quota is reserved: insufficient unused quota for cpu");
    assert_int_equal(view.workload.waiting, WAITING_QUEUED);
    assert_string_equal(view.workload.waits_for, "w1");
    assert_string_equal(view.workload.waiting_detail, "no quota is reserved: insufficient unused quota for cpu");
    play_wait(&play, 4 * CLOCK_SECOND);
    assert_int_equal(play_times(&play.notes, "QueuedInWorker"), 0);
    play_wait(&play, 2 * CLOCK_MINUTE);
    assert_int_equal(play_times(&play.notes, "QueuedInWorker: queued by the Kueue of cluster w1 in team: no quota"), 1);
    assert_int_equal(play_times(&play.notes, "Waiting:"), 0);
    play_seen(&play, 1, mirror(false));
    say(&play, 1, WORKLOAD("", "'active':true", CONDITIONS(ADMITTED)));
    assert_int_equal(play_times(&play.notes, "AdmittedInWorker: admitted by the Kueue of cluster w1"), 1);
    explain(&play, &view);
    assert_int_equal(view.workload.waiting, WAITING_NOT);
    play_end(&play);
}

static void an_eviction_is_told_once_with_its_reason(void **state) {
    (void)state;
    struct play play;
    open_play(&play, false);
    say(&play, 1, WORKLOAD("", "'active':true", CONDITIONS(ADMITTED)));
    for (int i = 0; i < 3; i++)
        say(&play, 1, WORKLOAD("", "'active':true", CONDITIONS(NO_QUOTA "," EVICTED)));
    assert_int_equal(play_times(&play.notes,
                                "EvictedInWorker: the Kueue of cluster w1 has evicted the mirror (Preempted): "
                                "Preempted to accommodate another; the mirror is queued there again"),
                     1);
    play_end(&play);
}

// After a restart old evictions are in the Workloads still.
static void an_eviction_of_long_ago_is_not_told(void **state) {
    (void)state;
    struct play play;
    open_play(&play, false);
    play.now.wall_ns += 24 * 60 * CLOCK_MINUTE;
    say(&play, 1, WORKLOAD("", "'active':true", CONDITIONS(NO_QUOTA "," EVICTED)));
    assert_int_equal(play_times(&play.notes, "EvictedInWorker"), 0);
    play_end(&play);
}

static void a_suspended_workload_deactivates_the_workload_of_its_mirror_instead_of_suspending_it(void **state) {
    (void)state;
    struct play play;
    open_play(&play, false);
    say(&play, 1, WORKLOAD("", "'active':true", CONDITIONS(ADMITTED)));
    assert_int_equal(writes_of(&play, "job-a-1"), 0);
    play_seen(&play, 0, workload(true));
    play_wait(&play, 10 * CLOCK_SECOND);
    accept_record(&play, false);
    assert_int_equal(writes_of(&play, "job-a-1"), 1);
    assert_string_equal(newest_of(&play, "job-a-1")->body,
                        "{\"metadata\":{\"uid\":\"k-a\",\"annotations\":{\"wharf.dev/deactivated\":\"true\"}},"
                        "\"spec\":{\"active\":false}}");
    play_answer(&play, newest_of(&play, "job-a-1")->id, REASON_OK, NULL);
    say(&play, 1, WORKLOAD(OURS, "'active':false", CONDITIONS(NO_QUOTA "," EVICTED)));
    play_seen(&play, 1, mirror(true));
    play_wait(&play, CLOCK_MINUTE);
    accept_record(&play, true);
    assert_int_equal(play_times(&play.notes, "EvictedInWorker"), 0); // the host's own doing
    assert_int_equal(play_times(&play.notes, "QueuedInWorker"), 0);
    play_seen(&play, 0, workload(false));
    play_wait(&play, 10 * CLOCK_SECOND);
    assert_int_equal(writes_of(&play, "job-a-1"), 2);
    assert_string_equal(newest_of(&play, "job-a-1")->body,
                        "{\"metadata\":{\"uid\":\"k-a\",\"annotations\":{\"wharf.dev/deactivated\":null}},"
                        "\"spec\":{\"active\":true}}");
    for (size_t i = 0; i < play.n_commands; i++) // the mirror itself was neither suspended nor resumed
        assert_true(!play.commands[i].body || !strstr(play.commands[i].body, "suspend"));
    play_end(&play);
}

// After a restart, with a management cluster that answers later than the worker.
static void what_is_said_before_the_workload_is_listed_counts_once_it_is(void **state) {
    (void)state;
    struct play play;
    text_copy(carried, sizeof carried, "v2:r::");
    play_init(&play);
    play_start(&play);
    connect_cluster(&play, 1, mirror(true));
    say(&play, 1, WORKLOAD(OURS, "'active':false", CONDITIONS(NO_QUOTA "," EVICTED)));
    assert_int_equal(writes_of(&play, "job-a-1"), 0);
    connect_cluster(&play, 0, workload(false));
    connect_cluster(&play, 2, NULL);
    play_wait(&play, 10 * CLOCK_SECOND);
    assert_int_equal(writes_of(&play, "job-a-1"), 1);
    assert_non_null(strstr(newest_of(&play, "job-a-1")->body, "\"spec\":{\"active\":true}"));
    play_end(&play);
}

// Of an older workload of its name.
static void an_eviction_of_the_mirror_of_another_workload_is_not_told(void **state) {
    (void)state;
    struct play play;
    text_copy(carried, sizeof carried, "v2:r::");
    struct json *older = mirror(true);
    assert_true(pointer_set(older, "/metadata/labels/wharf.dev~1uid", json_new_string("u-older")));
    play_init(&play);
    play_start(&play);
    connect_cluster(&play, 0, workload(false));
    connect_cluster(&play, 1, older);
    say(&play, 1, WORKLOAD("", "'active':true", CONDITIONS(ADMITTED)));
    say(&play, 1, WORKLOAD("", "'active':true", CONDITIONS(NO_QUOTA "," EVICTED)));
    assert_int_equal(play_times(&play.notes, "EvictedInWorker"), 0);
    play_end(&play);
}

// Another host deactivated it, and was replaced; what its successor's watch shows of the workload may be older.
static void a_new_leader_reads_the_workload_before_it_changes_what_is_active(void **state) {
    (void)state;
    struct play play;
    text_copy(carried, sizeof carried, "v2:r::");
    play_init(&play);
    play.options.shards = 1;
    start_play(&play, false);
    say(&play, 1, WORKLOAD("", "'active':true", CONDITIONS(ADMITTED)));
    play_seen(&play, 0, workload(true));
    play_tell(&play, (struct engine_event){.type = EVENT_LEASE, .lease = {0, play.now.mono_ns + CLOCK_MINUTE, 1}});
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(writes_of(&play, "job-a-1"), 0);
    size_t asked = play.n_commands;
    while (asked > 0 && play.commands[asked - 1].verb != VERB_GET)
        asked--;
    assert_true(asked > 0);
    play_answer(&play, play.commands[asked - 1].id, REASON_OK, workload(false));
    play_wait(&play, 10 * CLOCK_SECOND);
    assert_int_equal(writes_of(&play, "job-a-1"), 0);
    play_end(&play);
}

static void without_the_right_the_mirror_itself_is_suspended_and_that_is_told(void **state) {
    (void)state;
    struct play play;
    open_play(&play, false);
    say(&play, 1, WORKLOAD("", "'active':true", CONDITIONS(ADMITTED)));
    play_seen(&play, 0, workload(true));
    play_wait(&play, CLOCK_SECOND);
    accept_record(&play, false);
    play_answer(&play, newest_of(&play, "job-a-1")->id, REASON_FORBIDDEN, NULL);
    play_wait(&play, 5 * CLOCK_SECOND);
    assert_non_null(strstr(newest_of(&play, "a")->body, "\"suspend\":true"));
    assert_int_equal(play_times(&play.notes, "Forbidden: cannot set spec.active of Kueue's Workload job-a-1"), 1);
    play_end(&play);
}

// Rule 10.
static void what_somebody_else_has_deactivated_or_activated_is_left(void **state) {
    (void)state;
    struct play play;
    open_play(&play, true);
    say(&play, 1, WORKLOAD("", "'active':false", CONDITIONS(NO_QUOTA)));
    play_wait(&play, CLOCK_MINUTE);
    say(&play, 1, WORKLOAD(OURS, "'active':true", CONDITIONS(ADMITTED)));
    play_wait(&play, CLOCK_MINUTE);
    assert_int_equal(writes_of(&play, "job-a-1"), 0);
    play_end(&play);
}

static void a_workload_that_an_admission_check_rejects_is_told_why_it_never_runs(void **state) {
    (void)state;
    struct play play;
    struct explain_view view;
    play_init(&play);
    play_start(&play);
    play_connect_all(&play);
    struct json *value = play_workload("a", play_kind->managed_by, "");
    assert_true(pointer_set(value, "/spec/suspend", json_new_bool(true)));
    play_seen(&play, 0, value);
    say(&play, 0, WORKLOAD("", "'active':true", CONDITIONS(NO_QUOTA)));
    explain(&play, &view);
    assert_int_equal(view.workload.waiting, WAITING_KUEUE);
    assert_string_equal(view.waiting_text, "suspended by Kueue in the management cluster since " TIME
                                           ", queue team: no quota is reserved: insufficient unused quota for cpu");
    say(&play, 0,
        WORKLOAD("", "'active':false",
                 CONDITIONS(NO_QUOTA) ",'admissionChecks':[{'name':'multi','state':'Rejected','message':'The owner is "
                                      "not managed by Kueue'}]"));
    play_wait(&play, CLOCK_MINUTE);
    assert_int_equal(play_times(&play.notes,
                                "KueueCheck: never runs in queue team: an admission check of the queue has rejected "
                                "the workload: multi: The owner is not managed by Kueue"),
                     1);
    explain(&play, &view);
    assert_int_equal(view.workload.waiting, WAITING_CHECK_REJECTED);
    assert_non_null(strstr(view.waiting_text, "never runs in queue team"));
    assert_int_equal(play.n_commands, play_sent(&play, 0, VERB_STATUS_PATCH));
    say(&play, 0, NULL);
    explain(&play, &view);
    assert_int_equal(view.workload.waiting, WAITING_NOT);
    play_end(&play);
}

static struct json *queued_workload(bool suspended) {
    struct json *value = play_workload("a", play_kind->managed_by, "");
    assert_true(pointer_set(value, "/metadata/labels", harness_json("{'kueue.x-k8s.io/queue-name':'team'}")));
    assert_true(pointer_set(value, "/spec/suspend", json_new_bool(suspended)));
    return value;
}

static void what_was_seen_to_be_of_kueue_is_not_asked_for(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play_start(&play);
    play_connect_all(&play);
    play_seen(&play, 0, queued_workload(true));
    say(&play, 0, WORKLOAD("", "'active':true", CONDITIONS(NO_QUOTA)));
    assert_int_equal(play.n_commands, 1); // its status
    AUTO_JSON patch = NULL;
    assert_null(json_parse(play.commands[0].body, strlen(play.commands[0].body), &patch));
    struct json *value = queued_workload(true);
    assert_true(pointer_set(value, "/status", json_copy(json_get(patch, "status"))));
    play_answer(&play, play.commands[0].id, REASON_OK, value);
    value = queued_workload(false);
    assert_true(pointer_set(value, "/status", json_copy(json_get(patch, "status"))));
    play_seen(&play, 0, value);
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 0, VERB_RAW_GET), 0);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 1);
    play_end(&play);
}

static void phases_are_read_from_conditions(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum kueue_phase phase;
        const char *message;
    } cases[] = {
        {WORKLOAD("", "'a':1", "'x':1"), KUEUE_PENDING, ""},
        {WORKLOAD("", "'active':true", CONDITIONS(NO_QUOTA)), KUEUE_PENDING, "insufficient unused quota for cpu"},
        {WORKLOAD("", "'a':1", CONDITIONS(ADMITTED)), KUEUE_RUNS, ""},
        {WORKLOAD("", "'active':false", CONDITIONS(ADMITTED)), KUEUE_INACTIVE, ""},
        {WORKLOAD("", "'a':1", CONDITIONS(ADMITTED "," CONDITION("Finished", "True", "Succeeded", "done"))), KUEUE_OVER,
         "done"},
        {WORKLOAD(
             "", "'a':1",
             CONDITIONS(CONDITION("QuotaReserved", "True", "QuotaReserved", "")) ",'admissionChecks':[{'name':"
                                                                                 "'c','state':'Ready'},{'name':'d',"
                                                                                 "'state':'Pending','message':'m'}]"),
         KUEUE_RESERVED, "m"},
        {WORKLOAD("", "'active':7", "'conditions':{'type':'Admitted'},'admissionChecks':7"), KUEUE_PENDING, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_JSON value = harness_json(cases[i].text);
        struct kueue_state read;
        kueue_state_read(value, "v1beta2", &read);
        assert_int_equal(read.phase, cases[i].phase);
        assert_string_equal(read.message, cases[i].message);
        assert_string_equal(read.queue, "team");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_workers_kueue_queues_is_told_after_a_while_and_explained_at_once,
                                        play_load, play_unload),
        cmocka_unit_test_setup_teardown(an_eviction_is_told_once_with_its_reason, play_load, play_unload),
        cmocka_unit_test_setup_teardown(an_eviction_of_long_ago_is_not_told, play_load, play_unload),
        cmocka_unit_test_setup_teardown(
            a_suspended_workload_deactivates_the_workload_of_its_mirror_instead_of_suspending_it, play_load,
            play_unload),
        cmocka_unit_test_setup_teardown(what_is_said_before_the_workload_is_listed_counts_once_it_is, play_load,
                                        play_unload),
        cmocka_unit_test_setup_teardown(an_eviction_of_the_mirror_of_another_workload_is_not_told, play_load,
                                        play_unload),
        cmocka_unit_test_setup_teardown(a_new_leader_reads_the_workload_before_it_changes_what_is_active, play_load,
                                        play_unload),
        cmocka_unit_test_setup_teardown(without_the_right_the_mirror_itself_is_suspended_and_that_is_told, play_load,
                                        play_unload),
        cmocka_unit_test_setup_teardown(what_somebody_else_has_deactivated_or_activated_is_left, play_load,
                                        play_unload),
        cmocka_unit_test_setup_teardown(a_workload_that_an_admission_check_rejects_is_told_why_it_never_runs, play_load,
                                        play_unload),
        cmocka_unit_test_setup_teardown(what_was_seen_to_be_of_kueue_is_not_asked_for, play_load, play_unload),
        cmocka_unit_test(phases_are_read_from_conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
