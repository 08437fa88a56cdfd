// SPDX-License-Identifier: Apache-2.0
// The rules of docs/lifecycle.md, one row each: facts about one workload, and the action that must follow.
#include "core/base/clock.h"
#include "core/engine/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NOW (1000 * CLOCK_SECOND)
#define LATER (NOW + CLOCK_SECOND)
#define TIMEOUT (60 * CLOCK_SECOND)
#define NOWHERE DECIDE_UNKNOWN_CLUSTER
#define UNHEARD (NOW + 50 * CLOCK_SECOND)

// One letter per worker: c connected, b connected and busy, o connected with another version of the kind, l lost ten
// seconds ago, L lost longer ago than the timeout, u not reached yet since a start ten seconds ago, U since one longer
// ago than the timeout, a without the kind, s connected and suspect, f connected and refused.
static struct worker_facts worker_of(char letter, const char *name) {
    struct worker_facts w = {.name = name, .settled = !strchr("uU", letter), .listed = !strchr("uUa", letter)};
    w.connected = letter == 'c' || letter == 'b' || letter == 'o' || letter == 's' || letter == 'f';
    w.frozen = letter == 'f';
    w.serves = w.connected && letter != 'o';
    w.eligible = w.serves && letter != 's' && !w.frozen;
    w.active = letter == 'b' ? 5 : 0;
    w.lost_since_ns = letter == 'L' || letter == 'U' ? NOW - 2 * TIMEOUT : NOW - 10 * CLOCK_SECOND;
    return w;
}

struct row {
    const char *what;
    struct workload_facts workload;
    struct mirror_facts mirrors[3]; // until one without a cluster
    const char *workers;            // NULL: "ccc"
    bool lost;                      // the management cluster is not connected
    bool unlisted;                  // and has never been listed
    bool stopping, settling;
    bool blocked;          // it must be
    enum action_type type; // ACTION_NONE by default
    size_t cluster;
    uint32_t attempt;
    int64_t at_ns;
    int64_t status_at_ns; // of the kind
};

static struct action decide_row(const struct row *row) {
    static const char *const names[] = {"", "a", "b", "c"};
    const char *letters = row->workers ? row->workers : "ccc";
    struct worker_facts workers[4] = {{0}};
    struct mirror_facts mirrors[COUNT(row->mirrors)], *list = NULL;
    size_t n = strlen(letters), n_mirrors = 0;
    for (size_t i = 0; i < n; i++)
        workers[i + 1] = worker_of(letters[i], names[i + 1]);
    memcpy(mirrors, row->mirrors, sizeof mirrors);
    while (n_mirrors < COUNT(mirrors) && mirrors[n_mirrors].cluster)
        n_mirrors++;
    for (size_t i = n_mirrors; i-- > 0; list = &mirrors[i])
        mirrors[i].next = list;
    struct decide_facts facts = {.workload = &row->workload,
                                 .mirrors = list,
                                 .workers = workers,
                                 .n_clusters = n + 1,
                                 .management_connected = !row->lost && !row->unlisted,
                                 .management_listed = !row->unlisted,
                                 .placing = !row->stopping,
                                 .settle_time_is_over = !row->settling,
                                 .status_at_ns = row->status_at_ns,
                                 .lost_timeout_ns = TIMEOUT,
                                 .now_ns = NOW};
    return decide(&facts);
}

static void check_rows(const struct row *rows, size_t count) {
    static const char *const names[] = {"NONE",   "WAIT",   "PLACE",   "CREATE", "UPDATE",
                                        "STATUS", "DELETE", "RELEASE", "VERIFY", "FORGET"};
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        struct action action = decide_row(row);
        if (action.type != row->type)
            fail_msg("%s: %s (%s), not %s", row->what, names[action.type], action.why ? action.why : "",
                     names[row->type]);
        if (row->cluster && action.cluster != row->cluster)
            fail_msg("%s: cluster %zu, not %zu", row->what, action.cluster, row->cluster);
        if (row->attempt && action.attempt != row->attempt)
            fail_msg("%s: attempt %u, not %u", row->what, action.attempt, row->attempt);
        if (row->at_ns && action.at_ns != row->at_ns)
            fail_msg("%s: at %lld", row->what, (long long)action.at_ns);
        if (row->blocked && !action.blocked)
            fail_msg("%s: not blocked", row->what);
    }
}

#define NEW .exists = true
#define PLACED(c, n) .exists = true, .cluster = (c), .attempt = (n)
#define UNPROVEN(c, n) .cluster = (c), .present = true, .of_workload = true, .attempt = (n)
#define MIRROR(c, n) UNPROVEN(c, n), .proven = true
#define ABSENT(c) .cluster = (c)

static void a_workload_is_placed_where_there_is_most_room(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"new", {NEW}, .type = ACTION_PLACE, .cluster = 1, .attempt = 1},
        {"the first is busy", {NEW}, .workers = "bcc", .type = ACTION_PLACE, .cluster = 2},
        {"one is lost, one busy", {NEW}, .workers = "lbc", .type = ACTION_PLACE, .cluster = 3},
        {"only the busy one is there", {NEW}, .workers = "Lba", .type = ACTION_PLACE, .cluster = 2},
        {"one has another version", {NEW}, .workers = "obL", .type = ACTION_PLACE, .cluster = 2},
        {"one is suspect", {NEW}, .workers = "sbL", .type = ACTION_PLACE, .cluster = 2},
        {"all are suspect", {NEW}, .workers = "ss", .type = ACTION_NONE},
        {"its worker became suspect",
         {PLACED(1, 1)},
         .workers = "sc",
         .type = ACTION_CREATE,
         .cluster = 1,
         .attempt = 1},
        {"no worker", {NEW}, .workers = "laL", .type = ACTION_NONE},
        {"no worker, and a status is due", {NEW, .status_due = true}, .workers = "laL", .type = ACTION_STATUS},
        {"the first has refused it",
         {NEW},
         {{ABSENT(1), .excluded_until_ns = LATER}},
         .type = ACTION_PLACE,
         .cluster = 2},
        {"the first would take it again",
         {NEW},
         {{ABSENT(1), .excluded_until_ns = NOW}},
         .type = ACTION_PLACE,
         .cluster = 1},
        {"all have refused it",
         {NEW},
         {{ABSENT(1), .excluded_until_ns = LATER + 1}, {ABSENT(2), .excluded_until_ns = LATER}},
         .workers = "cc",
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"one is not heard of yet", {NEW}, .workers = "ccu", .settling = true, .type = ACTION_NONE},
        {"and was waited for", {NEW}, .workers = "ccu", .type = ACTION_PLACE, .cluster = 1},
        {"all are heard of", {NEW}, .workers = "cla", .settling = true, .type = ACTION_PLACE, .cluster = 1},
        {"suspended", {NEW, .suspended = true}, .type = ACTION_NONE},
        {"suspended, and its status is due", {NEW, .suspended = true, .status_due = true}, .type = ACTION_STATUS},
        {"being deleted", {NEW, .being_deleted = true}, .type = ACTION_NONE},
        {"finished", {NEW, .finished = true}, .type = ACTION_NONE},
        {"the host is stopping", {NEW}, .stopping = true, .type = ACTION_NONE},
        {"the management cluster is away", {NEW}, .lost = true, .type = ACTION_NONE},
        {"a write is in flight", {NEW, .busy = true}, .type = ACTION_NONE},
        {"backing off", {NEW, .not_before_ns = LATER}, .type = ACTION_WAIT, .at_ns = LATER},
        {"the list is not complete", {NEW}, .unlisted = true, .type = ACTION_NONE},
    };
    check_rows(rows, COUNT(rows));
}

static void the_mirror_of_a_placed_workload_is_created_once(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"placed", {PLACED(2, 1)}, .type = ACTION_CREATE, .cluster = 2, .attempt = 1},
        {"placed again", {PLACED(2, 3)}, {{ABSENT(2)}}, .type = ACTION_CREATE, .cluster = 2, .attempt = 3},
        {"again, one is not heard of yet", {PLACED(2, 3)}, .workers = "ccu", .type = ACTION_WAIT, .at_ns = UNHEARD},
        {"it is lost", {PLACED(2, 3)}, .workers = "ccl", .type = ACTION_CREATE, .cluster = 2, .attempt = 3},
        {"and was waited for", {PLACED(2, 3)}, .workers = "ccU", .type = ACTION_CREATE, .cluster = 2, .attempt = 3},
        {"by us", {PLACED(2, 3), .clean_attempt = 3}, .workers = "ccu", .settling = true, .type = ACTION_CREATE},
        {"none came before", {PLACED(2, 1)}, .workers = "ccu", .settling = true, .type = ACTION_CREATE, .cluster = 2},
        {"a create is in flight", {PLACED(2, 1)}, {{ABSENT(2), .busy = true}}, .type = ACTION_NONE},
        {"it did not work", {PLACED(2, 1)}, {{ABSENT(2), .not_before_ns = LATER}}, .type = ACTION_WAIT, .at_ns = LATER},
        {"somebody has the name", {PLACED(2, 1)}, {{ABSENT(2), .unsure = true}}, .type = ACTION_VERIFY, .cluster = 2},
        {"the worker refused it",
         {PLACED(1, 1)},
         {{ABSENT(1), .excluded_until_ns = LATER}},
         .type = ACTION_PLACE,
         .cluster = 2,
         .attempt = 2},
        {"a write to the workload is in flight", {PLACED(2, 1), .busy = true}, .type = ACTION_NONE},
        {"suspended meanwhile", {PLACED(2, 1), .suspended = true}, .type = ACTION_NONE},
        {"the worker is lost, nothing was sent",
         {PLACED(2, 1), .clean_attempt = 1},
         .workers = "clc",
         .type = ACTION_PLACE,
         .cluster = 1,
         .attempt = 2},
        {"the worker is lost, perhaps it was",
         {PLACED(2, 1)},
         .workers = "clc",
         .type = ACTION_WAIT,
         .at_ns = NOW + 50 * CLOCK_SECOND},
        {"an older one is still there", {PLACED(2, 2)}, {{MIRROR(1, 1), .being_deleted = true}}, .type = ACTION_NONE},
        {"an older one is where nobody can look",
         {PLACED(2, 2)},
         {{MIRROR(1, 1)}},
         .workers = "Lcc",
         .type = ACTION_CREATE,
         .cluster = 2},
        {"an older one is where nobody can look, but was a moment ago",
         {PLACED(2, 2)},
         {{MIRROR(1, 1)}},
         .workers = "lcc",
         .type = ACTION_WAIT,
         .at_ns = NOW + 50 * CLOCK_SECOND},
        {"one of an earlier namesake that stays elsewhere is not in the way",
         {PLACED(1, 1)},
         {{.cluster = 2, .present = true, .attempt = 1, .being_deleted = true}},
         .type = ACTION_CREATE,
         .cluster = 1},
        {"a mirror of an earlier namesake is there",
         {PLACED(2, 1)},
         {{.cluster = 2, .present = true, .attempt = 1, .being_deleted = true}},
         .type = ACTION_NONE},
        {"stopping, placed by us", {PLACED(2, 1), .clean_attempt = 1}, .stopping = true, .type = ACTION_NONE},
        {"stopping, perhaps it was sent", {PLACED(2, 1)}, .stopping = true, .type = ACTION_CREATE},
    };
    check_rows(rows, COUNT(rows));
}

static void a_mirror_is_followed(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"nothing to do", {PLACED(1, 1)}, {{MIRROR(1, 1)}}, .type = ACTION_NONE},
        {"status", {PLACED(1, 1), .status_due = true}, {{MIRROR(1, 1)}}, .type = ACTION_STATUS},
        {"status in flight", {PLACED(1, 1), .status_due = true, .busy = true}, {{MIRROR(1, 1)}}, .type = ACTION_NONE},
        {"status, backing off",
         {PLACED(1, 1), .status_due = true, .not_before_ns = LATER},
         {{MIRROR(1, 1)}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"update", {PLACED(1, 1)}, {{MIRROR(1, 1), .update_due = true}}, .type = ACTION_UPDATE, .cluster = 1},
        {"update in flight", {PLACED(1, 1)}, {{MIRROR(1, 1), .update_due = true, .busy = true}}, .type = ACTION_NONE},
        {"update, backing off",
         {PLACED(1, 1)},
         {{MIRROR(1, 1), .update_due = true, .not_before_ns = LATER}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"update waits, status does not",
         {PLACED(1, 1), .status_due = true},
         {{MIRROR(1, 1), .update_due = true, .not_before_ns = LATER}},
         .type = ACTION_STATUS},
        {"no update of what is being deleted",
         {PLACED(1, 1)},
         {{MIRROR(1, 1), .update_due = true, .being_deleted = true}},
         .type = ACTION_NONE},
        {"suspended through an update",
         {PLACED(1, 1), .suspended = true},
         {{MIRROR(1, 1), .update_due = true}},
         .type = ACTION_UPDATE},
        {"the worker is away for a short time",
         {PLACED(1, 1), .status_due = true},
         {{MIRROR(1, 1), .update_due = true}},
         .workers = "lcc",
         .type = ACTION_STATUS},
        {"the management cluster is away", {PLACED(1, 1), .status_due = true}, {{MIRROR(1, 1)}}, .lost = true},
    };
    check_rows(rows, COUNT(rows));
}

static void a_finished_workload_keeps_its_mirror_for_the_retention(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"retained",
         {PLACED(1, 1), .finished = true, .retain_until_ns = LATER},
         {{MIRROR(1, 1)}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"over",
         {PLACED(1, 1), .finished = true, .retain_until_ns = NOW},
         {{MIRROR(1, 1)}},
         .type = ACTION_DELETE,
         .cluster = 1},
        {"over, status still due",
         {PLACED(1, 1), .finished = true, .status_due = true},
         {{MIRROR(1, 1)}},
         .type = ACTION_STATUS},
        {"over, the worker is away", {PLACED(1, 1), .finished = true}, {{MIRROR(1, 1)}}, .workers = "Lcc"},
        {"over, being deleted",
         {PLACED(1, 1), .finished = true},
         {{MIRROR(1, 1), .being_deleted = true}},
         .type = ACTION_NONE},
        {"over, delete in flight",
         {PLACED(1, 1), .finished = true},
         {{MIRROR(1, 1), .busy = true}},
         .type = ACTION_NONE},
        {"over, delete refused",
         {PLACED(1, 1), .finished = true},
         {{MIRROR(1, 1), .not_before_ns = LATER}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"its status is backed off",
         {PLACED(1, 1), .finished = true, .status_due = true, .not_before_ns = LATER},
         {{MIRROR(1, 1)}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"its status is rejected repeatedly",
         {PLACED(1, 1), .finished = true, .status_due = true, .status_refusals = DECIDE_STATUS_REFUSALS,
          .not_before_ns = LATER},
         {{MIRROR(1, 1)}},
         .type = ACTION_DELETE,
         .cluster = 1},
        {"its status is refused, and its mirror retained",
         {PLACED(1, 1), .finished = true, .status_due = true, .status_refusals = DECIDE_STATUS_REFUSALS,
          .not_before_ns = LATER, .retain_until_ns = LATER + 1},
         {{MIRROR(1, 1)}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"no mirror", {PLACED(1, 1), .finished = true}, {{ABSENT(1)}}, .type = ACTION_NONE},
        {"too large", {PLACED(1, 1), .too_large = true, .status_due = true}, {{MIRROR(1, 1)}}, .type = ACTION_NONE},
        {"not placed again", {PLACED(1, 1), .finished = true, .gone_attempt = 1}, .type = ACTION_NONE},
    };
    check_rows(rows, COUNT(rows));
}

static void what_is_not_wanted_is_deleted(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"the workload is gone", {.exists = false}, {{MIRROR(1, 1)}}, .type = ACTION_DELETE, .cluster = 1},
        {"but the list is not complete", {.exists = false}, {{MIRROR(1, 1)}}, .unlisted = true, .type = ACTION_NONE},
        {"the worker is away", {.exists = false}, {{MIRROR(1, 1)}}, .workers = "lcc", .type = ACTION_NONE},
        {"the management cluster is away, but was listed",
         {.exists = false},
         {{MIRROR(1, 1)}},
         .lost = true,
         .type = ACTION_DELETE},
        {"the workload is being deleted",
         {PLACED(1, 1), .being_deleted = true},
         {{MIRROR(1, 1)}},
         .type = ACTION_DELETE},
        {"of a namesake",
         {PLACED(2, 1)},
         {{.cluster = 1, .present = true, .attempt = 9}},
         .type = ACTION_DELETE,
         .cluster = 1},
        {"an older attempt", {PLACED(2, 2)}, {{MIRROR(1, 1)}, {MIRROR(2, 2)}}, .type = ACTION_DELETE, .cluster = 1},
        {"an older attempt, in flight",
         {PLACED(2, 2)},
         {{MIRROR(1, 1), .busy = true}, {MIRROR(2, 2)}},
         .type = ACTION_NONE},
        {"an older attempt, backing off",
         {PLACED(2, 2)},
         {{MIRROR(1, 1), .not_before_ns = LATER}, {MIRROR(2, 2)}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"a second one of the same attempt",
         {PLACED(2, 1)},
         {{MIRROR(1, 1)}, {MIRROR(2, 1)}},
         .type = ACTION_DELETE,
         .cluster = 1},
        {"an older attempt of a finished one",
         {PLACED(2, 2), .finished = true},
         {{MIRROR(1, 1)}},
         .type = ACTION_DELETE,
         .cluster = 1},
        {"nothing is left", {.exists = false}, .type = ACTION_FORGET},
        {"a request is still in flight", {.exists = false}, {{ABSENT(1), .busy = true}}, .type = ACTION_NONE},
    };
    check_rows(rows, COUNT(rows));
}

static void a_workload_moves_only_when_its_mirror_is_gone_or_given_up(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"perhaps gone", {PLACED(1, 1)}, {{ABSENT(1), .unsure = true}}, .type = ACTION_VERIFY, .cluster = 1},
        {"perhaps gone, though it was seen",
         {PLACED(1, 1)},
         {{MIRROR(1, 1), .unsure = true, .update_due = true}},
         .type = ACTION_VERIFY,
         .cluster = 1},
        {"perhaps gone, asked for later",
         {PLACED(1, 1)},
         {{MIRROR(1, 1), .unsure = true, .being_deleted = true, .not_before_ns = LATER}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"perhaps gone, and not known to be deleted",
         {PLACED(1, 1)},
         {{MIRROR(1, 1), .unsure = true, .not_before_ns = LATER}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"perhaps gone, asked", {PLACED(1, 1)}, {{ABSENT(1), .unsure = true, .busy = true}}, .type = ACTION_NONE},
        {"gone", {PLACED(1, 1), .gone_attempt = 1}, {{ABSENT(1)}}, .type = ACTION_PLACE, .attempt = 2},
        {"an earlier one was gone", {PLACED(1, 2), .gone_attempt = 1}, .type = ACTION_CREATE, .attempt = 2},
        {"lost for a short time",
         {PLACED(1, 1)},
         {{MIRROR(1, 1)}},
         .workers = "lcc",
         .type = ACTION_WAIT,
         .at_ns = NOW + 50 * CLOCK_SECOND},
        {"lost for long",
         {PLACED(1, 1)},
         {{MIRROR(1, 1)}},
         .workers = "Lcc",
         .type = ACTION_PLACE,
         .cluster = 2,
         .attempt = 2},
        {"lost for long, not seen by this process",
         {PLACED(1, 1)},
         .workers = "Lcc",
         .type = ACTION_PLACE,
         .attempt = 2},
        {"lost for long, and nowhere to go", {PLACED(1, 1)}, {{MIRROR(1, 1)}}, .workers = "Lla", .type = ACTION_NONE},
        {"lost for long, suspended",
         {PLACED(1, 1), .suspended = true, .status_due = true},
         {{MIRROR(1, 1)}},
         .workers = "Lcc",
         .type = ACTION_STATUS},
        {"a worker that nobody knows, for a short time",
         {PLACED(NOWHERE, 1), .unknown_since_ns = NOW},
         .type = ACTION_WAIT,
         .at_ns = NOW + TIMEOUT},
        {"a worker that nobody knows, for long",
         {PLACED(NOWHERE, 1), .unknown_since_ns = NOW - TIMEOUT},
         .type = ACTION_PLACE,
         .attempt = 2},
    };
    check_rows(rows, COUNT(rows));
}

static void annotations_are_put_right_by_what_is_there(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"they were taken off", {NEW}, {{MIRROR(2, 3)}}, .type = ACTION_PLACE, .cluster = 2, .attempt = 3},
        {"they are older than a mirror",
         {PLACED(1, 1)},
         {{MIRROR(2, 3)}},
         .type = ACTION_PLACE,
         .cluster = 2,
         .attempt = 3},
        {"they name another worker",
         {PLACED(1, 1)},
         {{MIRROR(2, 1)}},
         .type = ACTION_PLACE,
         .cluster = 2,
         .attempt = 1},
        {"they name a worker that is none",
         {PLACED(NOWHERE, 1), .unknown_since_ns = NOW},
         {{MIRROR(2, 1)}},
         .type = ACTION_PLACE,
         .cluster = 2,
         .attempt = 1},
        {"the newest of several",
         {NEW},
         {{MIRROR(1, 2)}, {MIRROR(2, 3)}},
         .type = ACTION_PLACE,
         .cluster = 2,
         .attempt = 3},
        {"a newer one beside the one that they name",
         {PLACED(1, 1)},
         {{MIRROR(1, 1)}, {MIRROR(2, 7)}},
         .type = ACTION_DELETE,
         .cluster = 2,
         .attempt = 7},
        {"a newer one, and the worker that they name is away",
         {PLACED(1, 1)},
         {{MIRROR(1, 1)}, {MIRROR(2, 7)}},
         .workers = "lcc",
         .type = ACTION_PLACE,
         .cluster = 2,
         .attempt = 7},
        {"somebody changed them",
         {PLACED(1, 1), .misplaced = true},
         {{MIRROR(1, 1)}},
         .type = ACTION_PLACE,
         .cluster = 1,
         .attempt = 1},
        {"somebody changes them repeatedly",
         {PLACED(1, 1), .misplaced = true, .restores = {.at_ns = LATER}},
         {{MIRROR(1, 1)}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"they cannot be written now", {PLACED(1, 1), .busy = true}, {{MIRROR(2, 3)}}, .type = ACTION_NONE},
        {"what is being deleted does not count",
         {PLACED(1, 1)},
         {{MIRROR(1, 1)}, {MIRROR(2, 3), .being_deleted = true}},
         .type = ACTION_NONE},
        {"there is nothing new beside a newer one that ends",
         {PLACED(1, 1)},
         {{ABSENT(1)}, {MIRROR(2, 3), .being_deleted = true}},
         .type = ACTION_NONE},
    };
    check_rows(rows, COUNT(rows));
}

static void a_mirror_that_nothing_proves_does_not_count_but_holds_up_others(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"a newer one that nothing proves", {PLACED(1, 1)}, {{MIRROR(1, 1)}, {UNPROVEN(2, 7)}}, .type = ACTION_NONE},
        {"nothing is made beside one that nothing proves", {PLACED(1, 1)}, {{UNPROVEN(2, 7)}}, .type = ACTION_NONE},
        {"nor beside one in a worker that is away",
         {PLACED(1, 1)},
         {{UNPROVEN(2, 7)}},
         .workers = "clc",
         .type = ACTION_WAIT,
         .at_ns = NOW + TIMEOUT - 10 * CLOCK_SECOND},
        {"nor where it continues after that",
         {PLACED(3, 2)},
         {{MIRROR(1, 1)}, {UNPROVEN(2, 7)}},
         .workers = "Llc",
         .type = ACTION_WAIT,
         .at_ns = NOW + TIMEOUT - 10 * CLOCK_SECOND},
        {"until that is given up", {PLACED(1, 1)}, {{UNPROVEN(2, 7)}}, .workers = "cLc", .type = ACTION_CREATE},
        {"people deleted it, as they were asked to",
         {PLACED(1, 1)},
         {{UNPROVEN(2, 7), .being_deleted = true, .finalizer = true}},
         .type = ACTION_RELEASE,
         .cluster = 2},
        {"and that is in another version than was seen",
         {PLACED(1, 1)},
         {{UNPROVEN(2, 7), .being_deleted = true, .finalizer = true, .unsure = true}},
         .type = ACTION_VERIFY,
         .cluster = 2},
        {"and its worker is not identified yet",
         {PLACED(1, 1)},
         {{MIRROR(1, 1)}, {UNPROVEN(2, 7), .being_deleted = true, .finalizer = true}},
         .workers = "cfc",
         .blocked = true},
        {"annotations were taken off, and nothing proves the mirror", {NEW}, {{UNPROVEN(2, 1)}}, .type = ACTION_NONE},
        {"an older one that nothing proves",
         {PLACED(1, 2)},
         {{MIRROR(1, 2)}, {UNPROVEN(2, 1)}},
         .type = ACTION_DELETE,
         .cluster = 2,
         .attempt = 1},
    };
    check_rows(rows, COUNT(rows));
}

static void what_is_held_back_waits(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"a status that was written too often",
         {PLACED(1, 1), .status_held = true, .statuses = {.at_ns = LATER}},
         {{MIRROR(1, 1)}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"and may be written again",
         {PLACED(1, 1), .status_held = true, .statuses = {.at_ns = NOW}},
         {{MIRROR(1, 1)}},
         .type = ACTION_STATUS},
        {"a status of a kind whose status cannot be written",
         {PLACED(1, 1), .status_due = true},
         {{MIRROR(1, 1)}},
         .type = ACTION_WAIT,
         .at_ns = LATER,
         .status_at_ns = LATER},
        {"a status of which only the name is known",
         {PLACED(1, 1), .status_due = true},
         {{MIRROR(1, 1), .name_only = true}},
         .type = ACTION_NONE},
        {"it is asked for",
         {PLACED(1, 1), .status_due = true},
         {{MIRROR(1, 1), .name_only = true, .unsure = true}},
         .type = ACTION_VERIFY,
         .cluster = 1},
        {"a placement that is made too often",
         {PLACED(1, 1), .gone_attempt = 1, .places = {.at_ns = LATER}},
         .type = ACTION_WAIT,
         .at_ns = LATER},
        {"an orphan", {.exists = false}, {{MIRROR(1, 1), .held_until_ns = LATER}}, .type = ACTION_WAIT, .at_ns = LATER},
        {"an orphan no longer",
         {.exists = false},
         {{MIRROR(1, 1), .held_until_ns = NOW}},
         .type = ACTION_DELETE,
         .cluster = 1},
        {"a change of a mirror that is too large",
         {PLACED(1, 1)},
         {{MIRROR(1, 1), .update_due = true, .too_large = true}},
         .type = ACTION_NONE},
        {"a change of a mirror in a cluster that is refused",
         {PLACED(1, 1)},
         {{MIRROR(1, 1), .update_due = true}},
         .workers = "fcc"},
        {"but not its status",
         {PLACED(1, 1), .status_due = true},
         {{MIRROR(1, 1)}},
         .workers = "fcc",
         .type = ACTION_STATUS},
        {"what had finished and went away",
         {PLACED(1, 1), .has_final_status = true, .final_attempt = 1},
         .type = ACTION_NONE},
        {"until its status is due",
         {PLACED(1, 1), .has_final_status = true, .final_attempt = 1, .status_due = true},
         .type = ACTION_STATUS},
        {"but not of an earlier attempt",
         {PLACED(1, 2), .has_final_status = true, .final_attempt = 1},
         .type = ACTION_CREATE,
         .cluster = 1,
         .attempt = 2},
        {"and what had finished, and lost its annotations", {NEW, .has_final_status = true}, .type = ACTION_NONE},
    };
    check_rows(rows, COUNT(rows));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workload_is_placed_where_there_is_most_room),
        cmocka_unit_test(the_mirror_of_a_placed_workload_is_created_once),
        cmocka_unit_test(a_mirror_is_followed),
        cmocka_unit_test(a_finished_workload_keeps_its_mirror_for_the_retention),
        cmocka_unit_test(what_is_not_wanted_is_deleted),
        cmocka_unit_test(a_workload_moves_only_when_its_mirror_is_gone_or_given_up),
        cmocka_unit_test(annotations_are_put_right_by_what_is_there),
        cmocka_unit_test(a_mirror_that_nothing_proves_does_not_count_but_holds_up_others),
        cmocka_unit_test(what_is_held_back_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
