// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/members.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/places.h"
#include "tests/simulation/renames.h"
#include "tests/simulation/spaces.h"

#include <stdlib.h>

#define ACTS 12
#define LOOK_NS CLOCK_SECOND // as host_clusters.c
#define SOON_NS (50 * CLOCK_MS)

enum member_state {
    MEMBER_OUT,
    MEMBER_IN,
    MEMBER_LEAVING, // as its policy says
    MEMBER_LEFT     // the engine is told; its connection is being closed
};

enum member_change {
    CHANGE_ACTIVATE, // also one that leaves, or has left
    CHANGE_CORDON,
    CHANGE_DRAIN_FINISH,
    CHANGE_DRAIN_MOVE,
    CHANGE_REMOVE_FINISH,
    CHANGE_REMOVE_MOVE,
    CHANGE_ABANDON,
    CHANGE_RECONNECT,
    CHANGES
};

static const char *const change_words[] = {
    "is active",      "is cordoned",  "is drained: finish", "is drained: move",
    "leaves: finish", "leaves: move", "is abandoned",       "gets another connection"};

struct member {
    bool configured;
    bool cut;                  // it is not in the plan
    enum worker_policy policy; // configured; or by which it leaves
    bool abandoned;
    // In the present process of the host.
    enum member_state state;
    bool tells, told;              // the engine will know, or knows, that it is there
    bool again;                    // it is told again, since its limits have changed
    enum worker_policy next, last; // what it was told last, or will have been
    int64_t close_ns;              // its connection; 0: not
    int64_t look_ns;
};

struct members {
    struct member workers[TRIAL_CLUSTERS];
    struct {
        int64_t at_ns;
        size_t cluster;
        enum member_change change;
    } acts[ACTS];
    size_t n_acts;
};

struct members *members_new(struct trial *trial) {
    struct members *members = calloc(1, sizeof *members);
    if (!members)
        return NULL;
    struct random random = {.state = trial->seed * 23 + 11};
    size_t workers = trial->plan.n_clusters - 1, kept = 0;
    for (size_t c = 1; c <= workers; c++) {
        members->workers[c].configured = !(members->workers[c].cut = !cuts_has(trial, "worker w%zu", c));
        kept += members->workers[c].configured;
    }
    if (kept == 0) // nothing can be placed then, which is another failure than what is looked for
        trial_fail(trial, "the plan: no worker is left");
    if (!trial->plan.members)
        return members;
    if (random_below(&random, 3) == 0)
        members->workers[1 + random_below(&random, workers)].configured = false;
    members->n_acts = 2 + random_below(&random, ACTS - 1);
    int64_t length_ns = trial->plan.trouble_end_ns - trial->now_ns;
    for (size_t i = 0; i < members->n_acts; i++) {
        members->acts[i].at_ns = trial->now_ns + (int64_t)random_below(&random, (uint64_t)length_ns);
        members->acts[i].cluster = 1 + random_below(&random, workers);
        members->acts[i].change = (enum member_change)random_below(&random, CHANGES);
        if (!cuts_has(trial, "%.3f operator: w%zu %s", (double)(members->acts[i].at_ns - TRIAL_START_NS) / 1e9,
                      members->acts[i].cluster, change_words[members->acts[i].change]))
            members->acts[i].at_ns = CLOCK_NEVER;
    }
    return members;
}

struct members *members_like(const struct members *first) {
    struct members *members = malloc(sizeof *members);
    if (members)
        *members = *first;
    return members;
}

int64_t members_due(const struct trial *trial) {
    const struct members *members = trial->members;
    int64_t due = CLOCK_NEVER;
    for (size_t i = 0; i < members->n_acts; i++)
        due = clock_earlier(due, members->acts[i].at_ns);
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct member *m = &members->workers[c];
        if (m->close_ns)
            due = clock_earlier(due, m->close_ns);
        if (m->state == MEMBER_LEAVING || m->state == MEMBER_LEFT)
            due = clock_earlier(due, m->look_ns);
    }
    if (!trial->host->alive)
        return CLOCK_NEVER;
    return clock_later(due, clock_later(trial->host->asleep_until_ns, trial->host->stopped_until_ns));
}

static void tell(struct trial *trial, size_t cluster, enum worker_policy policy) {
    struct member *m = &trial->members->workers[cluster];
    m->tells = policy != WORKER_LEFT;
    m->next = policy;
    m->again = false;
    struct engine_event event = {.type = EVENT_WORKER,
                                 .cluster = cluster,
                                 .worker = {.name = world_name(trial->worlds[cluster]),
                                            .policy = policy,
                                            .namespace_map = renames_are_wanted() ? RENAMES_MAP : NULL}};
    places_worker(trial, cluster, &event);
    spaces_worker(trial, cluster, &event);
    instance_post(trial, &event);
}

static void open_member(struct trial *trial, size_t cluster) {
    trial->members->workers[cluster].state = MEMBER_IN;
    tell(trial, cluster, trial->members->workers[cluster].policy);
    instance_open(trial, cluster);
}

void members_started(struct trial *trial) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        struct member *m = &trial->members->workers[c];
        *m = (struct member){
            .configured = m->configured, .cut = m->cut, .policy = m->configured ? m->policy : WORKER_ACTIVE};
        if (m->configured)
            open_member(trial, c);
    }
}

static void close_soon(struct trial *trial, size_t cluster) {
    struct member *m = &trial->members->workers[cluster];
    if (!m->close_ns)
        m->close_ns = trial->now_ns + trial_between(trial, 1, SOON_NS);
}

static void change(struct trial *trial, size_t cluster, enum member_change what) {
    static const enum worker_policy policies[] = {WORKER_ACTIVE,     WORKER_CORDONED,     WORKER_DRAIN_FINISH,
                                                  WORKER_DRAIN_MOVE, WORKER_DRAIN_FINISH, WORKER_DRAIN_MOVE,
                                                  WORKER_ACTIVE};
    struct member *m = &trial->members->workers[cluster];
    bool leaves = what >= CHANGE_REMOVE_FINISH && what <= CHANGE_ABANDON;
    trial_trace(trial, "operator: %s %s", world_name(trial->worlds[cluster]), change_words[what]);
    if (what == CHANGE_RECONNECT) {
        if (members_has_wire(trial, cluster))
            close_soon(trial, cluster);
        return;
    }
    if (m->cut || (leaves && !m->configured && m->state == MEMBER_OUT))
        return;
    m->configured = !leaves;
    m->abandoned = what == CHANGE_ABANDON;
    m->policy = policies[what];
    if (leaves && m->state == MEMBER_IN)
        m->state = MEMBER_LEAVING;
    else if (!leaves && m->state == MEMBER_LEAVING)
        m->state = MEMBER_IN;
    m->look_ns = trial->now_ns;
}

static void look_at(struct trial *trial, size_t cluster) {
    struct member *m = &trial->members->workers[cluster];
    const struct engine *engine = trial->host->turn.engine;
    bool idle = trial->host->queue.lines[cluster].events == 0;
    if (m->close_ns && m->close_ns <= trial->now_ns) {
        m->close_ns = 0;
        instance_close(trial, cluster);
        if (m->state != MEMBER_LEFT)
            instance_open(trial, cluster);
        return;
    }
    if ((m->state == MEMBER_IN || m->state == MEMBER_LEAVING) && (m->next != m->policy || m->again) && !m->abandoned)
        tell(trial, cluster, m->policy);
    if (m->state == MEMBER_LEAVING && m->look_ns <= trial->now_ns) {
        m->look_ns = trial->now_ns + LOOK_NS;
        if (m->abandoned || (idle && engine_may_leave(engine, cluster))) {
            m->state = MEMBER_LEFT;
            tell(trial, cluster, WORKER_LEFT);
            close_soon(trial, cluster);
        }
    } else if (m->state == MEMBER_LEFT && m->look_ns <= trial->now_ns) {
        m->look_ns = trial->now_ns + SOON_NS;
        if (!m->close_ns && idle && !engine_has_worker(engine, cluster))
            m->state = MEMBER_OUT;
    }
    if (m->state == MEMBER_OUT && m->configured)
        open_member(trial, cluster);
}

void members_act(struct trial *trial) {
    struct members *members = trial->members;
    for (size_t i = 0; i < members->n_acts; i++) {
        if (members->acts[i].at_ns > trial->now_ns)
            continue;
        members->acts[i].at_ns = CLOCK_NEVER;
        change(trial, members->acts[i].cluster, members->acts[i].change);
    }
    for (size_t c = 1; c < trial->plan.n_clusters && instance_is_awake(trial); c++)
        look_at(trial, c);
}

void members_end(struct trial *trial) {
    trial->members->n_acts = 0;
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        change(trial, c, CHANGE_ACTIVATE);
        trial->members->workers[c].again = trial->plan.places;
    }
}

void members_tell_again(struct trial *trial, size_t cluster) {
    trial->members->workers[cluster].again = true;
}

bool members_has_wire(const struct trial *trial, size_t cluster) {
    const struct member *m = &trial->members->workers[cluster];
    return cluster == ENGINE_MANAGEMENT || (m->state != MEMBER_OUT && m->state != MEMBER_LEFT && !m->close_ns);
}

void members_told(struct trial *trial, size_t cluster, enum worker_policy policy) {
    struct member *m = &trial->members->workers[cluster];
    m->told = policy != WORKER_LEFT;
    m->last = policy;
}

bool members_knows(const struct trial *trial, size_t cluster) {
    return cluster == ENGINE_MANAGEMENT || trial->members->workers[cluster].told;
}

enum worker_policy members_policy(const struct trial *trial, size_t cluster) {
    return trial->members->workers[cluster].last;
}
