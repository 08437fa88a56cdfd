// SPDX-License-Identifier: Apache-2.0
// Rows of facts about one workload, and the action that must follow.
#pragma once

#include "core/base/clock.h"
#include "core/engine/decide/decide.h"

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
    struct worker_facts w = {.name = name, .state_known = !strchr("uU", letter), .listed = !strchr("uUa", letter)};
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
    bool busy;                      // a write to the workload is in flight
    const char *workers;            // NULL: "ccc"
    bool lost;                      // the management cluster is not connected
    bool unlisted;                  // and has never been listed
    bool stopping, settling;
    bool unproven; // the annotations are not known to be the host's own
    bool consent_unknown, no_consent, leaves;
    enum needs_state needs, needs_there;
    int64_t needs_at_ns;
    enum elsewhere_verdict elsewhere;
    int64_t elsewhere_until_ns;
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
                                 .busy = row->busy,
                                 .mirrors = list,
                                 .workers = workers,
                                 .n_clusters = n + 1,
                                 .management_connected = !row->lost && !row->unlisted,
                                 .management_listed = !row->unlisted,
                                 .placing = !row->stopping,
                                 .startup_grace_is_over = !row->settling,
                                 .status_at_ns = row->status_at_ns,
                                 .lost_timeout_ns = TIMEOUT,
                                 .own_record = !row->unproven,
                                 .consent_unknown = row->consent_unknown,
                                 .no_consent = row->no_consent,
                                 .needs = row->needs,
                                 .needs_there = row->needs_there,
                                 .needs_at_ns = row->needs_at_ns,
                                 .elsewhere = row->elsewhere,
                                 .elsewhere_until_ns = row->elsewhere_until_ns,
                                 .leaves = row->leaves,
                                 .now_ns = NOW};
    return decide(&facts);
}

static void check_rows(const struct row *rows, size_t count) {
    static const char *const names[] = {"NONE",   "WAIT",    "PLACE",  "CREATE", "UPDATE", "STATUS",
                                        "DELETE", "RELEASE", "VERIFY", "FORGET", "GIVE_UP"};
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
