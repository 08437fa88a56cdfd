// SPDX-License-Identifier: Apache-2.0
// Properties of every decision, for many small random states.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/engine/decide/decide_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NOW (1000 * CLOCK_SECOND)
#define TIMEOUT (60 * CLOCK_SECOND)
#define PENDING (30 * CLOCK_SECOND)
#define WORKERS 3
#define ROUNDS 500000

struct facts {
    struct workload_facts workload;
    struct mirror_facts mirrors[WORKERS];
    struct worker_facts workers[WORKERS + 1];
    struct unstarted_facts unstarted;
    struct decide_facts all;
};

static bool one_in(struct random *random, unsigned n) {
    return random_below(random, n) == 0;
}

static int64_t some_time(struct random *random) {
    static const int64_t times[] = {0, NOW - 2 * TIMEOUT, NOW - 1, NOW, NOW + 1, NOW + 100 * CLOCK_SECOND};
    return times[random_below(random, 6)];
}

static void make_workload(struct random *random, struct workload_facts *w) {
    *w = (struct workload_facts){.exists = !one_in(random, 6)};
    if (!w->exists)
        return;
    w->being_deleted = one_in(random, 8);
    w->finished = one_in(random, 6);
    w->ended = w->finished && one_in(random, 2);
    w->foreign_end = w->finished && !w->ended && one_in(random, 2);
    w->suspended = one_in(random, 5);
    w->status_due = one_in(random, 2);
    w->not_before_ns = one_in(random, 3) ? some_time(random) : 0;
    w->retain_until_ns = some_time(random);
    w->unknown_since_ns = some_time(random);
    if (one_in(random, 4))
        return;
    w->attempt = 1 + (uint32_t)random_below(random, 3);
    w->cluster = one_in(random, 10) ? DECIDE_UNKNOWN_CLUSTER : 1 + (uint32_t)random_below(random, WORKERS);
    w->gone_attempt = (uint32_t)random_below(random, 4);
    w->clean_attempt = (uint32_t)random_below(random, 4);
    w->has_final_status = one_in(random, 8);
    w->final_attempt = one_in(random, 4) ? 0 : w->attempt;
    w->misplaced = one_in(random, 10);
    w->restores.at_ns = one_in(random, 2) ? some_time(random) : 0;
}

static void make_mirror(struct random *random, const struct workload_facts *w, struct mirror_facts *m) {
    m->busy = one_in(random, 4);
    m->not_before_ns = one_in(random, 3) ? some_time(random) : 0;
    m->excluded_until_ns = one_in(random, 3) ? some_time(random) : 0;
    m->present = one_in(random, 2);
    m->tried = !m->present && one_in(random, 3);
    m->unsure = one_in(random, m->present ? 8 : 3);
    m->absent_ns = !m->present && one_in(random, 2) ? some_time(random) : 0;
    m->unanswered_ns = one_in(random, 2) ? some_time(random) : 0;
    m->may_exist = !m->present && one_in(random, 3);
    if (!m->present)
        return;
    m->of_workload = w->exists && !one_in(random, 4);
    m->being_deleted = one_in(random, 4);
    m->update_due = one_in(random, 2);
    m->finished = one_in(random, 3);
    m->finalizer = one_in(random, 3);
    m->proven = !one_in(random, 3);
    m->marks_stripped = m->proven && one_in(random, 8); // only the host's own mirrors
    m->attempt = 1 + (uint32_t)random_below(random, 4);
    m->unstarted_since_ns = one_in(random, 2) ? NOW - (int64_t)random_below(random, 2 * (uint64_t)PENDING) : 0;
}

static void make_unstarted(struct random *random, struct facts *f) {
    f->unstarted = (struct unstarted_facts){.timeout_ns = one_in(random, 3) ? 0 : PENDING,
                                            .give_up_at_ns = one_in(random, 2) ? CLOCK_NEVER : some_time(random),
                                            .round_at_ns = some_time(random),
                                            .withdrawn_attempt = one_in(random, 3) ? f->workload.attempt : 0,
                                            .rounds = one_in(random, 2),
                                            .gave_up = one_in(random, 6)};
    f->all.unstarted = one_in(random, 2) ? &f->unstarted : NULL;
}

static void make_facts(struct random *random, struct facts *f) {
    static const char *const names[] = {"", "a", "b", "c"};
    memset(f, 0, sizeof *f);
    make_workload(random, &f->workload);
    size_t n = 0;
    for (size_t c = 1; c <= WORKERS; c++) {
        struct worker_facts *w = &f->workers[c];
        *w = (struct worker_facts){.name = names[c], .state_known = !one_in(random, 5)};
        w->connected = w->state_known && !one_in(random, 3);
        w->listed = w->connected || one_in(random, 2);
        w->serves = w->connected && !one_in(random, 5);
        w->closed = one_in(random, 4);
        w->moves = w->closed && one_in(random, 2);
        w->eligible = w->serves && !w->closed && !one_in(random, 5);
        w->lost_since_ns = one_in(random, 2) ? NOW - 2 * TIMEOUT : NOW - 1;
        w->active = random_below(random, 3);
        if (!one_in(random, 2))
            continue;
        f->mirrors[n].cluster = (uint32_t)c;
        f->mirrors[n].next = n ? &f->mirrors[n - 1] : NULL;
        make_mirror(random, &f->workload, &f->mirrors[n++]);
    }
    bool listed = !one_in(random, 5);
    f->all = (struct decide_facts){.workload = &f->workload,
                                   .busy = f->workload.exists && one_in(random, 4),
                                   .mirrors = n ? &f->mirrors[n - 1] : NULL,
                                   .workers = f->workers,
                                   .n_clusters = WORKERS + 1,
                                   .management_connected = listed && !one_in(random, 4),
                                   .management_listed = listed,
                                   .placing = !one_in(random, 6),
                                   .startup_grace_is_over = one_in(random, 2),
                                   .lost_timeout_ns = TIMEOUT,
                                   .own_record = !one_in(random, 3),
                                   .now_ns = NOW};
    make_unstarted(random, f);
}

static const struct mirror_facts *mirror_in(const struct facts *f, size_t cluster) {
    const struct mirror_facts *m = f->all.mirrors;
    while (m && m->cluster != cluster)
        m = m->next;
    return m;
}

static bool has_final_status(const struct workload_facts *w) {
    return w->has_final_status && w->final_attempt == w->attempt;
}

static bool is_current(const struct facts *f, const struct mirror_facts *m) {
    const struct workload_facts *w = &f->workload;
    return m->present && m->of_workload && !m->marks_stripped && m->cluster == w->cluster && m->attempt == w->attempt;
}

static bool runs_somewhere(const struct facts *f) {
    for (const struct mirror_facts *m = f->all.mirrors; m; m = m->next) {
        const struct worker_facts *w = &f->workers[m->cluster];
        bool unwanted = m->attempt < f->workload.attempt;
        if (m->present && m->of_workload && (w->connected || (unwanted && w->lost_since_ns + TIMEOUT > NOW)))
            return true;
    }
    return false;
}

static const char *check_create(const struct facts *f, const struct action *a) {
    const struct workload_facts *w = &f->workload;
    const struct mirror_facts *m = mirror_in(f, a->cluster);
    if (!w->exists || w->being_deleted || w->finished || w->suspended)
        return "a mirror that nobody wants is created";
    if (a->cluster != w->cluster || a->attempt != w->attempt)
        return "a mirror is created that was not written down";
    if (!f->workers[a->cluster].connected || (m && (m->present || m->busy || m->unsure || m->not_before_ns > NOW)))
        return "a mirror is created where it may be already";
    if (has_final_status(w))
        return "what has finished is created again";
    if (runs_somewhere(f))
        return "a mirror is created while another one runs";
    for (size_t c = 1; c <= WORKERS && w->attempt > 1 && w->clean_attempt != w->attempt; c++)
        if (!f->workers[c].state_known && f->workers[c].lost_since_ns + TIMEOUT > NOW)
            return "a later mirror is created before it is known whether an earlier one runs";
    if (!f->all.own_record &&
        (!f->workers[a->cluster].eligible || (m && m->excluded_until_ns > NOW) || !f->all.placing))
        return "somebody else's record puts a mirror where it would not be placed";
    return w->gone_attempt == w->attempt ? "what was deleted is created again" : NULL;
}

static const char *check_drain(const struct facts *f, const struct mirror_facts *m) {
    if (m->finished || !f->all.placing || !f->all.management_connected || f->all.busy)
        return "what cannot be moved is deleted";
    bool elsewhere = f->workload.suspended;
    for (size_t c = 1; c <= WORKERS; c++) {
        const struct mirror_facts *there = mirror_in(f, c);
        bool tried =
            there && there->tried && f->all.unstarted && (f->unstarted.round_at_ns > NOW || f->unstarted.gave_up);
        elsewhere |= f->workers[c].eligible && !(there && (there->present || there->excluded_until_ns > NOW || tried));
    }
    return elsewhere ? NULL : "a mirror is deleted that cannot run elsewhere";
}

// Rule 2: what has started, or may be about to, is not withdrawn.
static const char *check_withdraw(const struct facts *f, const struct mirror_facts *m) {
    const struct workload_facts *w = &f->workload;
    if (!f->all.unstarted || f->unstarted.timeout_ns == 0 || !is_current(f, m))
        return "a mirror is withdrawn that nobody waits for";
    if (m->unstarted_since_ns == 0 || m->unstarted_since_ns + PENDING > NOW)
        return "a mirror is withdrawn that has started, or before its time";
    if (m->finished || m->unsure || w->finished || w->suspended || f->all.busy || !f->all.placing)
        return "a mirror is withdrawn whose workload could not be placed elsewhere";
    return NULL;
}

static const char *check_give_up(const struct facts *f) {
    const struct workload_facts *w = &f->workload;
    if (!f->all.unstarted || f->unstarted.give_up_at_ns > NOW || f->unstarted.gave_up)
        return "a workload is given up too early";
    if (!w->exists || w->finished || w->suspended || w->being_deleted || runs_somewhere(f) || has_final_status(w))
        return "a workload is given up that runs, or need not";
    bool refused = false;
    for (const struct mirror_facts *m = f->all.mirrors; m; m = m->next)
        refused |= f->workers[m->cluster].connected && (m->tried || m->excluded_until_ns);
    return refused ? NULL : "a workload is given up that no worker rejected";
}

static const char *check_delete(const struct facts *f, const struct action *a) {
    const struct workload_facts *w = &f->workload;
    const struct mirror_facts *m = mirror_in(f, a->cluster);
    if (!f->all.management_listed || !f->workers[a->cluster].connected)
        return "something is deleted before both lists are known";
    if (!m || !m->present || m->busy || m->being_deleted || m->not_before_ns > NOW)
        return "a delete that is under way, or of nothing, or too early";
    if (!w->exists || w->being_deleted)
        return NULL;
    if (!is_current(f, m))
        return m->of_workload && m->attempt > w->attempt && !m->proven ? "a mirror that is held is deleted" : NULL;
    if (a->withdraws)
        return check_withdraw(f, m);
    if (f->workers[a->cluster].moves && !w->finished)
        return check_drain(f, m);
    if (!w->ended && !m->finished)
        return "a mirror that runs is deleted for a final status that is not its own";
    return w->finished && w->retain_until_ns <= NOW ? NULL : "the mirror that is needed is deleted";
}

// Of another process, in the worker that the annotations name: unless its absence is known, or it was rejected.
static bool may_be_created(const struct facts *f) {
    const struct workload_facts *w = &f->workload;
    const struct mirror_facts *m = mirror_in(f, w->cluster);
    bool known = w->gone_attempt == w->attempt || w->clean_attempt == w->attempt || (m && m->excluded_until_ns > NOW);
    known |= m && m->excluded_until_ns && !m->may_exist;
    bool absent =
        m && !m->may_exist && m->absent_ns && (!m->unanswered_ns || m->absent_ns >= m->unanswered_ns + TIMEOUT);
    return f->workers[w->cluster].connected && !f->all.own_record && !known && !absent;
}

static const char *check_place(const struct facts *f, const struct action *a) {
    const struct workload_facts *w = &f->workload;
    const struct mirror_facts *m = mirror_in(f, a->cluster);
    if (!w->exists || w->being_deleted)
        return "a workload that goes is placed";
    const struct mirror_facts *current = mirror_in(f, w->cluster);
    bool runs = current && is_current(f, current) && f->workers[w->cluster].connected;
    if (w->misplaced && a->cluster == w->cluster && a->attempt == w->attempt)
        return w->restores.at_ns <= NOW ? NULL : "the annotations are put back too early";
    if (m && m->present && m->of_workload && m->attempt == a->attempt && runs)
        return "another mirror takes over from one that runs";
    if (m && m->present && m->of_workload && m->attempt == a->attempt)
        return m->proven ? NULL : "a mirror that nothing proves is adopted";
    if (w->finished || w->suspended || !f->all.placing)
        return "a workload that must not be placed is placed";
    if (!f->workers[a->cluster].eligible || (m && m->excluded_until_ns > NOW))
        return "it is placed where it cannot run";
    if (m && m->tried && f->all.unstarted && (f->unstarted.round_at_ns > NOW || f->unstarted.gave_up))
        return "it is placed again where it did not start, in the same round";
    if (a->attempt != w->attempt + 1)
        return "an attempt is left out";
    if (has_final_status(w))
        return "a finished workload is placed again";
    if (w->attempt == 0 || w->cluster == DECIDE_UNKNOWN_CLUSTER)
        return NULL;
    if (runs)
        return "it is placed again while its mirror runs";
    if (may_be_created(f))
        return "it is placed again while a create may have an effect";
    if (current && is_current(f, current) && current->finished)
        return "a finished workload in an unreachable worker is placed again";
    if (!f->workers[w->cluster].connected && w->clean_attempt != w->attempt &&
        f->workers[w->cluster].lost_since_ns + TIMEOUT > NOW)
        return "it is placed again before the timeout";
    return NULL;
}

static const char *check_release(const struct facts *f, const struct mirror_facts *m) {
    const struct workload_facts *w = &f->workload;
    if (!m || !m->present || !m->finalizer || m->busy || m->not_before_ns > NOW)
        return "a finalizer that is not there, or not to be taken off now";
    if (!f->all.management_listed || !f->workers[m->cluster].connected)
        return "a finalizer is taken off before both lists are known";
    if (!w->exists || w->being_deleted || !is_current(f, m) || w->finished)
        return NULL;
    return m->being_deleted && !m->finished && !w->status_due && !f->all.busy ? NULL : "what is not written is let go";
}

static const char *check(const struct facts *f, const struct action *a) {
    const struct workload_facts *w = &f->workload;
    const struct mirror_facts *m = mirror_in(f, a->cluster);
    bool writes = a->type == ACTION_PLACE || a->type == ACTION_STATUS || a->type == ACTION_GIVE_UP;
    if (writes && (f->all.busy || !f->all.management_connected || w->not_before_ns > NOW))
        return "a write to the workload that cannot be made";
    switch (a->type) {
    case ACTION_CREATE:
        return check_create(f, a);
    case ACTION_DELETE:
        return check_delete(f, a);
    case ACTION_PLACE:
        return check_place(f, a);
    case ACTION_STATUS:
        return w->exists && w->status_due && !w->being_deleted ? NULL : "a status that is not due";
    case ACTION_UPDATE:
        if (!m || !is_current(f, m) || m->busy || !m->update_due || m->being_deleted || m->not_before_ns > NOW)
            return "an update that is not due";
        return f->workers[m->cluster].connected ? NULL : "an update of what is away";
    case ACTION_RELEASE:
        return check_release(f, m);
    case ACTION_VERIFY:
        if ((m && m->busy) || !f->workers[a->cluster].connected)
            return "a question that cannot be asked";
        return (m && (m->unsure || m->may_exist)) ||
                       (!f->all.own_record && a->cluster == w->cluster && !(m && m->present))
                   ? NULL
                   : "a question that is not open";
    case ACTION_WAIT:
        return a->at_ns > NOW && a->at_ns != CLOCK_NEVER ? NULL : "a wait until the past, or forever";
    case ACTION_READ:
        return "what only confirm_action() asks for";
    case ACTION_FORGET:
        return !w->exists && !f->all.mirrors ? NULL : "something is forgotten that is there";
    case ACTION_NONE:
        return NULL;
    case ACTION_GIVE_UP:
        return check_give_up(f);
    }
    return "no action at all";
}

static void no_decision_breaks_a_rule(void **state) {
    (void)state;
    struct random random = {20260101};
    unsigned seen[ACTION_GIVE_UP + 1] = {0}, withdrawn = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct facts f;
        uint64_t seed = random.state;
        make_facts(&random, &f);
        struct action action = decide(&f.all), again = decide(&f.all);
        const char *problem = check(&f, &action);
        if (!problem && (action.type != again.type || action.cluster != again.cluster || action.at_ns != again.at_ns))
            problem = "the same facts lead to another decision";
        if (problem)
            fail_msg("%s: action %d, cluster %zu, attempt %u, because \"%s\"; round %u, state %llu", problem,
                     (int)action.type, action.cluster, action.attempt, action.why ? action.why : "", i,
                     (unsigned long long)seed);
        seen[action.type]++;
        withdrawn += action.withdraws;
    }
    for (size_t i = 0; i <= ACTION_FORGET; i++)
        assert_true(seen[i] > ROUNDS / 2000);
    assert_true(seen[ACTION_GIVE_UP] > 0 && withdrawn > 0);
}

// It is looked at again when its worker is identified; nothing else would tell of it.
static void a_mirror_of_a_finished_workload_in_a_worker_that_is_not_identified_is_not_forgotten(void **state) {
    (void)state;
    struct worker_facts workers[] = {{0}, {.name = "a", .state_known = true, .connected = true, .listed = true}};
    struct workload_facts workload = {.exists = true, .finished = true};
    struct mirror_facts mirror = {.cluster = 1, .attempt = 1, .present = true, .of_workload = true, .proven = true};
    struct decide_facts facts = {.workload = &workload,
                                 .mirrors = &mirror,
                                 .workers = workers,
                                 .n_clusters = 2,
                                 .management_connected = true,
                                 .management_listed = true,
                                 .now_ns = NOW};
    workers[1].frozen = true;
    struct action action = decide(&facts);
    assert_int_equal(action.type, ACTION_NONE);
    assert_true(action.blocked);
    workers[1].frozen = false;
    assert_int_equal(decide(&facts).type, ACTION_PLACE);
    facts.mirrors = NULL;
    assert_false(decide(&facts).blocked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_decision_breaks_a_rule),
        cmocka_unit_test(a_mirror_of_a_finished_workload_in_a_worker_that_is_not_identified_is_not_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
