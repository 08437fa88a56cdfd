// SPDX-License-Identifier: Apache-2.0
#include "core/host/lease/election.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/api/events.h"

#include <stdio.h>

// A shard that the replica gives up begins no more requests. With no request in flight, the gate closes and the replica
// releases the Lease. The first time ends the wait for an answer; until the second, a request without answer may still
// take effect.
#define DRAIN_NS (3 * CLOCK_SECOND)
#define LEAVE_NS CLOCK_SECOND
#define DRAIN_TICK_NS (20 * CLOCK_MS)
#define LEAVE_WAIT_NS CLOCK_SECOND      // for an answer that was call when the process began to leave
#define LEAVE_TRY_NS (2 * CLOCK_SECOND) // for one of a request that was sent since
#define LEAVE_LIST_NS (100 * CLOCK_MS)  // between two reads then
#define EVENT_AGAIN_NS (30 * CLOCK_MINUTE)
#define ALIVE_RENEWALS 2              // of another holder's Lease before the holder counts as a running host
#define REMOVE_NS (10 * CLOCK_MINUTE) // after that, the election deletes the Lease of a replica that ended

struct lease_call { // a request and its answer for the next tick
    uint64_t id;    // in flight; 0: none
    int64_t sent_ns;
    struct response response; // valid if
    bool answered;            // is set
};

struct lease_slot { // one Lease that this replica holds or tries to hold
    struct election *election;
    struct lease lease;
    struct lease_call call;
    int64_t reported_until_ns; // to the engine
    uint64_t reported_term;
    int64_t drains_ns;  // start of the release of the Lease; 0: the replica keeps the Lease
    uint32_t unknown;   // requests that ended without an answer,
    int64_t unknown_ns; // time of the last one, with the precision of ticks
};

struct election {
    struct election_options options;
    struct election_state state;
    char member_prefix[LEASE_NAME_MAX + 16], own_shards[12];
    struct client *client;
    struct recorder *recorder; // of Events about another host; NULL: no Events
    int64_t event_at_ns;       // time of the next one, while the other host is seen
    size_t n_slots;
    struct observed_leases observed;
    struct lease_call list;
    int64_t list_at_ns;
    uint64_t removal; // the deletion in flight; 0: none
    int64_t log_at_ns;
    bool listed, leaving, conflict_logged;
    int64_t leaves_ns;         // since when the process is leaving
    struct lease_slot slots[]; // of shards; the last one is this replica's own, see has_own
};

static bool has_members(const struct election *election) {
    return election->options.shards > 1;
}

static bool is_on(const struct election *election) {
    return election->options.mode == ELECTION_ON;
}

// A Lease that shows the others that this replica is live. Without election, a replica has one only beside another
// host, which holds the Lease of the origin and would not notice this one otherwise.
static bool has_own(const struct election *election) {
    return election->n_slots > election->options.shards;
}

// The time limit for answers to requests sent at `sent_ns`.
static int64_t deadline_ns(const struct election *election, int64_t sent_ns) {
    int64_t at_ns = sent_ns + clock_later(CLOCK_SECOND, election->options.renew_ns / 2);
    if (!election->leaving)
        return at_ns;
    return clock_earlier(at_ns,
                         sent_ns < election->leaves_ns ? election->leaves_ns + LEAVE_WAIT_NS : sent_ns + LEAVE_TRY_NS);
}

static void init_slot(struct election *election, size_t index) {
    const struct election_options *options = &election->options;
    struct lease_slot *slot = &election->slots[index];
    bool own = index == options->shards;
    char name[LEASE_NAME_MAX + LEASE_IDENTITY_MAX + 16], annotations[96];
    snprintf(annotations, sizeof annotations, "{\"" ELECTION_SHARDS "\":\"%u\"}", options->shards);
    if (own)
        snprintf(name, sizeof name, "%s%s", election->member_prefix, options->identity);
    else if (has_members(election))
        snprintf(name, sizeof name, "%s-%zu", election->options.name, index);
    else
        text_copy(name, sizeof name, election->options.name);
    slot->election = election;
    lease_init(&slot->lease, &(struct lease_options){.namespace_ = election->options.namespace_,
                                                     .name = name,
                                                     .identity = election->state.identity,
                                                     .label_key = ELECTION_LABEL,
                                                     .label_value = election->options.name,
                                                     .annotations = annotations,
                                                     .duration_ns = options->duration_ns,
                                                     .renew_ns = options->renew_ns,
                                                     .retry_ns = options->retry_ns,
                                                     .seed = options->seed * 31 + index});
}

struct error *election_new(const struct election_options *options, struct election **out) {
    *out = NULL;
    size_t n_slots = options->shards + (options->shards > 1 || options->mode != ELECTION_ON);
    struct election *election = calloc(1, sizeof *election + n_slots * sizeof election->slots[0]);
    if (!election)
        return error_no_memory();
    election->options = *options;
    election->n_slots = n_slots;
    election->state.mode = options->mode;
    election->state.shards = options->shards;
    text_copy(election->state.identity, sizeof election->state.identity, options->identity);
    snprintf(election->member_prefix, sizeof election->member_prefix, "%s-member-", election->options.name);
    snprintf(election->own_shards, sizeof election->own_shards, "%u", options->shards);
    struct client_options client = {.cluster = "management", .transport = options->transport};
    struct error *error = client_new(&client, &election->client);
    if (!error && options->controller_name)
        error = recorder_new(election->client, options->controller_name, options->identity, options->seed,
                             &election->recorder);
    if (error) {
        election_free(election);
        return error;
    }
    for (size_t i = 0; i < election->n_slots; i++)
        init_slot(election, i);
    *out = election;
    return NULL;
}

void election_free(struct election *election) {
    if (!election)
        return;
    recorder_free(election->recorder);
    client_free(election->client);
    for (size_t i = 0; i < election->n_slots; i++)
        response_clear(&election->slots[i].call.response);
    response_clear(&election->list.response);
    observed_leases_clear(&election->observed);
    free(election);
}

static struct gate *gate_of(const struct lease_slot *slot) {
    return gates_at(slot->election->options.gates, (size_t)(slot - slot->election->slots));
}

static void count_unknown(struct lease_slot *slot, struct moment now) {
    const struct gate *gate = gate_of(slot);
    uint32_t unknown = gate ? atomic_load(&gate->unknown) : 0;
    if (unknown != slot->unknown)
        slot->unknown_ns = now.mono_ns;
    slot->unknown = unknown;
}

static void set_draining(struct lease_slot *slot, int64_t since_ns) {
    struct gate *gate = gate_of(slot);
    slot->drains_ns = since_ns;
    if (gate)
        atomic_store(&gate->draining, since_ns > 0);
}

// True: all requests of a released shard have an answer.
static bool is_drained(const struct lease_slot *slot, struct moment now) {
    const struct gate *gate = gate_of(slot);
    return !gate || (atomic_load(&gate->in_flight) == 0 && atomic_load(&gate->unknown) == slot->unknown &&
                     (slot->unknown_ns == 0 || now.mono_ns >= slot->unknown_ns + DRAIN_NS + LEAVE_NS));
}

static void report_lease(struct election *election, struct lease_slot *slot) {
    int64_t until_ns = slot->drains_ns > 0 ? 0 : slot->lease.until_ns;
    uint64_t term = slot->lease.term;
    if (until_ns == slot->reported_until_ns && term == slot->reported_term)
        return;
    slot->reported_until_ns = until_ns;
    slot->reported_term = term;
    uint32_t shard = (uint32_t)(slot - election->slots);
    election->options.post(
        election->options.ctx,
        &(struct engine_event){.type = EVENT_LEASE, .cluster = ENGINE_MANAGEMENT, .lease = {shard, until_ns, term}});
}

// The gates first: the engine's requests after EVENT_LEASE must find the gates open.
static void publish(struct election *election, struct moment now) {
    struct gates *gates = election->options.gates;
    int64_t any_ns = 0;
    election->state.held = 0;
    for (uint32_t i = 0; i < election->options.shards; i++) {
        struct lease_slot *slot = &election->slots[i];
        bool closes = slot->drains_ns > 0 && (now.mono_ns >= slot->drains_ns + DRAIN_NS || is_drained(slot, now));
        int64_t until_ns = closes ? 0 : slot->lease.until_ns;
        if (gates)
            atomic_store(&gates->shards[i].until_ns, until_ns);
        any_ns = clock_later(any_ns, until_ns);
        election->state.held += now.mono_ns < until_ns;
    }
    if (!gates)
        return;
    atomic_store(&gates->any.until_ns, any_ns);
    for (uint32_t i = 0; i < election->options.shards; i++)
        report_lease(election, &election->slots[i]);
}

// The next live Lease that another replica or host holds; NULL at the end. *at begins at 0.
static const struct observed_lease *next_of_others(const struct election *election, size_t *at, struct moment now) {
    while (*at < election->observed.count) {
        const struct observed_lease *lease = &election->observed.list[(*at)++];
        if (observed_lease_is_live(lease, now) && strcmp(lease->record.holder, election->state.identity) != 0)
            return lease;
    }
    return NULL;
}

// A host that runs without election beside this one. With election, a standby replica writes nothing, replicas with
// several shards find a conflict instead (see is_in_conflict), and the Lease of the origin is this replica's own.
static const struct observed_lease *other_host(const struct election *election, struct moment now) {
    if (is_on(election) && (has_members(election) || election->state.held == 0))
        return NULL;
    const struct observed_lease *other;
    for (size_t at = 0; (other = next_of_others(election, &at, now));)
        if (other->renewals >= ALIVE_RENEWALS)
            return other;
    return NULL;
}

// On the Lease: `kubectl describe lease` and `kubectl get events` in its namespace show the Event.
static void record_other(struct election *election, const struct observed_lease *other, struct moment now) {
    if (!election->recorder || now.mono_ns < election->event_at_ns)
        return;
    election->event_at_ns = now.mono_ns + EVENT_AGAIN_NS;
    const struct observed_lease *lease = other; // the origin's Lease, where seen
    for (size_t i = 0; i < election->observed.count; i++)
        if (strcmp(election->observed.list[i].name, election->options.name) == 0)
            lease = &election->observed.list[i];
    AUTO_TEXT note =
        text_format("another host with this origin (%s) is running, and both write: stop one of them, give "
                    "it another origin, or enable leaderElection in both",
                    other->record.holder);
    if (note)
        recorder_event(election->recorder, now,
                       &(struct event){.api_version = "coordination.k8s.io/v1",
                                       .kind = "Lease",
                                       .namespace_ = election->options.namespace_,
                                       .name = lease->name,
                                       .uid = lease->uid,
                                       .warning = true,
                                       .reason = "AnotherHost",
                                       .action = "Observe",
                                       .note = note});
}

static void check_other(struct election *election, struct moment now) {
    const struct observed_lease *other = other_host(election, now);
    bool was = *election->state.other;
    text_copy(election->state.other, sizeof election->state.other, other ? other->record.holder : "");
    if (other && !was)
        log_fields(LOG_ERROR,
                   "another host with this origin is running, and both write: stop one of them, give it another "
                   "origin, or enable leaderElection in both",
                   {"lease", other->name}, {"namespace", election->options.namespace_},
                   {"holder", other->record.holder});
    if (other)
        record_other(election, other, now);
    else
        election->event_at_ns = 0;
    if (was && !other)
        log_fields(LOG_INFO, "the other host with this origin is no longer seen", {"lease", election->options.name});
}

// A replica with another number of shards is live: this replica acquires no Lease beside it.
static bool is_in_conflict(struct election *election, struct moment now) {
    const char *own = election->own_shards;
    const struct observed_lease *other = NULL;
    for (size_t at = 0; (other = next_of_others(election, &at, now)) && strcmp(other->shards, own) == 0;)
        continue;
    if (other && !election->conflict_logged)
        log_fields(LOG_ERROR,
                   "another replica divides the workloads into another number of shards: this one takes none until "
                   "that one has ended; shards must be the same in all replicas",
                   {"lease", other->name}, {"holder", other->record.holder}, {"shards", other->shards}, {"here", own});
    election->conflict_logged = other;
    if (other)
        snprintf(election->state.problem, sizeof election->state.problem,
                 "replica %.80s has shards: %s, found shards: %s here", other->record.holder, other->shards, own);
    return other;
}

// Both replicas acquired Leases before noticing each other. The one with more shards keeps its Leases.
static bool has_to_yield(const struct election *election, struct moment now) {
    const struct observed_lease *other;
    for (size_t at = 0; is_on(election) && (other = next_of_others(election, &at, now));)
        if (strtoul(other->shards, NULL, 10) > election->options.shards && !other->member)
            return true;
    return false;
}

// The order of the live replicas' names divides the shards; replicas that see each other agree.
static uint32_t fair_share(struct election *election, struct moment now, uint32_t *rank) {
    uint32_t members = 1, before = 0;
    const struct observed_lease *other;
    for (size_t at = 0; (other = next_of_others(election, &at, now));) {
        bool replica = other->member && strcmp(other->shards, election->own_shards) == 0;
        members += replica;
        before += replica && strcmp(other->record.holder, election->state.identity) < 0;
    }
    election->state.members = members;
    *rank = before;
    return election->options.shards / members + (before < election->options.shards % members);
}

static bool is_kept(const struct lease_slot *slot) {
    return slot->lease.mine && slot->drains_ns == 0;
}

static void hold_own(struct election *election, struct moment now) {
    struct lease *own = &election->slots[election->options.shards].lease;
    bool beside = election->listed && lease_is_others(&election->slots[0].lease, now);
    bool wanted = !election->leaving && (is_on(election) || beside);
    lease_want(own, wanted);
    if (!wanted && own->until_ns > 0)
        lease_release(own, now);
}

// Decides which Leases to acquire and which to release.
static void share_out(struct election *election, struct moment now) {
    uint32_t rank = 0, shards = election->options.shards, kept = 0;
    uint32_t share = has_members(election) ? fair_share(election, now, &rank) : 1;
    bool may = election->listed && !election->leaving && !(is_on(election) && is_in_conflict(election, now));
    bool yields = has_to_yield(election, now);
    share = yields ? 0 : share;
    for (uint32_t i = 0; i < shards; i++)
        kept += is_kept(&election->slots[i]) || (election->slots[i].call.id && !election->slots[i].lease.mine);
    for (uint32_t n = 0; n < shards; n++) { // replicas begin at different ones
        struct lease_slot *slot = &election->slots[(n + rank * share) % shards];
        if (is_kept(slot) && kept > share && (has_members(election) || yields)) {
            set_draining(slot, now.mono_ns);
            kept--;
            log_fields(LOG_INFO,
                       yields ? "a shard is given up: another replica has another number of shards"
                              : "a shard is given up: another replica has fewer",
                       {"lease", slot->lease.name});
        }
        if (slot->lease.mine || slot->call.id)
            continue;
        if (slot->drains_ns > 0)
            set_draining(slot, 0);
        bool wanted = may && kept < share;
        lease_want(&slot->lease, wanted);
        kept += wanted && !lease_is_others(&slot->lease, now);
    }
    if (has_own(election))
        hold_own(election, now);
}

static void give_back(struct election *election, struct moment now) {
    for (uint32_t i = 0; i < election->options.shards; i++) {
        struct lease_slot *slot = &election->slots[i];
        if (slot->drains_ns > 0 && slot->lease.mine && !slot->call.id && slot->lease.until_ns > 0 &&
            (now.mono_ns >= slot->drains_ns + DRAIN_NS + LEAVE_NS || is_drained(slot, now)))
            lease_release(&slot->lease, now);
    }
}

static void on_answer(void *ctx, struct response *response) {
    struct lease_call *call = ctx;
    call->response = *response;
    *response = (struct response){.retry_after_ns = -1};
    call->answered = true;
    call->id = 0;
}

// False: the request is still in flight, or there is none. *response: NULL if no answer came in time.
static bool lease_call_ended(struct election *election, struct lease_call *call, struct moment now,
                             const struct response **response) {
    bool late = call->id && now.mono_ns >= deadline_ns(election, call->sent_ns);
    if (late) {
        client_cancel(election->client, call->id);
        call->id = 0;
    }
    *response = late ? NULL : &call->response;
    return late || call->answered;
}

static void lease_call_clear(struct lease_call *call) {
    call->answered = false;
    response_clear(&call->response);
}

static void on_removed(void *ctx, struct response *response) {
    (void)response;
    ((struct election *)ctx)->removal = 0;
}

static void log_problem(struct election *election, const char *lease, const char *problem, struct moment now) {
    text_copy(election->state.problem, sizeof election->state.problem, problem);
    if (!*problem || now.mono_ns < election->log_at_ns)
        return;
    election->log_at_ns = now.mono_ns + (is_on(election) ? 1 : 60) * CLOCK_MINUTE;
    log_fields(is_on(election) ? LOG_WARN : LOG_INFO,
               is_on(election) ? "the Lease cannot be read or written"
                               : "another host with this origin would not be noticed: the Lease cannot be used",
               {"lease", lease}, {"namespace", election->options.namespace_}, {"error", problem});
}

static void log_change(const struct election *election, const struct lease_slot *slot, bool was) {
    bool is = slot->lease.mine;
    if (was == is || !is_on(election) || slot == &election->slots[election->options.shards])
        return;
    log_fields(LOG_INFO, is ? "lease acquired: this replica writes" : "lease lost or released",
               {"lease", slot->lease.name}, {"identity", election->state.identity},
               {"holder", is ? NULL : lease_holder(&slot->lease)});
}

static void handle_answers(struct election *election, struct moment now) {
    for (size_t i = 0; i < election->n_slots; i++) {
        struct lease_slot *slot = &election->slots[i];
        const struct response *response;
        if (!lease_call_ended(election, &slot->call, now, &response))
            continue;
        bool was = slot->lease.mine;
        lease_answer(&slot->lease, response, now);
        lease_call_clear(&slot->call);
        election->state.transitions += slot->lease.mine && !was && i < election->options.shards;
        log_change(election, slot, was);
        log_problem(election, slot->lease.name, slot->lease.problem, now);
    }
}

static const struct json *find_listed(const struct json *list, const char *name) {
    const struct json *item = json_first(json_get(list, "items"));
    while (item && strcmp(object_name(item), name) != 0)
        item = json_next(item);
    return item;
}

static void handle_list(struct election *election, struct moment now) {
    const struct response *response;
    if (!lease_call_ended(election, &election->list, now, &response))
        return;
    int64_t retry_ns = election->options.retry_ns;
    bool good = response && response->reason == REASON_OK && response->value;
    election->list_at_ns =
        now.mono_ns + (response && reason_is_refusal(response->reason) ? 5 * retry_ns : retry_ns / 2);
    if (good && observed_leases_update(&election->observed, response->value, election->member_prefix, now)) {
        election->listed = true;
        for (size_t i = 0; i < election->n_slots; i++) {
            struct lease_slot *slot = &election->slots[i];
            bool was = slot->lease.mine;
            lease_observe(&slot->lease, find_listed(response->value, slot->lease.name), election->list.sent_ns, now);
            log_change(election, slot, was);
        }
    }
    log_problem(election, election->options.name, !response ? "no answer in time" : good ? "" : response->message, now);
    lease_call_clear(&election->list);
}

// The release of a Lease needs its present version: another process changed the Lease, or a renewal got no answer.
static bool has_to_read(const struct election *election) {
    for (size_t i = 0; i < election->n_slots; i++)
        if (election->slots[i].lease.mine && !election->slots[i].lease.known && !election->slots[i].call.id)
            return true;
    return false;
}

static void send_list(struct election *election, struct moment now) {
    if (election->list.id || now.mono_ns < election->list_at_ns || (election->leaving && !has_to_read(election)))
        return;
    char path[1024];
    snprintf(path, sizeof path, "/apis/coordination.k8s.io/v1/namespaces/%s/leases?labelSelector=%s%%3D%s",
             election->options.namespace_, "wharf.dev%2Felection", election->options.name);
    struct request request = {.verb = VERB_RAW_GET, .resource = LEASE_RESOURCE, .namespace_ = "", .name = path};
    error_free(client_submit(election->client, &request, on_answer, &election->list, &election->list.id));
    election->list_at_ns = now.mono_ns + (election->leaving ? LEAVE_LIST_NS : election->options.retry_ns / 2);
    election->list.sent_ns = now.mono_ns;
}

// Deletes the Lease of a replica that ended long ago.
static void remove_old(struct election *election, struct moment now) {
    for (size_t i = 0; i < election->observed.count && !election->removal && election->state.held > 0; i++) {
        struct observed_lease *s = &election->observed.list[i];
        if (!s->member || observed_lease_is_live(s, now) || now.mono_ns < s->observed_ns + REMOVE_NS)
            continue;
        char body[128];
        snprintf(body, sizeof body, "{\"preconditions\":{\"uid\":\"%s\"}}", s->uid);
        struct request request = {.verb = VERB_DELETE,
                                  .resource = LEASE_RESOURCE,
                                  .namespace_ = election->options.namespace_,
                                  .name = s->name,
                                  .body = body,
                                  .body_len = strlen(body)};
        error_free(client_submit(election->client, &request, on_removed, election, &election->removal));
        s->observed_ns = now.mono_ns; // not again before the next list
    }
}

// Reads are lists, of all at once. Returns when something is due.
static int64_t send_requests(struct election *election, struct moment now) {
    send_list(election, now);
    int64_t next_ns = election->list.id ? deadline_ns(election, election->list.sent_ns)
                                        : clock_later(election->list_at_ns, now.mono_ns + CLOCK_MS);
    for (size_t i = 0; i < election->n_slots; i++) {
        struct lease_slot *slot = &election->slots[i];
        struct request request;
        int64_t at_ns = slot->call.id ? deadline_ns(election, slot->call.sent_ns) : CLOCK_NEVER;
        enum lease_request type = slot->call.id ? LEASE_NONE : lease_next(&slot->lease, now, &request, &at_ns);
        if (type == LEASE_NONE)
            next_ns = clock_earlier(next_ns, at_ns);
        if (type == LEASE_NONE || type == LEASE_GET)
            continue;
        struct error *error = client_submit(election->client, &request, on_answer, &slot->call, &slot->call.id);
        if (error) {
            error_free(error);
            continue;
        }
        slot->call.sent_ns = now.mono_ns;
        lease_sent(&slot->lease, type, now);
        next_ns = clock_earlier(next_ns, deadline_ns(election, now.mono_ns));
    }
    return next_ns;
}

int64_t election_tick(struct election *election, struct moment now) {
    for (uint32_t i = 0; i < election->options.shards; i++)
        count_unknown(&election->slots[i], now);
    handle_answers(election, now);
    handle_list(election, now);
    share_out(election, now);
    give_back(election, now);
    publish(election, now);
    check_other(election, now);
    text_copy(election->state.leader, sizeof election->state.leader,
              has_members(election) ? "" : lease_holder(&election->slots[0].lease));
    remove_old(election, now);
    int64_t next_ns = send_requests(election, now);
    for (uint32_t i = 0; i < election->options.shards; i++)
        if (election->slots[i].drains_ns > 0)
            next_ns = clock_earlier(next_ns, now.mono_ns + DRAIN_TICK_NS);
    if (election->recorder)
        next_ns = clock_earlier(next_ns, recorder_tick(election->recorder, now));
    return clock_earlier(next_ns, client_tick(election->client, now));
}

void election_leave(struct election *election, struct moment now) {
    if (election->leaving)
        return;
    election->leaving = true;
    election->leaves_ns = now.mono_ns;
    election->list_at_ns = now.mono_ns;
    if (election->list.id) // older than the writes that follow
        client_cancel(election->client, election->list.id);
    election->list.id = 0;
    for (size_t i = 0; i < election->n_slots; i++) {
        struct lease_slot *slot = &election->slots[i];
        count_unknown(slot, now);
        if (i < election->options.shards)
            set_draining(slot, clock_later(1, now.mono_ns - DRAIN_NS));
        if (i == election->options.shards || is_drained(slot, now))
            lease_release(&slot->lease, now); // else see give_back
    }
    publish(election, now);
}

bool election_has_left(const struct election *election) {
    bool left = election->leaving;
    for (size_t i = 0; i < election->n_slots; i++)
        left = left && !election->slots[i].lease.mine && !election->slots[i].call.id;
    return left;
}

const struct election_state *election_state(const struct election *election) {
    return &election->state;
}
