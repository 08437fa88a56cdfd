// SPDX-License-Identifier: Apache-2.0
// A io on a fake transport and virtual time: its reflectors, probe, client and recorder are the shipped ones. Posted
// events are owned here as by the inbox, and recorded as text.
#include "tests/unit/host/dispatch_play.h"
#include "tests/unit/kube/fake_transport.h"

#include "core/base/log.h"
#include "core/base/text.h"

#define DISCOVERY                                                                                                      \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"jobs\",\"kind\":\"Job\",\"verbs\":[\"list\",\"watch\"]}" \
    ","                                                                                                                \
    "{\"name\":\"pods\",\"kind\":\"Pod\",\"verbs\":[\"list\",\"watch\"]}]}"
#define EVENTS_DISCOVERY                                                                                               \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"events\",\"kind\":\"Event\",\"verbs\":[\"list\","        \
    "\"watch\"]}]}"
#define LIST(version, items)                                                                                           \
    "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define JOB(name, version)                                                                                             \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"" version "\"}}"
#define KUBE_SYSTEM(uid, version)                                                                                      \
    "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"kube-system\",\"uid\":\"" uid              \
    "\",\"resourceVersion\":\"" version "\"}}"
#define STATUS(code, reason)                                                                                           \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"m\"}"

struct stand {
    struct fake_transport fake;
    struct cluster_io *io;
    struct buffer told;
    int64_t now_ns;
};

static void tell_own(struct stand *stand, const struct engine_event *event) {
    struct buffer *told = &stand->told;
    static const char *const states[] = {"STARTING", "CONNECTED", "LOST", "ABSENT"};
    static const char *const contacts[] = {"UNKNOWN", "GOOD", "SUSPECT", "LOST", "REJECTED"};
    static const char *const types[] = {
        [EVENT_LISTING] = "listing",      [EVENT_SEEN] = "seen",         [EVENT_GONE] = "gone",
        [EVENT_LISTED] = "listed",        [EVENT_STATE] = "state",       [EVENT_ANSWER] = "answer",
        [EVENT_CONTACT] = "contact",      [EVENT_IDENTITY] = "identity", [EVENT_RESTORED] = "rewound",
        [EVENT_DEPENDENCY] = "dependency"};
    buffer_printf(told, "%zu/%zu %s", event->cluster, event->kind, types[event->type]);
    switch (event->type) {
    case EVENT_LISTING:
    case EVENT_LISTED:
        buffer_printf(told, " %s", event->version);
        break;
    case EVENT_SEEN:
    case EVENT_GONE:
        buffer_printf(told, " %s%s", object_name(event->object->value), event->echo ? " (echo)" : "");
        break;
    case EVENT_STATE:
        buffer_printf(told, " %s", states[event->watch.state]);
        break;
    case EVENT_ANSWER:
        buffer_printf(told, " %llu %s", (unsigned long long)event->answer.command,
                      reason_text(event->answer.response->reason));
        break;
    case EVENT_CONTACT:
        buffer_printf(told, " %s", contacts[event->contact.state]);
        break;
    case EVENT_IDENTITY:
        buffer_printf(told, " %s@%s", event->identity.uid, event->identity.version);
        break;
    case EVENT_DEPENDENCY:
        buffer_text(told, event->dependency.news == DEPENDENCIES_FORGOTTEN ? " forgotten" : "");
        break;
    default:
        break;
    }
    buffer_text(told, ";");
}

static void take_event(void *ctx, struct engine_event *event) {
    struct engine_event own;
    assert_null(engine_event_own(event, &own));
    tell_own(ctx, &own);
    engine_event_clear(&own);
}

static void expect(struct stand *stand, const char *text) {
    assert_string_equal(stand->told.data ? stand->told.data : "", text);
    buffer_free(&stand->told);
}

static struct moment now(const struct stand *stand) {
    return (struct moment){stand->now_ns, stand->now_ns};
}

static void tick(struct stand *stand) {
    (void)cluster_io_tick(stand->io, now(stand));
}

static void begin_with(struct stand *stand, size_t cluster, const struct cluster_io_settings *settings) {
    *stand = (struct stand){.now_ns = 1000 * CLOCK_SECOND};
    fake_init(&stand->fake);
    buffer_init(&stand->told, 1 << 20);
    struct cluster_scope options = {.cluster = cluster,
                                    .name = "c",
                                    .transport = &stand->fake.base,
                                    .origin = "here",
                                    .controller_name = "wharf.dev/host",
                                    .instance = "test",
                                    .settings = *settings,
                                    .seed = 1,
                                    .post = take_event,
                                    .ctx = stand};
    assert_null(cluster_io_new(&options, &stand->io));
    tick(stand);
}

static void begin(struct stand *stand, size_t cluster) {
    begin_with(stand, cluster, &(struct cluster_io_settings){.kinds = play_kinds(), .n_kinds = 2});
}

static void end(struct stand *stand) {
    cluster_io_free(stand->io);
    buffer_free(&stand->told);
    fake_free(&stand->fake);
}

// The number of the open exchange whose path contains this; 0: none.
static size_t find(struct stand *stand, const char *path) {
    size_t found = 0;
    for (size_t i = 1; i <= stand->fake.count; i++)
        if (fake_at(&stand->fake, i)->live && strstr(fake_at(&stand->fake, i)->request.path, path))
            found = i;
    return found;
}

static void answer(struct stand *stand, const char *path, int status, const char *body) {
    size_t number = find(stand, path);
    if (number == 0)
        fail_msg("nobody asks for %s", path);
    fake_answer(&stand->fake, number, status, body);
    tick(stand);
}

// Answers with the identity and the lists of both kinds; the watches are open.
static void connect(struct stand *stand) {
    answer(stand, "/namespaces/kube-system", 200, KUBE_SYSTEM("k-1", "7"));
    answer(stand, "/apis/batch/v1", 200, DISCOVERY);
    answer(stand, "/apis/batch/v1/jobs?", 200, LIST("5", JOB("a", "3")));
    answer(stand, "/api/v1", 200, DISCOVERY);
    answer(stand, "/api/v1/pods?", 200, LIST("5", ""));
    size_t jobs = find(stand, "/apis/batch/v1/jobs?"), pods = find(stand, "/api/v1/pods?");
    assert_true(jobs > 0 && pods > 0);
    fake_open(&stand->fake, jobs);
    fake_open(&stand->fake, pods);
    tick(stand);
}

static void what_the_reflectors_and_the_probe_tell_comes_with_cluster_and_kind(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    connect(&stand);
    AUTO_TEXT told = text_format("%s", stand.told.data);
    assert_non_null(strstr(told, "1/0 contact GOOD;"));
    assert_non_null(strstr(told, "1/0 identity k-1@7;"));
    assert_non_null(strstr(told, "1/0 listing v1;1/0 seen a;1/0 listed v1;"));
    assert_non_null(strstr(told, "1/1 listing v1;1/1 listed v1;"));
    assert_non_null(strstr(told, "1/0 state CONNECTED;"));
    assert_non_null(strstr(told, "1/1 state CONNECTED;"));
    buffer_free(&stand.told);
    size_t watch = find(&stand, "/apis/batch/v1/jobs?");
    static const char event[] = "{\"type\":\"DELETED\",\"object\":" JOB("a", "9") "}\n";
    assert_true(fake_data(&stand.fake, watch, event, sizeof event - 1));
    expect(&stand, "1/0 gone a;");
    end(&stand);
}

static void refuse(struct stand *stand, const char *path) {
    size_t number = find(stand, path);
    assert_true(number > 0);
    fake_refuse(&stand->fake, number);
    tick(stand);
}

static void a_server_that_answers_a_probe_again_is_watched_at_once(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    connect(&stand);
    fake_break(&stand.fake, find(&stand, "/apis/batch/v1/jobs?"), 0);
    fake_break(&stand.fake, find(&stand, "/api/v1/pods?"), 0);
    tick(&stand);
    for (int i = 0; i < 60; i++) { // a refused probe is repeated each second
        if (find(&stand, "/namespaces/kube-system"))
            refuse(&stand, "/namespaces/kube-system");
        if (find(&stand, "/apis/batch/v1/jobs?"))
            refuse(&stand, "/apis/batch/v1/jobs?");
        if (find(&stand, "/api/v1/pods?"))
            refuse(&stand, "/api/v1/pods?");
        stand.now_ns += CLOCK_SECOND;
        tick(&stand);
    }
    if (find(&stand, "/apis/batch/v1/jobs?"))
        refuse(&stand, "/apis/batch/v1/jobs?");
    if (find(&stand, "/api/v1/pods?"))
        refuse(&stand, "/api/v1/pods?");
    assert_int_equal(find(&stand, "/apis/batch/v1/jobs?"), 0);
    answer(&stand, "/namespaces/kube-system", 200, KUBE_SYSTEM("k-1", "7"));
    assert_true(find(&stand, "/apis/batch/v1/jobs?") > 0);
    assert_true(find(&stand, "/api/v1/pods?") > 0);
    end(&stand);
}

static void only_of_workers_the_origin_selects(void **state) {
    (void)state;
    for (size_t cluster = 0; cluster < 2; cluster++) {
        struct stand stand;
        begin(&stand, cluster);
        answer(&stand, "/apis/batch/v1", 200, DISCOVERY);
        const char *path = fake_at(&stand.fake, find(&stand, "/apis/batch/v1/jobs?"))->request.path;
        assert_int_equal(!!strstr(path, "labelSelector=wharf.dev%2Forigin%3Dhere"), cluster == 1);
        end(&stand);
    }
}

static void command(struct stand *stand, uint64_t id, const char *name) {
    struct command one = play_command_of(1, id, name);
    cluster_io_command(stand->io, now(stand), &one);
    assert_null(one.memory); // taken
    tick(stand);
}

static void each_command_is_answered_once_with_its_id(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    answer(&stand, "/namespaces/kube-system", 200, KUBE_SYSTEM("k-1", "7"));
    expect(&stand, "1/0 identity k-1@7;1/0 contact GOOD;");
    command(&stand, 11, "a");
    command(&stand, 12, "b");
    command(&stand, 13, "c");
    assert_int_equal(cluster_io_pending(stand.io), 3);
    answer(&stand, "/jobs/b", 404, STATUS(404, "NotFound"));
    answer(&stand, "/jobs/a", 200,
           "{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"5\"}}");
    fake_break(&stand.fake, find(&stand, "/jobs/c"), 0);
    expect(&stand, "1/0 answer 12 KindNotFound;1/0 answer 11 OK;1/0 answer 13 UnknownOutcome;");
    assert_int_equal(cluster_io_pending(stand.io), 0);
    end(&stand);
}

static void sees(struct stand *stand, const char *event, const char *told) {
    assert_true(fake_data(&stand->fake, find(stand, "/apis/batch/v1/jobs?"), event, strlen(event)));
    expect(stand, told);
}

static void what_an_answer_has_brought_is_an_echo_in_the_watch(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    connect(&stand);
    for (unsigned i = 0; i < 100; i++) { // more than are remembered
        char body[128];
        snprintf(body, sizeof body,
                 "{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"%u\"}}", 100 + i);
        command(&stand, 11 + i, "a");
        answer(&stand, "/jobs/a", 200, body);
    }
    buffer_free(&stand.told);
    sees(&stand, "{\"type\":\"MODIFIED\",\"object\":" JOB("a", "199") "}\n", "1/0 seen a (echo);");
    sees(&stand, "{\"type\":\"MODIFIED\",\"object\":" JOB("a", "198") "}\n", "1/0 seen a (echo);");
    sees(&stand, "{\"type\":\"MODIFIED\",\"object\":" JOB("a", "100") "}\n", "1/0 seen a;");
    sees(&stand, "{\"type\":\"MODIFIED\",\"object\":" JOB("a", "200") "}\n", "1/0 seen a;");
    sees(&stand, "{\"type\":\"DELETED\",\"object\":" JOB("a", "199") "}\n", "1/0 gone a;");
    end(&stand);
}

// Sends it, and answers with the Job in this version.
static void answered(struct stand *stand, enum verb verb, const char *version) {
    struct command one = play_command_of(0, 7, "a");
    one.request.verb = verb;
    if (verb != VERB_GET)
        one.request.body = "{}", one.request.body_len = 2;
    cluster_io_command(stand->io, now(stand), &one);
    tick(stand);
    AUTO_TEXT body = text_format(
        "{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"%s\"}}", version);
    answer(stand, "/jobs/a", 200, body);
    buffer_free(&stand->told);
}

static void while_a_workload_is_written_its_events_can_wait_for_the_answer(void **state) {
    (void)state;
    for (size_t cluster = 0; cluster < 2; cluster++) {
        struct stand stand;
        begin(&stand, cluster);
        connect(&stand);
        struct command one = play_command_of(cluster, 7, "a");
        one.request.verb = VERB_STATUS_PATCH;
        one.request.body = "{}", one.request.body_len = 2;
        cluster_io_command(stand.io, now(&stand), &one);
        tick(&stand);
        buffer_free(&stand.told);
        bool waits = cluster == ENGINE_MANAGEMENT; // in a worker it may be a status to copy
        sees(&stand, "{\"type\":\"MODIFIED\",\"object\":" JOB("a", "10") "}\n",
             waits ? "0/0 seen a (echo);" : "1/0 seen a;");
        sees(&stand, "{\"type\":\"MODIFIED\",\"object\":" JOB("b", "11") "}\n", waits ? "0/0 seen b;" : "1/0 seen b;");
        answer(&stand, "/jobs/a", 409, STATUS(409, "Conflict"));
        buffer_free(&stand.told);
        sees(&stand, "{\"type\":\"MODIFIED\",\"object\":" JOB("a", "12") "}\n", waits ? "0/0 seen a;" : "1/0 seen a;");
        end(&stand);
    }
}

static void versions_that_come_again_after_the_cluster_went_back_are_told(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, ENGINE_MANAGEMENT);
    connect(&stand);
    answered(&stand, VERB_STATUS_PATCH, "11");
    fake_break(&stand.fake, find(&stand, "/apis/batch/v1/jobs?"), 200);
    stand.now_ns += 2 * CLOCK_SECOND;
    tick(&stand);
    answer(&stand, "/namespaces/kube-system", 200, KUBE_SYSTEM("k-1", "3")); // older
    answer(&stand, "/apis/batch/v1/jobs?", 200, LIST("5", JOB("a", "3")));
    fake_open(&stand.fake, find(&stand, "/apis/batch/v1/jobs?"));
    tick(&stand);
    buffer_free(&stand.told);
    sees(&stand, "{\"type\":\"MODIFIED\",\"object\":" JOB("a", "11") "}\n", "0/0 seen a;");
    end(&stand);
}

static void a_command_that_cannot_be_made_is_answered_here(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    command(&stand, 5, "not/a/name");
    expect(&stand, "1/0 answer 5 BadRequest;");
    stand.fake.out_of_memory = true;
    command(&stand, 6, "a");
    stand.fake.out_of_memory = false;
    expect(&stand, "1/0 answer 6 NotSent;");
    end(&stand);
}

static void nothing_is_posted_by_a_link_that_is_gone(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    command(&stand, 5, "a");
    size_t live = 0;
    for (size_t i = 1; i <= stand.fake.count; i++)
        live += fake_at(&stand.fake, i)->live;
    cluster_io_free(stand.io);
    stand.io = NULL;
    assert_int_equal(stand.fake.cancelled, live);
    expect(&stand, "");
    end(&stand);
}

static void a_link_that_is_closed_answers_what_is_in_flight_and_tells_its_watches_lost(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    command(&stand, 5, "a");
    cluster_io_close(stand.io, "closed");
    stand.io = NULL;
    expect(&stand, "1/0 answer 5 UnknownOutcome;1/0 state LOST;1/1 state LOST;");
    cluster_io_close(NULL, "closed");
    end(&stand);
}

static void one_kind_that_went_back_has_all_kinds_listed_again(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    connect(&stand);
    buffer_free(&stand.told);
    // The same name for another cluster: after connections were lost, the identity is read again.
    fake_break(&stand.fake, find(&stand, "/apis/batch/v1/jobs?"), 200);
    stand.now_ns += 2 * CLOCK_SECOND;
    tick(&stand);
    answer(&stand, "/namespaces/kube-system", 200, KUBE_SYSTEM("k-2", "3"));
    const char *told = stand.told.data;
    assert_non_null(strstr(told, "1/0 identity k-2@3;"));
    assert_non_null(strstr(told, "1/0 rewound;"));
    assert_non_null(strstr(told, "1/1 rewound;"));
    assert_true(find(&stand, "/apis/batch/v1/jobs?") > 0);
    assert_null(strstr(fake_at(&stand.fake, find(&stand, "/api/v1/pods?"))->request.path, "watch=true"));
    end(&stand);
}

static void a_list_that_is_asked_for_again_is_made_again(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    connect(&stand);
    struct command_batch *batch = calloc(1, sizeof *batch);
    assert_non_null(batch);
    batch->relists = play_room(NULL, 1, sizeof *batch->relists); // two places
    batch->relists[0] = 1;
    batch->relists[1] = 99; // of no kind: ignored
    batch->n_relists = 2;
    size_t before = stand.fake.count;
    command_batch_run(batch, stand.io, now(&stand));
    tick(&stand);
    assert_int_equal(stand.fake.count, before + 1);
    assert_string_equal(fake_last(&stand.fake)->request.path,
                        "/api/v1/pods?labelSelector=wharf.dev%2Forigin%3Dhere&limit=500");
    end(&stand);
}

static void wishes_are_watched_where_the_settings_say_so(void **state) {
    (void)state;
    for (int wanted = 0; wanted < 2; wanted++) {
        struct stand stand;
        begin_with(&stand, 1,
                   &(struct cluster_io_settings){.kinds = play_kinds(), .n_kinds = 2, .dependencies = wanted});
        connect(&stand);
        assert_int_equal(!strstr(stand.told.data, "forgotten;"), !wanted);
        struct command_batch *batch = calloc(1, sizeof *batch);
        struct update update = {.n_wishes = 0};
        assert_non_null(batch);
        play_wish(&update, 1, "a");
        batch->wishes = update.wishes;
        batch->n_wishes = 1;
        command_batch_run(batch, stand.io, now(&stand));
        tick(&stand);
        assert_int_equal(find(&stand, "/api/v1/namespaces/n/configmaps?fieldSelector=metadata.name%3Da") > 0, wanted);
        end(&stand);
    }
}

static void configure(struct stand *stand, size_t n_kinds, enum pod_events_level level) {
    cluster_io_configure(stand->io,
                         &(struct cluster_io_settings){.kinds = play_kinds(), .n_kinds = n_kinds, .pod_events = level});
    tick(stand);
}

static void a_kind_that_is_added_is_listed_and_watched_and_the_others_go_on(void **state) {
    (void)state;
    for (size_t cluster = 0; cluster < 2; cluster++) {
        struct stand stand;
        begin_with(&stand, cluster, &(struct cluster_io_settings){.kinds = play_kinds(), .n_kinds = 1});
        answer(&stand, "/namespaces/kube-system", 200, KUBE_SYSTEM("k-1", "7"));
        answer(&stand, "/apis/batch/v1", 200, DISCOVERY);
        answer(&stand, "/apis/batch/v1/jobs?", 200, LIST("5", JOB("a", "3")));
        size_t jobs = find(&stand, "/apis/batch/v1/jobs?");
        fake_open(&stand.fake, jobs);
        tick(&stand);
        buffer_free(&stand.told);
        assert_int_equal(find(&stand, "/api/v1/pods?"), 0);
        configure(&stand, 2, POD_EVENTS_NONE);
        answer(&stand, "/api/v1", 200, DISCOVERY);
        answer(&stand, "/api/v1/pods?", 200, LIST("5", JOB("b", "4")));
        assert_int_equal(find(&stand, "/apis/batch/v1/jobs?"), jobs); // the same exchange
        AUTO_TEXT told = text_format("%zu/1 listing v1;%zu/1 seen b;%zu/1 listed v1;", cluster, cluster, cluster);
        assert_non_null(strstr(stand.told.data, told));
        assert_null(strstr(stand.told.data, "/0 state"));
        cluster_io_close(stand.io, "closed"); // tells both as lost
        stand.io = NULL;
        assert_non_null(strstr(stand.told.data, "/0 state LOST;"));
        assert_non_null(strstr(stand.told.data, "/1 state LOST;"));
        end(&stand);
    }
}

static void events_of_pods_are_watched_as_the_settings_say(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand, 1);
    connect(&stand);
    assert_int_equal(find(&stand, "/api/v1/events?"), 0);
    configure(&stand, 2, POD_EVENTS_WARNINGS); // a mirror was seen before
    answer(&stand, "/api/v1", 200, EVENTS_DISCOVERY);
    assert_non_null(strstr(fake_at(&stand.fake, find(&stand, "/api/v1/events?"))->request.path, "Warning"));
    configure(&stand, 2, POD_EVENTS_ALL);
    answer(&stand, "/api/v1", 200, EVENTS_DISCOVERY);
    assert_null(strstr(fake_at(&stand.fake, find(&stand, "/api/v1/events?"))->request.path, "Warning"));
    configure(&stand, 2, POD_EVENTS_NONE);
    assert_int_equal(find(&stand, "/api/v1/events?"), 0);
    assert_true(find(&stand, "/apis/batch/v1/jobs?") > 0);
    end(&stand);
}

static void events_are_recorded_in_the_management_cluster_only(void **state) {
    (void)state;
    for (size_t cluster = 0; cluster < 2; cluster++) {
        struct stand stand;
        begin(&stand, cluster);
        struct workload_event event = play_event_of("Dispatched", "created in cluster w1");
        cluster_io_event(stand.io, now(&stand), &event);
        assert_null(event.text); // taken
        tick(&stand);
        size_t number = find(&stand, "/apis/events.k8s.io/v1/namespaces/n/events");
        assert_int_equal(number > 0, cluster == 0);
        if (number > 0) {
            const char *body = fake_at(&stand.fake, number)->request.body;
            assert_non_null(strstr(body, "\"reason\":\"Dispatched\""));
            assert_non_null(strstr(body, "\"type\":\"Warning\""));
            assert_non_null(strstr(body, "\"note\":\"created in cluster w1\""));
        }
        end(&stand);
    }
}

int main(void) {
    log_setup(LOG_TEXT, LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_reflectors_and_the_probe_tell_comes_with_cluster_and_kind),
        cmocka_unit_test(a_server_that_answers_a_probe_again_is_watched_at_once),
        cmocka_unit_test(only_of_workers_the_origin_selects),
        cmocka_unit_test(each_command_is_answered_once_with_its_id),
        cmocka_unit_test(what_an_answer_has_brought_is_an_echo_in_the_watch),
        cmocka_unit_test(while_a_workload_is_written_its_events_can_wait_for_the_answer),
        cmocka_unit_test(versions_that_come_again_after_the_cluster_went_back_are_told),
        cmocka_unit_test(a_command_that_cannot_be_made_is_answered_here),
        cmocka_unit_test(nothing_is_posted_by_a_link_that_is_gone),
        cmocka_unit_test(a_link_that_is_closed_answers_what_is_in_flight_and_tells_its_watches_lost),
        cmocka_unit_test(one_kind_that_went_back_has_all_kinds_listed_again),
        cmocka_unit_test(a_list_that_is_asked_for_again_is_made_again),
        cmocka_unit_test(wishes_are_watched_where_the_settings_say_so),
        cmocka_unit_test(a_kind_that_is_added_is_listed_and_watched_and_the_others_go_on),
        cmocka_unit_test(events_of_pods_are_watched_as_the_settings_say),
        cmocka_unit_test(events_are_recorded_in_the_management_cluster_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
