// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics/metrics.h"

#include "core/base/text.h"

#include "snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct ready_case {
    const char *what;
    bool running, in_sync, stopping, been_in_sync;
    enum reflector_state states[SNAPSHOT_CLUSTERS];
    uint64_t queued;
    bool ready, been_in_sync_after;
    const char *text;
};

#define UP REFLECTOR_CONNECTED
#define NEW REFLECTOR_STARTING
#define LOST REFLECTOR_LOST
#define NONE REFLECTOR_ABSENT

static const struct ready_case cases[] = {
    {"all is well", true, true, false, false, {UP, UP, UP}, 0, true, true, "ok\n"},
    {"before it runs",
     false,
     false,
     false,
     false,
     {NEW, NEW, NEW},
     0,
     false,
     false,
     "not running yet: the management cluster has not answered\n"},
    {"while it stops", true, true, true, true, {UP, UP, UP}, 0, false, true, "stopping\n"},
    {"at the start", true, false, false, false, {UP, UP, NEW}, 0, false, false, "w2/jobs.batch: not contacted yet\n"},
    {"before the management cluster answers",
     true,
     false,
     false,
     false,
     {LOST, UP, UP},
     3,
     false,
     false,
     "management/jobs.batch: not connected\nnot in sync yet: 3 objects wait to be reconciled\n"},
    {"a worker that is lost from the start is no reason",
     true,
     true,
     false,
     false,
     {UP, LOST, UP},
     0,
     true,
     true,
     "ok\n"},
    {"a worker that is lost later is no reason", true, true, false, true, {UP, LOST, LOST}, 0, true, true, "ok\n"},
    {"work in the queue is no reason later", true, false, false, true, {UP, UP, UP}, 900, true, true, "ok\n"},
    {"work in the queue is a reason at the start",
     true,
     false,
     false,
     false,
     {UP, UP, UP},
     900,
     false,
     false,
     "not in sync yet: 900 objects wait to be reconciled\n"},
    {"a management cluster that is lost later",
     true,
     true,
     false,
     true,
     {LOST, UP, UP},
     0,
     false,
     true,
     "management/jobs.batch: not connected\n"},
    {"a kind that no cluster serves", true, true, false, false, {NONE, NONE, UP}, 0, true, true, "ok\n"},
};

static void the_cause_of_a_lost_feed_is_told_and_does_nothing_to_a_terminal(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    fake.feeds[0][0] = (struct stats_watch){.state = REFLECTOR_LOST, .problem = "403: may not\x1b[2J list\njobs"};
    bool been_in_sync = true;
    struct buffer out;
    buffer_init(&out, 4096);
    assert_false(health_ready(&fake.snapshot, &been_in_sync, &out));
    assert_string_equal(out.data, "management/jobs.batch: not connected: 403: may not\\u001b[2J list jobs\n");
    buffer_free(&out);
}

// No uid: whoever asks need not have a token.
#define NOT_ITSELF "it is not the cluster that it should be: see `wharf status workers`\n"

static void before_it_runs_it_is_told_what_it_waits_for(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    char cause[] = "the API server cannot be reached: refused\x1b[2J";
    fake.snapshot.running = false;
    fake.snapshot.waits_for = cause;
    bool been_in_sync = false;
    struct buffer out;
    buffer_init(&out, 4096);
    assert_false(health_ready(&fake.snapshot, &been_in_sync, &out));
    assert_string_equal(out.data, "not running yet: the API server cannot be reached: refused\\u001b[2J\n");
    buffer_free(&out);
}

static void a_refused_worker_is_told_before_the_first_sync_too(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    text_copy(fake.clusters[1].refused, sizeof fake.clusters[1].refused, "it claims uid k1");
    fake.snapshot.in_sync = false;
    bool been_in_sync = false;
    struct buffer out;
    buffer_init(&out, 4096);
    assert_false(health_ready(&fake.snapshot, &been_in_sync, &out));
    assert_string_equal(out.data, "w1: refused, " NOT_ITSELF);
    buffer_free(&out);
}

static void readiness_is_told_with_its_reasons(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ready_case *c = &cases[i];
        struct fake fake;
        fake_init(&fake);
        fake.snapshot.running = c->running;
        fake.snapshot.in_sync = c->in_sync;
        fake.snapshot.stopping = c->stopping;
        fake.snapshot.stats.queued = c->queued;
        for (size_t n = 0; n < SNAPSHOT_CLUSTERS; n++)
            fake.feeds[n][0].state = c->states[n];
        bool been_in_sync = c->been_in_sync;
        struct buffer out;
        buffer_init(&out, 4096);
        bool ready = health_ready(&fake.snapshot, &been_in_sync, &out);
        if (ready != c->ready || been_in_sync != c->been_in_sync_after || strcmp(out.data, c->text) != 0)
            fail_msg("%s: ready %d, been in sync %d, \"%s\"", c->what, ready, been_in_sync, out.data);
        buffer_free(&out);
    }
}

static void check_contact(size_t cluster, enum contact contact, const char *text) {
    struct fake fake;
    fake_init(&fake);
    fake.clusters[cluster].contact = contact;
    bool been_in_sync = true;
    struct buffer out;
    buffer_init(&out, 4096);
    assert_int_equal(health_ready(&fake.snapshot, &been_in_sync, &out), strcmp(text, "ok\n") == 0);
    assert_string_equal(out.data, text);
    buffer_free(&out);
}

static void a_silent_management_cluster_is_a_reason_though_its_watches_are_open(void **state) {
    (void)state;
    check_contact(0, CONTACT_GOOD, "ok\n");
    check_contact(0, CONTACT_SUSPECT, "management: suspect, its API server is silent, late or refuses connections\n");
    check_contact(0, CONTACT_LOST, "management: lost, its API server does not answer\n");
    check_contact(1, CONTACT_SUSPECT, "ok\n");
    check_contact(1, CONTACT_LOST, "ok\n");
}

static void check_refused(size_t cluster, const char *text, bool ready) {
    struct fake fake;
    fake_init(&fake);
    text_copy(fake.clusters[cluster].refused, sizeof fake.clusters[cluster].refused, "it claims uid k1");
    bool been_in_sync = true;
    struct buffer out;
    buffer_init(&out, 4096);
    assert_int_equal(health_ready(&fake.snapshot, &been_in_sync, &out), ready);
    assert_string_equal(out.data, text);
    buffer_free(&out);
}

static void a_refused_worker_is_told_and_a_refused_management_cluster_is_a_reason(void **state) {
    (void)state;
    check_refused(0, "management: refused, " NOT_ITSELF, false);
    check_refused(2, "ok\nw2: refused, " NOT_ITSELF, true);
}

static void workloads_on_a_worker_that_is_not_configured_are_told(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    fake.snapshot.stats.unknown[0] = (struct stats_unknown){"w9", 3};
    fake.snapshot.stats.n_unknown = 1;
    bool been_in_sync = true;
    struct buffer out;
    buffer_init(&out, 4096);
    assert_true(health_ready(&fake.snapshot, &been_in_sync, &out));
    assert_string_equal(out.data, "ok\n3 unfinished workloads are placed in worker w9, which is not configured\n");
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readiness_is_told_with_its_reasons),
        cmocka_unit_test(before_it_runs_it_is_told_what_it_waits_for),
        cmocka_unit_test(a_refused_worker_is_told_before_the_first_sync_too),
        cmocka_unit_test(the_cause_of_a_lost_feed_is_told_and_does_nothing_to_a_terminal),
        cmocka_unit_test(a_refused_worker_is_told_and_a_refused_management_cluster_is_a_reason),
        cmocka_unit_test(a_silent_management_cluster_is_a_reason_though_its_watches_are_open),
        cmocka_unit_test(workloads_on_a_worker_that_is_not_configured_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
