// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/pace_rules.h"

#include "core/engine/request/command.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/steady.h"
#include "tests/support/engine_views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLYING 512
#define WAITERS 1024
#define FLOWS 1024

// Turns of other classes while one waits: a round of the weights, 31, by its own; and what the others may have earned.
static const unsigned class_turns[WORK_CLASSES] = {31 / 8 + 5, 31 / 8 + 5, 31 / 8 + 5, 31 / 6 + 5, 31 + 5};

struct pace_waiter { // for a place in a cluster's window
    struct pace_flow *flow;
    char key[80];
    uint64_t hash; // of the key
    int64_t since_ns;
    unsigned passed; // requests sent to the cluster since then
    unsigned most;   // that it may let pass
    bool here;       // in the present look
};

struct pace_flow { // of one kind in one namespace
    size_t cluster, kind;
    enum work_class work;
    char namespace_[32];
    uint64_t began;         // the turn since which it waits, or that it had last while it waits
    uint64_t turn;          // that it had last; 0: none
    size_t waiters, before; // before: the present look
    bool left; // in the present step something of it stopped waiting, perhaps with a turn for which nothing was sent
};

struct pace_rules {
    struct {
        uint64_t command; // 0: none
        size_t cluster;
        bool beside; // sent beside the window
    } flying[FLYING];
    size_t n_flying; // none is in flight at this place or after it
    struct pace_waiter waiters[WAITERS];
    struct pace_flow flows[FLOWS];
    size_t n_waiters, n_flows;
    int64_t moved_ns[TRIAL_CLUSTERS];              // when a request was last sent, also beside, or nothing waited
    unsigned passed[TRIAL_CLUSTERS][WORK_CLASSES]; // requests of other classes since it waits or had a turn
    uint64_t turns;                                // of all
};

struct pace_rules *pace_rules_new(void) {
    return calloc(1, sizeof(struct pace_rules));
}

void pace_restarted(struct trial *trial) {
    *trial->pace = (struct pace_rules){0};
}

void pace_answered(struct trial *trial, uint64_t command) {
    for (size_t i = 0; i < trial->pace->n_flying; i++)
        if (trial->pace->flying[i].command == command)
            trial->pace->flying[i].command = 0;
}

void pace_left(struct trial *trial, size_t cluster) {
    for (size_t i = 0; i < trial->pace->n_flying; i++)
        if (trial->pace->flying[i].command && trial->pace->flying[i].cluster == cluster)
            trial->pace->flying[i].command = 0;
}

// Asked for on the way, without a turn: a namespace, and who owns or writes an object.
static bool is_beside(const struct command *command) {
    return command->request.verb == VERB_RAW_GET || strcmp(command->request.resource.plural, "namespaces") == 0;
}

static void take_off(struct trial *trial, const struct command *command) {
    struct pace_rules *pace = trial->pace;
    size_t i = 0;
    while (i < FLYING && pace->flying[i].command)
        i++;
    if (i == FLYING) {
        trial_fail(trial, "pacing: more than %d requests are in flight", FLYING);
        return;
    }
    if (i >= pace->n_flying)
        pace->n_flying = i + 1;
    pace->flying[i].command = command->id;
    pace->flying[i].cluster = command->cluster;
    pace->flying[i].beside = is_beside(command);
}

// In flight: as the window counts, and those beside it.
static void check_window(struct trial *trial, size_t cluster, bool sent) {
    const struct stats_cluster *stats = &engine_stats(trial->host->turn.engine)->clusters[cluster];
    uint64_t within = 0, beside = 0;
    for (size_t i = 0; i < trial->pace->n_flying; i++)
        if (trial->pace->flying[i].command && trial->pace->flying[i].cluster == cluster) {
            within += !trial->pace->flying[i].beside;
            beside += trial->pace->flying[i].beside;
        }
    const char *name = world_name(trial->worlds[cluster]);
    uint64_t most = trial->plan.window_max ? trial->plan.window_max : WINDOW_MAX;
    if (stats->in_flight != within + beside)
        trial_fail(trial, "pacing: %llu requests and %llu beside to %s are in flight, the host counts %llu",
                   (unsigned long long)within, (unsigned long long)beside, name, (unsigned long long)stats->in_flight);
    if (stats->window < 1 || stats->window > most)
        trial_fail(trial, "pacing: the window of %s is %llu", name, (unsigned long long)stats->window);
    if (within > most || (sent && within > stats->window))
        trial_fail(trial, "pacing: %llu requests to %s are in flight, %llu may be", (unsigned long long)within, name,
                   (unsigned long long)stats->window);
}

// No place is empty while something waits for it, unless for a token.
static void check_places(struct trial *trial, const struct update *update, size_t cluster, size_t waiting) {
    const struct stats_cluster *stats = &engine_stats(trial->host->turn.engine)->clusters[cluster];
    int64_t now_ns = trial->now_ns - trial->host->clock_ns, qps_ns = trial->plan.qps > 0 ? CLOCK_MINUTE : 0;
    if (waiting > 0 && stats->in_flight < stats->window && update->wake_ns - now_ns > qps_ns)
        trial_fail(trial, "pacing: %zu wait for %s, of whose window of %llu only %llu are taken", waiting,
                   world_name(trial->worlds[cluster]), (unsigned long long)stats->window,
                   (unsigned long long)stats->in_flight);
}

// Without faults, while something waits requests leave at the pace of the answers, or of the tokens. With the bound of
// those that may pass, this bounds how long anything waits.
static void check_pace(struct trial *trial, size_t cluster, bool moved, size_t waiting) {
    int64_t most_ns = (faults_is_slow(trial, cluster) ? 5300 * CLOCK_MS : 5 * CLOCK_MS) +
                      (trial->plan.late_threads ? 400 * CLOCK_MS : 0) + (trial->plan.qps > 0 ? 5 * CLOCK_SECOND : 0) +
                      steady_answer_ns(trial, cluster);
    int64_t *moved_ns = &trial->pace->moved_ns[cluster];
    if (!trial->plan.faults && !trial->plan.costs && *moved_ns && trial->now_ns - *moved_ns > most_ns)
        trial_fail(trial, "pacing: %zu wait for %s, and nothing is sent for %.3f s", waiting,
                   world_name(trial->worlds[cluster]), (double)(trial->now_ns - *moved_ns) / 1e9);
    if (moved || waiting == 0 || *moved_ns == 0)
        *moved_ns = waiting ? trial->now_ns : 0;
}

static struct pace_flow *flow_of(struct trial *trial, const struct engine_waiter *waiter) {
    struct pace_rules *pace = trial->pace;
    char namespace_[32];
    snprintf(namespace_, sizeof namespace_, "%.*s", (int)strcspn(waiter->key, "/"), waiter->key);
    for (size_t i = 0; i < pace->n_flows; i++) {
        struct pace_flow *flow = &pace->flows[i];
        if (flow->cluster == waiter->cluster && flow->kind == waiter->kind && flow->work == waiter->work &&
            strcmp(flow->namespace_, namespace_) == 0)
            return flow;
    }
    if (pace->n_flows == FLOWS)
        abort();
    struct pace_flow *flow = &pace->flows[pace->n_flows++];
    *flow = (struct pace_flow){.cluster = waiter->cluster, .kind = waiter->kind, .work = waiter->work};
    text_copy(flow->namespace_, sizeof flow->namespace_, namespace_);
    return flow;
}

static struct pace_waiter *find(struct pace_rules *pace, size_t cluster, size_t kind, const char *key, int work) {
    uint64_t hash = pace->n_waiters > 0 ? text_hash(0, key) : 0;
    for (size_t i = 0; i < pace->n_waiters; i++) {
        struct pace_waiter *w = &pace->waiters[i];
        if (w->hash == hash && w->flow->cluster == cluster && w->flow->kind == kind && strcmp(w->key, key) == 0 &&
            (work < 0 || w->flow->work == (enum work_class)work))
            return w;
    }
    return NULL;
}

static void look_at(void *ctx, const struct engine_waiter *waiter) {
    struct trial *trial = ctx;
    struct pace_rules *pace = trial->pace;
    struct pace_waiter *w = find(pace, waiter->cluster, waiter->kind, waiter->key, (int)waiter->work);
    if (!w) {
        if (pace->n_waiters == WAITERS)
            abort();
        w = &pace->waiters[pace->n_waiters++];
        *w = (struct pace_waiter){.flow = flow_of(trial, waiter), .since_ns = trial->now_ns};
        text_copy(w->key, sizeof w->key, waiter->key);
        w->hash = text_hash(0, w->key);
    }
    w->here = true;
}

static size_t waiting(const struct pace_rules *pace, size_t cluster, int work) {
    size_t count = 0;
    for (size_t i = 0; i < pace->n_flows; i++)
        if (pace->flows[i].cluster == cluster && (work < 0 || pace->flows[i].work == (enum work_class)work))
            count += pace->flows[i].waiters;
    return count;
}

// After a step: who waits now.
static void look(struct trial *trial) {
    struct pace_rules *pace = trial->pace;
    size_t before[TRIAL_CLUSTERS][WORK_CLASSES] = {{0}};
    for (size_t i = 0; i < pace->n_flows; i++) {
        struct pace_flow *flow = &pace->flows[i];
        flow->before = flow->waiters;
        before[flow->cluster][flow->work] += flow->waiters;
    }
    for (size_t i = 0; i < pace->n_waiters; i++)
        pace->waiters[i].here = false;
    engine_each_waiter(trial->host->turn.engine, look_at, trial);
    size_t kept = 0;
    for (size_t i = 0; i < pace->n_flows; i++)
        pace->flows[i].waiters = 0;
    for (size_t i = 0; i < pace->n_waiters; i++) {
        struct pace_waiter *w = &pace->waiters[i];
        if (!w->here) {
            w->flow->left = true;
            continue;
        }
        w->flow->waiters++;
        pace->waiters[kept++] = *w;
    }
    pace->n_waiters = kept;
    for (size_t i = 0; i < pace->n_flows; i++) {
        struct pace_flow *flow = &pace->flows[i];
        if (flow->left || flow->before == 0)
            flow->began = pace->turns;
        if (flow->left || before[flow->cluster][flow->work] == 0)
            pace->passed[flow->cluster][flow->work] = 0;
        flow->left = false;
    }
}

// New ones may let so many pass: a turn for each that was before them in their flow, in which all flows of the class
// have theirs, and all classes theirs before.
static void give_bounds(struct pace_rules *pace) {
    for (size_t i = 0; i < pace->n_waiters; i++) {
        struct pace_waiter *w = &pace->waiters[i];
        if (w->most > 0)
            continue;
        w->most = (unsigned)(w->flow->waiters * TRIAL_KINDS * 3) * class_turns[w->flow->work];
    }
}

static const char *class_name(const struct pace_flow *flow) {
    return work_class_name(flow->work);
}

// A turn of a flow: no other flow of the class that waits has had none since this one's last.
static void check_flows(struct trial *trial, struct pace_flow *flow) {
    struct pace_rules *pace = trial->pace;
    pace->turns++;
    for (size_t i = 0; i < pace->n_flows; i++) {
        const struct pace_flow *other = &pace->flows[i];
        if (other == flow || other->cluster != flow->cluster || other->work != flow->work || other->waiters == 0 ||
            other->left)
            continue;
        if (flow->turn > other->began)
            trial_fail(trial, "pacing: %s of kind %zu in %s has its second turn in %s while kind %zu in %s has none",
                       class_name(flow), flow->kind, flow->namespace_, world_name(trial->worlds[flow->cluster]),
                       other->kind, other->namespace_);
    }
    flow->turn = flow->began = pace->turns;
}

static void check_classes(struct trial *trial, size_t cluster, const struct pace_flow *flow) {
    struct pace_rules *pace = trial->pace;
    for (int work = 0; work < WORK_CLASSES; work++) {
        bool stays = false;
        for (size_t i = 0; i < pace->n_flows; i++)
            stays |= pace->flows[i].cluster == cluster && pace->flows[i].work == (enum work_class)work &&
                     pace->flows[i].waiters > 0 && !pace->flows[i].left;
        if (!stays || (flow && flow->work == (enum work_class)work)) {
            pace->passed[cluster][work] = 0;
            continue;
        }
        if (++pace->passed[cluster][work] > class_turns[work])
            trial_fail(trial, "pacing: %s waits for %s while %u requests of other classes were sent",
                       work_class_name((enum work_class)work), world_name(trial->worlds[cluster]),
                       pace->passed[cluster][work]);
    }
}

// One request was sent: whose turn it was, and whom it has passed.
static void pass(struct trial *trial, const struct command *command) {
    struct pace_rules *pace = trial->pace;
    size_t kind = trial_kind(trial, command->request.resource.group, command->request.resource.plural);
    char key[80];
    snprintf(key, sizeof key, "%.30s/%.45s", command->request.namespace_, command->request.name);
    struct pace_waiter *w = find(pace, command->cluster, kind, key, -1);
    struct pace_flow *flow = w ? w->flow : NULL;
    if (flow && !flow->left)
        check_flows(trial, flow);
    check_classes(trial, command->cluster, flow);
    for (size_t i = 0; i < pace->n_waiters; i++) {
        struct pace_waiter *other = &pace->waiters[i];
        if (other == w || other->flow->cluster != command->cluster || ++other->passed <= other->most)
            continue;
        trial_fail(trial, "pacing: %s of %s has waited for %s for %.3f s and %u other requests",
                   class_name(other->flow), other->key, world_name(trial->worlds[command->cluster]),
                   (double)(trial->now_ns - other->since_ns) / 1e9, other->passed);
    }
    if (!w)
        return;
    flow->waiters--;
    *w = pace->waiters[--pace->n_waiters];
}

static void mark_here(void *ctx, const struct engine_waiter *waiter) {
    struct trial *trial = ctx;
    struct pace_waiter *w = find(trial->pace, waiter->cluster, waiter->kind, waiter->key, (int)waiter->work);
    if (w)
        w->here = true;
}

// What waited in `work` may send the request of its turn. Otherwise its class changed in this step: the request is that
// of another class's turn.
static bool may_send(enum work_class work, const struct command *command) {
    bool status = work == WORK_FINAL_STATUS || work == WORK_STATUS;
    return (command->request.verb == VERB_STATUS_PATCH) == status;
}

// Those that stopped waiting in this step and sent nothing: whether they had a turn is not seen.
static void note_left(struct trial *trial, const struct update *update, size_t first) {
    struct pace_rules *pace = trial->pace;
    for (size_t i = 0; i < pace->n_waiters; i++)
        pace->waiters[i].here = false;
    engine_each_waiter(trial->host->turn.engine, mark_here, trial);
    for (size_t i = first; i < update->n_commands; i++) {
        const struct command *command = &update->commands[i];
        char key[80];
        snprintf(key, sizeof key, "%.30s/%.45s", command->request.namespace_, command->request.name);
        struct pace_waiter *w =
            is_beside(command)
                ? NULL
                : find(pace, command->cluster,
                       trial_kind(trial, command->request.resource.group, command->request.resource.plural), key, -1);
        if (w && may_send(w->flow->work, command))
            w->here = true;
    }
    for (size_t i = 0; i < pace->n_waiters; i++)
        pace->waiters[i].flow->left |= !pace->waiters[i].here;
}

void pace_sent(struct trial *trial, const struct update *update, size_t first) {
    struct pace_rules *pace = trial->pace;
    bool sent[TRIAL_CLUSTERS] = {false}, moved[TRIAL_CLUSTERS] = {false}; // moved: also beside the window
    note_left(trial, update, first);
    for (size_t i = first; i < update->n_commands; i++) {
        const struct command *command = &update->commands[i];
        take_off(trial, command);
        moved[command->cluster] = true;
        if (is_beside(command))
            continue;
        sent[command->cluster] = true;
        pass(trial, command);
    }
    look(trial);
    give_bounds(pace);
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        if (!engine_has_worker(trial->host->turn.engine, c))
            continue;
        check_window(trial, c, sent[c]);
        check_places(trial, update, c, waiting(pace, c, -1));
        check_pace(trial, c, moved[c], waiting(pace, c, -1));
    }
}
