// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/leases.h"

#include "core/kube/transport/gate.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/rules.h"

#include <stdlib.h>
#include <string.h>

#define SHARDS 4
#define GAPS 8
#define RENEW_NS (2 * CLOCK_SECOND)
#define LEASE_NS (10 * CLOCK_SECOND)

struct gap { // the lease of a shard is not renewed, or taken at once
    int64_t begin_ns, end_ns;
    uint32_t shard;
    bool at_once, other; // other: somebody else may have held it then
    bool begun;
};

struct leases {
    struct gate gates[SHARDS];
    struct gates all;
    struct lease_of {
        int64_t until_ns; // virtual time; 0: taken away
        uint64_t term;
    } shards[SHARDS];
    struct gap gaps[GAPS];
    size_t n_gaps;
    int64_t next_ns;
    int64_t late_ns; // when one was last taken, or renewed so late that the host may have stopped writing
};

// Otherwise it needs none, or there is an election (crew.h).
static bool has_leases(const struct trial *trial) {
    return trial->plan.shards && !trial->plan.elects;
}

struct leases *leases_new(struct trial *trial) {
    struct leases *leases = calloc(1, sizeof *leases);
    struct random random = {.state = trial->seed * 37 + 5};
    if (!leases)
        return NULL;
    leases->next_ns = has_leases(trial) ? trial->now_ns : CLOCK_NEVER;
    leases->all.shards = leases->gates;
    leases->all.count = has_leases(trial) ? trial->plan.shards : 0;
    uint64_t length_ns = (uint64_t)(trial->plan.trouble_end_ns - trial->now_ns);
    leases->n_gaps = has_leases(trial) ? random_below(&random, GAPS + 1) : 0;
    for (size_t i = 0; i < leases->n_gaps; i++) {
        struct gap *gap = &leases->gaps[i];
        gap->shard = (uint32_t)random_below(&random, trial->plan.shards);
        gap->begin_ns = trial->now_ns + (int64_t)random_below(&random, length_ns);
        gap->end_ns = gap->begin_ns + CLOCK_SECOND + (int64_t)random_below(&random, (uint64_t)(60 * CLOCK_SECOND));
        gap->at_once = random_below(&random, 3) == 0;
        gap->other = random_below(&random, 2);
        if (!cuts_has(trial, "%.3f lease: shard %u is not held for %.3f s",
                      (double)(gap->begin_ns - TRIAL_START_NS) / 1e9, gap->shard,
                      (double)(gap->end_ns - gap->begin_ns) / 1e9))
            gap->begin_ns = gap->end_ns = CLOCK_NEVER;
    }
    return leases;
}

void leases_free(struct leases *leases) {
    free(leases);
}

struct gates *leases_gates(const struct trial *trial) {
    return has_leases(trial) ? &trial->leases->all : NULL;
}

int64_t leases_due(const struct trial *trial) {
    return trial->leases->next_ns;
}

static void tell(struct trial *trial, uint32_t shard) {
    struct leases *leases = trial->leases;
    int64_t until_ns = leases->shards[shard].until_ns, any_ns = 0;
    int64_t mono_ns = until_ns ? until_ns - trial->host->clock_ns : 0;
    leases->gates[shard].until_ns = mono_ns;
    for (uint32_t i = 0; i < trial->plan.shards; i++)
        any_ns = clock_later(any_ns, leases->gates[i].until_ns);
    leases->all.any.until_ns = any_ns;
    struct engine_event event = {.type = EVENT_LEASE};
    event.lease.shard = shard;
    event.lease.until_ns = mono_ns;
    event.lease.term = leases->shards[shard].term;
    instance_post(trial, &event);
}

// The gap that a shard is in; NULL: none.
static struct gap *gap_of(struct trial *trial, uint32_t shard) {
    struct leases *leases = trial->leases;
    for (size_t i = 0; i < leases->n_gaps; i++) {
        struct gap *gap = &leases->gaps[i];
        if (gap->shard == shard && gap->begin_ns <= trial->now_ns && trial->now_ns < gap->end_ns)
            return gap;
    }
    return NULL;
}

static void look_at(struct trial *trial, uint32_t shard) {
    struct leases *leases = trial->leases;
    struct gap *gap = gap_of(trial, shard);
    bool held = leases->shards[shard].until_ns > trial->now_ns;
    if (gap && gap->at_once && held) {
        trial_trace(trial, "lease: shard %u is taken away", shard);
        leases->shards[shard].until_ns = 0;
        tell(trial, shard);
    }
    if (gap) {
        gap->begun = true;
        return;
    }
    bool other = !held;
    for (size_t i = 0; i < leases->n_gaps && !held; i++)
        if (leases->gaps[i].shard == shard && leases->gaps[i].begun && leases->gaps[i].end_ns <= trial->now_ns) {
            other = leases->gaps[i].other || leases->shards[shard].term == 0;
            leases->gaps[i].begun = false;
        }
    if (other) {
        leases->shards[shard].term++;
        rules_restarted(trial);
        trial_trace(trial, "lease: shard %u is held, term %llu", shard, (unsigned long long)leases->shards[shard].term);
    }
    if (leases->shards[shard].until_ns <= trial->now_ns + LEASE_NS / 2)
        leases->late_ns = trial->now_ns;
    leases->shards[shard].until_ns = trial->now_ns + LEASE_NS;
    tell(trial, shard);
}

void leases_act(struct trial *trial) {
    struct leases *leases = trial->leases;
    if (leases->next_ns > trial->now_ns)
        return;
    leases->next_ns = trial->now_ns + RENEW_NS;
    for (uint32_t i = 0; i < trial->plan.shards; i++)
        look_at(trial, i);
}

void leases_end(struct trial *trial) {
    trial->leases->n_gaps = 0;
}

// The earlier process's leases have to end first.
void leases_started(struct trial *trial) {
    struct leases *leases = trial->leases;
    if (!leases || !has_leases(trial))
        return;
    for (uint32_t i = 0; i < trial->plan.shards; i++) {
        leases->shards[i].until_ns = 0;
        leases->gates[i].until_ns = 0;
    }
    leases->all.any.until_ns = 0;
    if (trial->host->number > 1)
        leases->next_ns = trial->now_ns + trial_between(trial, 0, LEASE_NS);
}

bool leases_missing(const struct trial *trial) {
    for (uint32_t i = 0; trial->leases && has_leases(trial) && i < trial->plan.shards; i++)
        if (trial->leases->shards[i].until_ns <= trial->now_ns + CLOCK_SECOND)
            return true;
    return false;
}

bool leases_are_settled(const struct trial *trial, int64_t calm_ns) {
    return !leases_missing(trial) &&
           (!trial->leases || !trial->leases->late_ns || trial->now_ns - trial->leases->late_ns >= calm_ns);
}

void leases_request(struct trial *trial, const struct http_request *request) {
    bool read = request->method == HTTP_GET || strstr(request->path, "/selfsubjectaccessreviews");
    if (!trial->leases || !has_leases(trial) || read)
        return;
    if (!request->gate)
        trial_fail(trial, "rule 11: %s is sent without a gate", request->path);
    else if (!gate_is_open(request->gate, trial->now_ns - trial->host->clock_ns))
        trial_fail(trial, "rule 11: %s is sent without the lease", request->path);
}

void leases_command(struct trial *trial, const struct command *command) {
    enum verb verb = command->request.verb;
    if (!trial->leases || !has_leases(trial) || verb == VERB_GET || verb == VERB_RAW_GET)
        return;
    uint32_t number = command->shard < trial->plan.shards ? command->shard : 0;
    const struct lease_of *shard = &trial->leases->shards[number];
    if (command->shard != number)
        trial_fail(trial, "rule 11: a write to %s is of shard %u, which does not exist", command->request.name,
                   (unsigned)command->shard);
    else if (shard->until_ns <= trial->now_ns && shard->until_ns > 0) // taken at once: it may not have heard of it yet
        trial_fail(trial, "rule 11: a write to %s without the lease of shard %u", command->request.name,
                   (unsigned)command->shard);
}
