// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/crew.h"

#include "core/base/error.h"
#include "core/host/lease/election.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/replica_tap.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULTS 14
#define GRACE_NS (8 * CLOCK_SECOND) // of a host that ends
#define LEASE_NS (15 * CLOCK_SECOND)
#define RENEW_NS (10 * CLOCK_SECOND)
#define RETRY_NS (2 * CLOCK_SECOND)
#define MARGIN_NS (CLOCK_SECOND / 2) // of the lease, for what the engine decides (core/engine/shard/shard.h)

enum fault { FAULT_KILL, FAULT_PAUSE, FAULT_CUT, FAULT_LAG, FAULT_CLOCK, FAULT_STOP, FAULT_RESHARD, FAULT_KINDS };

static const char *const fault_names[] = {"is killed",
                                          "is stopped and goes on",
                                          "is cut off from management",
                                          "sees clusters late",
                                          "has another time",
                                          "is ended",
                                          "is restarted with another number of shards"};

struct seat { // of a replica
    struct election *election;
    struct replica_tap *tap;
    int64_t due_ns; // virtual, like the rest
    bool dirty;
    int64_t cut_ns;     // until then; 0: it is not
    int64_t start_ns;   // of its next process, once this one has ended
    int64_t next_ns;    // the same, while it is leaving
    int64_t stopped_ns; // when it was stopped the last time
    int64_t leaves_ns;  // since when it is leaving; 0: it is not
    bool left;
    struct gate gates[TRIAL_SHARDS];
    uint64_t terms[TRIAL_SHARDS];  // that were seen
    int64_t told_ns[TRIAL_SHARDS]; // until when the engine holds it, as it is told
};

struct crew {
    struct seat seats[TRIAL_HOSTS];
    struct {
        int64_t at_ns, length_ns;
        enum fault fault;
        size_t host, cluster;
    } faults[FAULTS];
    size_t n_faults;
    uint32_t shards;  // in the configuration, which processes read when they start
    int64_t mixed_ns; // since when replicas with different numbers of shards write; 0: they do not
};

static struct seat *seat_of(const struct trial *trial) {
    return &trial->crew->seats[trial->host->index];
}

struct crew *crew_new(struct trial *trial) {
    struct crew *crew = calloc(1, sizeof *crew);
    struct random random = {.state = trial->seed * 43 + 29};
    if (!crew || !trial->plan.elects)
        return crew;
    crew->shards = trial->plan.shards;
    int64_t length_ns = trial->plan.trouble_end_ns - trial->now_ns;
    for (size_t i = 0; i < trial->plan.hosts; i++)
        crew->seats[i].start_ns =
            trial->now_ns + (random_below(&random, 2) ? 0 : (int64_t)random_below(&random, 20 * CLOCK_SECOND));
    size_t wanted = trial->plan.faults ? random_below(&random, FAULTS + 1) : 0;
    for (size_t i = 0; i < wanted; i++) {
        int64_t at_ns = trial->now_ns + (int64_t)random_below(&random, (uint64_t)length_ns);
        if (random_below(&random, 5) < 2) // while something happens
            at_ns = users_some_time(trial) + (int64_t)random_below(&random, 300 * CLOCK_MS);
        uint64_t most_ns = random_below(&random, 5) < 2 ? 3 * CLOCK_SECOND : 40 * CLOCK_SECOND;
        crew->faults[crew->n_faults].at_ns = at_ns;
        crew->faults[crew->n_faults].length_ns = CLOCK_MS + (int64_t)random_below(&random, most_ns);
        crew->faults[crew->n_faults].fault = (enum fault)random_below(&random, FAULT_KINDS);
        crew->faults[crew->n_faults].host = random_below(&random, trial->plan.hosts);
        crew->faults[crew->n_faults].cluster = random_below(&random, trial->plan.n_clusters);
        crew->n_faults +=
            cuts_has(trial, "%.3f replica %zu %s for %.3f s", (double)(at_ns - TRIAL_START_NS) / 1e9,
                     crew->faults[i].host, fault_names[crew->faults[i].fault], (double)crew->faults[i].length_ns / 1e9);
    }
    return crew;
}

void crew_free(struct trial *trial) {
    free(trial->crew);
}

// Processes -------------------------------------------------------------------------------------------------------

static void post(void *ctx, struct engine_event *event) {
    struct trial *trial = instance_enter(ctx);
    struct seat *seat = seat_of(trial);
    if (event->lease.until_ns > 0 && event->lease.term != seat->terms[event->lease.shard]) {
        trial_trace(trial, "lease: shard %u is held, term %llu", event->lease.shard,
                    (unsigned long long)event->lease.term);
        seat->terms[event->lease.shard] = event->lease.term;
        rules_restarted(trial);
    } else if (event->lease.until_ns == 0) {
        trial_trace(trial, "lease: shard %u is not held", event->lease.shard);
    }
    instance_post(trial, event);
}

void crew_told(struct trial *trial, const struct engine_event *event) {
    if (trial->plan.elects)
        seat_of(trial)->told_ns[event->lease.shard] = event->lease.until_ns;
}

static void touched(void *ctx) {
    seat_of(instance_enter(ctx))->dirty = true;
}

static void set_clock(struct instance *host, int64_t wall_ns) {
    host->wall_ns = wall_ns;
    host->ahead_ns = clock_later(host->ahead_ns, wall_ns);
}

void crew_started(struct trial *trial) {
    struct instance *host = trial->host;
    struct seat *seat = seat_of(trial);
    if (!trial->plan.elects)
        return;
    *seat = (struct seat){.due_ns = CLOCK_NEVER, .start_ns = CLOCK_NEVER, .dirty = true};
    host->gates = (struct gates){.shards = seat->gates, .count = trial->crew->shards};
    set_clock(host, trial_chance(trial, 50) ? trial_between(trial, -CLOCK_MINUTE, CLOCK_MINUTE) : 0);
    seat->tap = replica_tap_new(&(struct replica_tap_options){.net = trial->net,
                                                              .cluster = trial->worlds[ENGINE_MANAGEMENT],
                                                              .now_ns = &trial->now_ns,
                                                              .touched = touched,
                                                              .ctx = host});
    char identity[32];
    snprintf(identity, sizeof identity, "r%zu-%u", host->index, host->number);
    struct election_options options = {.mode = ELECTION_ON,
                                       .transport = replica_tap_transport(seat->tap),
                                       .namespace_ = "default",
                                       .name = "wharf-sim",
                                       .identity = identity,
                                       .duration_ns = LEASE_NS,
                                       .renew_ns = RENEW_NS,
                                       .retry_ns = RETRY_NS,
                                       .shards = trial->crew->shards,
                                       .gates = &host->gates,
                                       .seed = trial->seed * 17 + host->number,
                                       .post = post,
                                       .ctx = host};
    if (election_new(&options, &seat->election))
        abort();
}

void crew_stopped(struct trial *trial) {
    struct seat *seat = seat_of(trial);
    if (!seat->election)
        return;
    election_free(seat->election);
    struct transport *transport = replica_tap_transport(seat->tap);
    transport->ops->free(transport);
    *seat = (struct seat){.start_ns = trial->now_ns};
}

static void end_process(struct trial *trial, int64_t start_ns) {
    trial_trace(trial, "host: process %u has ended", trial->host->number);
    instance_stop(trial);
    rules_restarted(trial);
    seat_of(trial)->start_ns = start_ns;
}

static void set_cut(struct trial *trial, bool cut) {
    replica_tap_cut(seat_of(trial)->tap, cut);
    tap_cut(trial->host->taps[ENGINE_MANAGEMENT], cut);
}

static void begin(struct trial *trial, enum fault fault, size_t cluster, int64_t length_ns) {
    struct instance *host = trial->host;
    struct seat *seat = seat_of(trial);
    int64_t until_ns = trial->now_ns + length_ns;
    trial_trace(trial, "trouble: replica %zu %s for %.3f s", host->index, fault_names[fault], (double)length_ns / 1e9);
    if (!host->alive)
        return;
    if (fault == FAULT_RESHARD)
        trial->crew->shards = 1 + (uint32_t)trial_below(trial, TRIAL_SHARDS);
    if (fault == FAULT_KILL || fault == FAULT_RESHARD) {
        end_process(trial, until_ns);
    } else if (fault == FAULT_STOP) {
        engine_drain(host->turn.engine);
        seat->leaves_ns = trial->now_ns;
        seat->next_ns = until_ns;
    } else if (fault == FAULT_PAUSE) {
        seat->stopped_ns = trial->now_ns;
        host->stopped_until_ns = until_ns;
    } else if (fault == FAULT_CUT) {
        set_cut(trial, true);
        seat->cut_ns = until_ns;
    } else if (fault == FAULT_LAG) {
        tap_lag(host->taps[ENGINE_MANAGEMENT], trial_between(trial, 0, length_ns));
        if (host->taps[cluster])
            tap_lag(host->taps[cluster], length_ns);
    } else {
        set_clock(host, host->wall_ns + trial_between(trial, -10 * CLOCK_MINUTE, 10 * CLOCK_MINUTE));
    }
}

// As host_run at its end: nothing new is placed, what is in flight ends, then the leases are given back.
static void go_on_leaving(struct trial *trial) {
    struct seat *seat = seat_of(trial);
    struct moment now = instance_moment(trial);
    if (engine_pending(trial->host->turn.engine) > 0) {
        if (trial->now_ns >= seat->leaves_ns + GRACE_NS) // the leases expire
            end_process(trial, clock_later(trial->now_ns, seat->next_ns));
        return;
    }
    if (!seat->left)
        election_leave(seat->election, now);
    seat->dirty |= !seat->left;
    seat->left = true;
    if (election_has_left(seat->election))
        end_process(trial, clock_later(trial->now_ns, seat->next_ns));
}

static void act_on_host(struct trial *trial) {
    struct seat *seat = seat_of(trial);
    if (!trial->host->alive && seat->start_ns <= trial->now_ns) {
        instance_start(trial);
        return;
    }
    if (trial->host->alive && seat->cut_ns > 0 && seat->cut_ns <= trial->now_ns) {
        seat->cut_ns = 0;
        set_cut(trial, false);
    }
    if (trial->host->alive && seat->leaves_ns > 0 && instance_is_awake(trial))
        go_on_leaving(trial);
}

void crew_act(struct trial *trial) {
    struct crew *crew = trial->crew;
    for (size_t i = 0; i < crew->n_faults; i++) {
        if (crew->faults[i].at_ns > trial->now_ns)
            continue;
        crew->faults[i].at_ns = CLOCK_NEVER;
        instance_enter(&trial->hosts[crew->faults[i].host]);
        begin(trial, crew->faults[i].fault, crew->faults[i].cluster, crew->faults[i].length_ns);
    }
    for (size_t i = 0; i < trial->plan.hosts && trial->plan.elects; i++) {
        instance_enter(&trial->hosts[i]);
        act_on_host(trial);
    }
}

void crew_end(struct trial *trial) {
    trial->crew->n_faults = 0;
    for (size_t i = 0; i < trial->plan.hosts && trial->plan.elects; i++) {
        struct seat *seat = &trial->crew->seats[i];
        instance_enter(&trial->hosts[i]);
        if (trial->host->alive && trial->host->gates.count != trial->crew->shards)
            end_process(trial, trial->now_ns);
        trial->host->stopped_until_ns = 0;
        seat->start_ns = clock_earlier(seat->start_ns, trial->now_ns);
        seat->cut_ns = clock_earlier(seat->cut_ns, trial->now_ns);
        for (size_t c = 0; c < trial->plan.n_clusters; c++)
            if (trial->host->taps[c])
                tap_lag(trial->host->taps[c], 0);
    }
}

int64_t crew_due(const struct trial *trial) {
    const struct crew *crew = trial->crew;
    int64_t due_ns = CLOCK_NEVER;
    for (size_t i = 0; i < crew->n_faults; i++)
        due_ns = clock_earlier(due_ns, crew->faults[i].at_ns);
    for (size_t i = 0; i < trial->plan.hosts && trial->plan.elects; i++) {
        const struct seat *seat = &crew->seats[i];
        bool alive = trial->hosts[i].alive;
        if (!alive)
            due_ns = clock_earlier(due_ns, seat->start_ns);
        if (alive && seat->cut_ns > 0)
            due_ns = clock_earlier(due_ns, seat->cut_ns);
        if (alive && seat->leaves_ns > 0 && seat->leaves_ns + GRACE_NS > trial->now_ns)
            due_ns = clock_earlier(due_ns, seat->leaves_ns + GRACE_NS);
    }
    return due_ns;
}

bool crew_run(struct trial *trial) {
    struct seat *seat = seat_of(trial);
    if (!seat->election || (!seat->dirty && seat->due_ns > trial->now_ns))
        return false;
    seat->dirty = false;
    int64_t mono_ns = election_tick(seat->election, instance_moment(trial));
    seat->due_ns = mono_ns == CLOCK_NEVER ? CLOCK_NEVER : mono_ns + trial->host->clock_ns;
    return true;
}

int64_t crew_host_due(const struct trial *trial) {
    const struct seat *seat = seat_of(trial);
    if (!seat->election)
        return CLOCK_NEVER;
    return seat->dirty ? trial->now_ns : seat->due_ns;
}

int64_t crew_tap_due(const struct trial *trial) {
    const struct seat *seat = seat_of(trial);
    return seat->tap ? replica_tap_due(seat->tap) : CLOCK_NEVER;
}

void crew_deliver(struct trial *trial) {
    const struct seat *seat = seat_of(trial);
    if (seat->tap)
        replica_tap_run(seat->tap);
}

// Rules -----------------------------------------------------------------------------------------------------------

static bool may_write(const struct trial *trial, size_t host, uint32_t shard) {
    const struct instance *h = &trial->hosts[host];
    return h->alive && shard < h->gates.count &&
           gate_is_open(&trial->crew->seats[host].gates[shard], trial->now_ns - h->clock_ns);
}

static bool writes(const struct trial *trial, size_t host) {
    bool any = false;
    for (uint32_t s = 0; s < TRIAL_SHARDS; s++)
        any |= may_write(trial, host, s);
    return any;
}

// As core/engine/shard/shard_hash.h.
static uint32_t shard_of(const struct trial *trial, size_t kind, const char *namespace_, const char *name) {
    uint64_t hash = text_hash(TEXT_HASH, trial->engine_kinds[kind]->plural_group);
    hash = text_hash(text_hash(text_hash(text_hash(hash, "/"), namespace_), "/"), name);
    size_t shards = trial->host->gates.count;
    return shards < 2 ? 0 : (uint32_t)((hash ^ hash >> 32) % shards);
}

bool crew_holds(const struct trial *trial, size_t kind, const char *namespace_, const char *name) {
    int64_t until_ns = trial->plan.elects ? seat_of(trial)->told_ns[shard_of(trial, kind, namespace_, name)] : 0;
    bool leaves = trial->plan.elects && seat_of(trial)->leaves_ns > 0;
    return !trial->plan.elects || (!leaves && trial->now_ns - trial->host->clock_ns + CLOCK_SECOND < until_ns);
}

void crew_command(struct trial *trial, const struct command *command, size_t kind) {
    const struct request *request = &command->request;
    if (!trial->plan.elects || request->verb == VERB_GET || request->verb == VERB_RAW_GET)
        return;
    if (command->shard >= trial->host->gates.count) {
        trial_fail(trial, "rule 11: a write to %s is of shard %u, which does not exist", request->name,
                   (unsigned)command->shard);
        return;
    }
    if (kind < trial->n_kinds && command->shard != shard_of(trial, kind, request->namespace_, request->name))
        trial_fail(trial, "rule 11: a write to %s is sent as one of shard %u, and is of shard %u", request->name,
                   (unsigned)command->shard, shard_of(trial, kind, request->namespace_, request->name));
    if (trial->now_ns - trial->host->clock_ns + MARGIN_NS >= seat_of(trial)->told_ns[command->shard])
        trial_fail(trial, "rule 11: replica %zu decides to write to %s without the lease of shard %u",
                   trial->host->index, request->name, (unsigned)command->shard);
}

void crew_request(struct trial *trial, size_t cluster, const struct http_request *request) {
    if (!trial->plan.elects || request->method == HTTP_GET || strstr(request->path, "/selfsubjectaccessreviews"))
        return;
    const char *name = world_name(trial->worlds[cluster]);
    if (!request->gate)
        trial_fail(trial, "rule 11: %s is sent to %s without a gate", request->path, name);
    else if (!gate_is_open(request->gate, trial->now_ns - trial->host->clock_ns))
        trial_fail(trial, "rule 11: replica %zu sends %s %s to %s and holds no lease of it", trial->host->index,
                   http_method_name(request->method), request->path, name);
}

// Of `shard`, for which `writer` may write: what another one sent has ended with its lease.
static void check_in_flight(struct trial *trial, uint32_t shard, size_t writer) {
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        instance_enter(&trial->hosts[i]);
        bool same = i != writer && trial->host->gates.count == trial->hosts[writer].gates.count;
        for (size_t c = 0; c < trial->plan.n_clusters && same && instance_is_awake(trial); c++) {
            const struct tap *tap = trial->host->taps[c];
            const char *path = tap ? tap_in_flight(tap, &seat_of(trial)->gates[shard]) : NULL;
            if (path)
                trial_fail(trial, "rule 11: a write of replica %zu to %s in %s is in flight, and replica %zu may write",
                           i, path, world_name(trial->worlds[c]), writer);
        }
    }
}

static void check_writer(struct trial *trial, uint32_t shard, size_t writer) {
    for (size_t i = writer + 1; i < trial->plan.hosts; i++)
        if (trial->hosts[i].gates.count == trial->hosts[writer].gates.count && may_write(trial, i, shard))
            trial_fail(trial, "rule 11: replicas %zu and %zu may write for shard %u", writer, i, shard);
    check_in_flight(trial, shard, writer);
}

// A workload is in another shard then. Those that take their shards at once, before they see each other, find out.
static void check_numbers(struct trial *trial) {
    size_t number = 0;
    bool mixed = false;
    for (size_t i = 0; i < trial->plan.hosts && trial->plan.elects; i++) {
        size_t count = trial->hosts[i].gates.count;
        if (!writes(trial, i))
            continue;
        mixed |= number > 0 && number != count;
        number = count;
    }
    int64_t *mixed_ns = &trial->crew->mixed_ns;
    *mixed_ns = !mixed ? 0 : *mixed_ns ? *mixed_ns : trial->now_ns;
    if (mixed && trial->now_ns - *mixed_ns > LEASE_NS)
        trial_fail(trial, "rule 11: replicas with different numbers of shards write beside each other");
}

// A Lease that a restored or wiped management cluster has lost is taken at once by a process that never saw it, and by
// one that knows it from before, while the holder writes on to the end of its own. So may one that was stopped
// meanwhile: the version that it knows has come again.
static bool went_back(const struct trial *trial) {
    int64_t back_ns = trial->rules->back_ns[ENGINE_MANAGEMENT], last_ns = back_ns;
    for (size_t i = 0; i < trial->plan.hosts; i++)
        if (trial->crew->seats[i].stopped_ns <= back_ns)
            last_ns = clock_later(last_ns, trial->hosts[i].stopped_until_ns);
    return back_ns > 0 && trial->now_ns - last_ns < RENEW_NS;
}

void crew_check(struct trial *trial) {
    bool back = went_back(trial);
    for (uint32_t s = 0; s < TRIAL_SHARDS && trial->plan.elects && !back; s++)
        for (size_t i = 0; i < trial->plan.hosts; i++)
            if (may_write(trial, i, s))
                check_writer(trial, s, i);
    check_numbers(trial);
}

char *crew_missing(const struct trial *trial) {
    unsigned all = 0, shards = trial->crew->shards, least = shards, most = 0;
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        unsigned held = 0;
        for (uint32_t s = 0; s < shards && trial->plan.elects; s++)
            held += may_write(trial, i, s);
        all += held;
        least = held < least ? held : least;
        most = held > most ? held : most;
    }
    if (!trial->plan.elects || (all == shards && most <= least + 1))
        return NULL;
    return text_format("%u of %u shards are held, by one replica %u and by another one %u", all, shards, most, least);
}
