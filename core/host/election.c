// SPDX-License-Identifier: Apache-2.0
#include "core/host/election.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/sightings.h"
#include "core/kube/api/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A shard that is given up: nothing more is begun for it, and once nothing is in flight any more, its gate is closed
// and its Lease given back. What has no answer by the first time is waited for no longer; until the second, it may
// still take effect.
#define DRAIN_NS (3 * CLOCK_SECOND)
#define LEAVE_NS CLOCK_SECOND
#define DRAIN_TICK_NS (20 * CLOCK_MS)
#define LEAVE_WAIT_NS CLOCK_SECOND      // for an answer that was awaited when the process began to leave
#define LEAVE_TRY_NS (2 * CLOCK_SECOND) // for one of a request that was sent since
#define LEAVE_LIST_NS (100 * CLOCK_MS)  // between two reads then
#define EVENT_AGAIN_NS (30 * CLOCK_MINUTE)
#define ALIVE_RENEWALS 2              // of another holder's before it counts as a host that runs
#define REMOVE_NS (10 * CLOCK_MINUTE) // after that, the Lease of a replica that ended is deleted

struct seat { // one Lease that this replica holds, or would
    struct election *election;
    struct lease lease;
    uint64_t request; // in flight; 0: none
    int64_t sent_ns;
    struct response response; // not taken yet,
    bool answered;            // if this is set
    int64_t told_until_ns;    // to the engine
    uint64_t told_term;
    int64_t drains_ns;         // since when it is being given up; 0: it is not
    uint32_t unknown;          // requests that ended without an answer,
    int64_t unknown_ns;        // the last of them at this time, with the precision of ticks
    const struct json *listed; // in the list that is being taken
};

struct election {
    struct election_options options;
    struct election_state state;
    char namespace_[64], name[LEASE_NAME_MAX], member_prefix[LEASE_NAME_MAX + 16], own_shards[12];
    struct client *client;
    struct recorder *recorder; // of Events about another host; NULL: none are written
    int64_t event_at_ns;       // the next one, while it is seen
    struct seat *seats;        // of shards; the last one is this replica's own, see has_own
    size_t n_seats;
    struct sightings sightings;
    uint64_t list; // the request in flight; 0: none
    int64_t list_sent_ns, list_at_ns;
    struct response listing; // not taken yet,
    bool list_answered;      // if this is set
    uint64_t removal;        // the deletion in flight; 0: none
    int64_t log_at_ns;
    bool listed, leaving, conflict_told;
    int64_t leaves_ns; // since when it is leaving
};

static bool has_members(const struct election *election) {
    return election->options.shards > 1;
}

static bool is_on(const struct election *election) {
    return election->options.mode == ELECTION_ON;
}

// A Lease by which the others know that this one lives. Without election, it is held only beside another host, which
// would not notice otherwise: that one holds the Lease of the origin.
static bool has_own(const struct election *election) {
    return has_members(election) || !is_on(election);
}

// When no answer to a request that was sent then is waited for any longer.
static int64_t deadline_ns(const struct election *election, int64_t sent_ns) {
    int64_t at_ns = sent_ns + clock_later(CLOCK_SECOND, election->options.renew_ns / 2);
    if (!election->leaving)
        return at_ns;
    return clock_earlier(at_ns,
                         sent_ns < election->leaves_ns ? election->leaves_ns + LEAVE_WAIT_NS : sent_ns + LEAVE_TRY_NS);
}

static void init_seat(struct election *election, size_t index) {
    const struct election_options *options = &election->options;
    struct seat *seat = &election->seats[index];
    bool own = index == options->shards;
    char name[LEASE_NAME_MAX + LEASE_IDENTITY_MAX + 16], annotations[96];
    snprintf(annotations, sizeof annotations, "{\"" ELECTION_SHARDS "\":\"%u\"}", options->shards);
    if (own)
        snprintf(name, sizeof name, "%s%s", election->member_prefix, options->identity);
    else if (has_members(election))
        snprintf(name, sizeof name, "%s-%zu", election->name, index);
    else
        text_copy(name, sizeof name, election->name);
    seat->election = election;
    lease_init(&seat->lease, &(struct lease_options){.namespace_ = election->namespace_,
                                                     .name = name,
                                                     .identity = election->state.identity,
                                                     .label_key = ELECTION_LABEL,
                                                     .label_value = election->name,
                                                     .annotations = annotations,
                                                     .duration_ns = options->duration_ns,
                                                     .renew_ns = options->renew_ns,
                                                     .retry_ns = options->retry_ns,
                                                     .seed = options->seed * 31 + index});
}

struct error *election_new(const struct election_options *options, struct election **out) {
    *out = NULL;
    struct election *election = calloc(1, sizeof *election);
    if (!election)
        return error_no_memory();
    election->options = *options;
    election->state.mode = options->mode;
    election->state.shards = options->shards;
    text_copy(election->state.identity, sizeof election->state.identity, options->identity);
    text_copy(election->namespace_, sizeof election->namespace_, options->namespace_);
    text_copy(election->name, sizeof election->name, options->name);
    snprintf(election->member_prefix, sizeof election->member_prefix, "%s-member-", election->name);
    snprintf(election->own_shards, sizeof election->own_shards, "%u", options->shards);
    election->n_seats = options->shards + has_own(election);
    election->seats = calloc(election->n_seats, sizeof *election->seats);
    struct client_options client = {.cluster = "management", .transport = options->transport};
    struct error *error = election->seats ? client_new(&client, &election->client) : error_no_memory();
    if (!error && options->controller_name)
        error = recorder_new(election->client, options->controller_name, options->identity, options->seed,
                             &election->recorder);
    if (error) {
        election_free(election);
        return error;
    }
    for (size_t i = 0; i < election->n_seats; i++)
        init_seat(election, i);
    *out = election;
    return NULL;
}

void election_free(struct election *election) {
    if (!election)
        return;
    recorder_free(election->recorder);
    client_free(election->client);
    for (size_t i = 0; election->seats && i < election->n_seats; i++)
        response_clear(&election->seats[i].response);
    response_clear(&election->listing);
    sightings_clear(&election->sightings);
    free(election->seats);
    free(election);
}

static struct gate *gate_of(const struct seat *seat) {
    return gates_at(seat->election->options.gates, (size_t)(seat - seat->election->seats));
}

static void note_unknown(struct seat *seat, struct moment now) {
    const struct gate *gate = gate_of(seat);
    uint32_t unknown = gate ? atomic_load(&gate->unknown) : 0;
    if (unknown != seat->unknown)
        seat->unknown_ns = now.mono_ns;
    seat->unknown = unknown;
}

static void drain(struct seat *seat, int64_t since_ns) {
    struct gate *gate = gate_of(seat);
    seat->drains_ns = since_ns;
    if (gate)
        atomic_store(&gate->draining, since_ns > 0);
}

// Of a shard that is given up: all its requests have been answered.
static bool is_done(const struct seat *seat, struct moment now) {
    const struct gate *gate = gate_of(seat);
    return !gate || (atomic_load(&gate->in_flight) == 0 && atomic_load(&gate->unknown) == seat->unknown &&
                     (seat->unknown_ns == 0 || now.mono_ns >= seat->unknown_ns + DRAIN_NS + LEAVE_NS));
}

static bool gate_closes(const struct seat *seat, struct moment now) {
    return seat->drains_ns > 0 && (now.mono_ns >= seat->drains_ns + DRAIN_NS || is_done(seat, now));
}

static void tell(struct election *election, struct seat *seat, int64_t until_ns) {
    uint64_t term = lease_term(&seat->lease);
    if (until_ns == seat->told_until_ns && term == seat->told_term)
        return;
    seat->told_until_ns = until_ns;
    seat->told_term = term;
    uint32_t shard = (uint32_t)(seat - election->seats);
    election->options.post(
        election->options.ctx,
        &(struct engine_event){.type = EVENT_LEASE, .cluster = ENGINE_MANAGEMENT, .lease = {shard, until_ns, term}});
}

// The gates first: what the engine sends when it is told must not find them closed.
static void publish(struct election *election, struct moment now) {
    struct gates *gates = election->options.gates;
    int64_t any_ns = 0;
    election->state.held = 0;
    for (uint32_t i = 0; i < election->options.shards; i++) {
        struct seat *seat = &election->seats[i];
        int64_t until_ns = gate_closes(seat, now) ? 0 : lease_until_ns(&seat->lease);
        if (gates)
            atomic_store(&gates->shards[i].until_ns, until_ns);
        any_ns = clock_later(any_ns, until_ns);
        election->state.held += now.mono_ns < until_ns;
    }
    if (!gates)
        return;
    atomic_store(&gates->any.until_ns, any_ns);
    for (uint32_t i = 0; i < election->options.shards; i++)
        tell(election, &election->seats[i],
             election->seats[i].drains_ns > 0 ? 0 : lease_until_ns(&election->seats[i].lease));
}

// A host that runs without election beside this one. With election, one that stands by writes nothing, several shards
// find a conflict instead (see is_in_conflict), and the Lease of the origin is this one's own.
static const struct sighting *other_host(const struct election *election, struct moment now) {
    bool quiet = is_on(election) && (has_members(election) || election->state.held == 0);
    for (size_t i = 0; i < election->sightings.count && !quiet; i++) {
        const struct sighting *s = &election->sightings.list[i];
        if (s->renewals >= ALIVE_RENEWALS && sighting_lives(s, now) && strcmp(s->holder, election->state.identity) != 0)
            return s;
    }
    return NULL;
}

// On the Lease: `kubectl describe lease` and `kubectl get events` in its namespace show it.
static void tell_other(struct election *election, const struct sighting *other, struct moment now) {
    if (!election->recorder || now.mono_ns < election->event_at_ns)
        return;
    election->event_at_ns = now.mono_ns + EVENT_AGAIN_NS;
    const struct sighting *lease = other; // the origin's, where it is seen
    for (size_t i = 0; i < election->sightings.count; i++)
        if (strcmp(election->sightings.list[i].name, election->name) == 0)
            lease = &election->sightings.list[i];
    AUTO_TEXT note =
        text_format("another host with this origin (%s) is running, and both write: stop one of them, give "
                    "it another origin, or enable leaderElection in both",
                    other->holder);
    if (note)
        recorder_event(election->recorder, now,
                       &(struct event){.api_version = "coordination.k8s.io/v1",
                                       .kind = "Lease",
                                       .namespace_ = election->namespace_,
                                       .name = lease->name,
                                       .uid = lease->uid,
                                       .warning = true,
                                       .reason = "AnotherHost",
                                       .action = "Observe",
                                       .note = note});
}

static void notice_other(struct election *election, struct moment now) {
    const struct sighting *other = other_host(election, now);
    bool was = *election->state.other;
    text_copy(election->state.other, sizeof election->state.other, other ? other->holder : "");
    if (other && !was)
        log_fields(LOG_ERROR,
                   "another host with this origin is running, and both write: stop one of them, give it another "
                   "origin, or enable leaderElection in both",
                   {"lease", other->name}, {"namespace", election->namespace_}, {"holder", other->holder});
    if (other)
        tell_other(election, other, now);
    else
        election->event_at_ns = 0;
    if (was && !other)
        log_fields(LOG_INFO, "the other host with this origin is no longer seen", {"lease", election->name});
}

// A replica that divides the workloads into another number of shards lives: nothing is taken beside it.
static bool is_in_conflict(struct election *election, struct moment now) {
    const char *own = election->own_shards;
    const struct sighting *other = NULL;
    for (size_t i = 0; i < election->sightings.count && !other; i++) {
        const struct sighting *s = &election->sightings.list[i];
        if (sighting_lives(s, now) && strcmp(s->shards, own) != 0 && strcmp(s->holder, election->state.identity) != 0)
            other = s;
    }
    if (other && !election->conflict_told)
        log_fields(LOG_ERROR,
                   "another replica divides the workloads into another number of shards: this one takes none until "
                   "that one has ended; shards must be the same in all replicas",
                   {"lease", other->name}, {"holder", other->holder}, {"shards", other->shards}, {"here", own});
    election->conflict_told = other;
    if (other)
        snprintf(election->state.problem, sizeof election->state.problem,
                 "replica %.80s has shards: %s, found shards: %s here", other->holder, other->shards, own);
    return other;
}

// Both took what they hold before they saw each other. One of them goes on: the one with more shards.
static bool has_to_yield(const struct election *election, struct moment now) {
    for (size_t i = 0; i < election->sightings.count && is_on(election); i++) {
        const struct sighting *s = &election->sightings.list[i];
        if (s->n_shards > election->options.shards && !s->member && sighting_lives(s, now) &&
            strcmp(s->holder, election->state.identity) != 0)
            return true;
    }
    return false;
}

// Shards are shared out by the order of the live replicas' names; replicas that see each other agree.
static uint32_t fair_share(struct election *election, struct moment now, uint32_t *rank) {
    uint32_t members = 1, before = 0;
    for (size_t i = 0; i < election->sightings.count; i++) {
        const struct sighting *s = &election->sightings.list[i];
        bool replica = s->member && strcmp(s->shards, election->own_shards) == 0;
        if (!replica || !sighting_lives(s, now) || strcmp(s->holder, election->state.identity) == 0)
            continue;
        members++;
        before += strcmp(s->holder, election->state.identity) < 0;
    }
    election->state.members = members;
    *rank = before;
    return election->options.shards / members + (before < election->options.shards % members);
}

static bool is_kept(const struct seat *seat) {
    return lease_is_mine(&seat->lease) && seat->drains_ns == 0;
}

static void hold_own(struct election *election, struct moment now) {
    struct lease *own = &election->seats[election->options.shards].lease;
    bool beside = election->listed && lease_is_others(&election->seats[0].lease, now);
    bool wanted = !election->leaving && (is_on(election) || beside);
    lease_want(own, wanted);
    if (!wanted && lease_until_ns(own) > 0)
        lease_release(own, now);
}

// Which Leases are wanted, and which are given up.
static void share_out(struct election *election, struct moment now) {
    uint32_t rank = 0, shards = election->options.shards, kept = 0;
    uint32_t share = has_members(election) ? fair_share(election, now, &rank) : 1;
    bool may = election->listed && !election->leaving && !(is_on(election) && is_in_conflict(election, now));
    bool yields = has_to_yield(election, now);
    share = yields ? 0 : share;
    for (uint32_t i = 0; i < shards; i++)
        kept +=
            is_kept(&election->seats[i]) || (election->seats[i].request && !lease_is_mine(&election->seats[i].lease));
    for (uint32_t n = 0; n < shards; n++) { // replicas begin at different ones
        struct seat *seat = &election->seats[(n + rank * share) % shards];
        if (is_kept(seat) && kept > share && (has_members(election) || yields)) {
            drain(seat, now.mono_ns);
            kept--;
            log_fields(LOG_INFO,
                       yields ? "a shard is given up: another replica has another number of shards"
                              : "a shard is given up: another replica has fewer",
                       {"lease", seat->lease.name});
        }
        if (lease_is_mine(&seat->lease) || seat->request)
            continue;
        if (seat->drains_ns > 0)
            drain(seat, 0);
        bool wanted = may && kept < share;
        lease_want(&seat->lease, wanted);
        kept += wanted && !lease_is_others(&seat->lease, now);
    }
    if (has_own(election))
        hold_own(election, now);
}

static void give_back(struct election *election, struct moment now) {
    for (uint32_t i = 0; i < election->options.shards; i++) {
        struct seat *seat = &election->seats[i];
        if (seat->drains_ns > 0 && lease_is_mine(&seat->lease) && !seat->request && lease_until_ns(&seat->lease) > 0 &&
            (now.mono_ns >= seat->drains_ns + DRAIN_NS + LEAVE_NS || is_done(seat, now)))
            lease_release(&seat->lease, now);
    }
}

static void on_answer(void *ctx, struct response *response) {
    struct seat *seat = ctx;
    seat->response = *response;
    *response = (struct response){.retry_after_ns = -1};
    seat->answered = true;
    seat->request = 0;
}

static void on_list(void *ctx, struct response *response) {
    struct election *election = ctx;
    election->listing = *response;
    *response = (struct response){.retry_after_ns = -1};
    election->list_answered = true;
    election->list = 0;
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
               {"lease", lease}, {"namespace", election->namespace_}, {"error", problem});
}

static void log_change(const struct election *election, const struct seat *seat, bool was, bool is) {
    if (was == is || !is_on(election) || seat == &election->seats[election->options.shards])
        return;
    log_fields(LOG_INFO, is ? "the lease is taken: this replica writes" : "the lease is no longer held",
               {"lease", seat->lease.name}, {"identity", election->state.identity},
               {"holder", is ? NULL : lease_holder(&seat->lease)});
}

static void take_answers(struct election *election, struct moment now) {
    for (size_t i = 0; i < election->n_seats; i++) {
        struct seat *seat = &election->seats[i];
        bool late = seat->request && now.mono_ns >= deadline_ns(election, seat->sent_ns);
        if (late) {
            client_cancel(election->client, seat->request);
            seat->request = 0;
        }
        if (!late && !seat->answered)
            continue;
        bool was = lease_is_mine(&seat->lease);
        lease_answer(&seat->lease, late ? NULL : &seat->response, now);
        bool is = lease_is_mine(&seat->lease);
        seat->answered = false;
        response_clear(&seat->response);
        seat->response = (struct response){.retry_after_ns = -1};
        election->state.transitions += is && !was && i < election->options.shards;
        log_change(election, seat, was, is);
        log_problem(election, seat->lease.name, lease_problem(&seat->lease), now);
    }
}

static void find_listed(struct election *election, const struct json *list) {
    for (size_t i = 0; i < election->n_seats; i++)
        election->seats[i].listed = NULL;
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item)) {
        const char *name = object_name(item);
        for (size_t i = 0; i < election->n_seats; i++)
            if (!election->seats[i].listed && strcmp(name, election->seats[i].lease.name) == 0)
                election->seats[i].listed = item;
    }
}

static void take_list(struct election *election, struct moment now) {
    bool late = election->list && now.mono_ns >= deadline_ns(election, election->list_sent_ns);
    if (late) {
        client_cancel(election->client, election->list);
        election->list = 0;
    }
    if (!late && !election->list_answered)
        return;
    const struct response *response = &election->listing;
    bool good = !late && response->reason == REASON_OK && response->value;
    bool permanent = !late && reason_is_refusal(response->reason);
    election->list_at_ns = now.mono_ns + (permanent ? 5 * election->options.retry_ns : election->options.retry_ns / 2);
    if (good && sightings_take(&election->sightings, response->value, election->member_prefix, now)) {
        election->listed = true;
        find_listed(election, response->value);
        for (size_t i = 0; i < election->n_seats; i++) {
            struct seat *seat = &election->seats[i];
            bool was = lease_is_mine(&seat->lease);
            lease_observe(&seat->lease, seat->listed, election->list_sent_ns, now);
            log_change(election, seat, was, lease_is_mine(&seat->lease));
        }
    }
    log_problem(election, election->name, late ? "no answer in time" : good ? "" : response->message, now);
    election->list_answered = false;
    response_clear(&election->listing);
    election->listing = (struct response){.retry_after_ns = -1};
}

// To give back what it holds it needs to know the Lease as it is: somebody has changed it, or the answer to a renewal
// did not come.
static bool has_to_read(const struct election *election) {
    for (size_t i = 0; i < election->n_seats; i++)
        if (lease_is_mine(&election->seats[i].lease) && !election->seats[i].lease.known && !election->seats[i].request)
            return true;
    return false;
}

static void send_list(struct election *election, struct moment now) {
    if (election->list || now.mono_ns < election->list_at_ns || (election->leaving && !has_to_read(election)))
        return;
    char path[1024];
    snprintf(path, sizeof path, "/apis/coordination.k8s.io/v1/namespaces/%s/leases?labelSelector=%s%%3D%s",
             election->namespace_, "wharf.dev%2Felection", election->name);
    struct request request = {.verb = VERB_RAW_GET, .resource = LEASE_RESOURCE, .namespace_ = "", .name = path};
    struct error *error = client_submit(election->client, &request, on_list, election, &election->list);
    error_free(error);
    election->list_at_ns = now.mono_ns + (election->leaving ? LEAVE_LIST_NS : election->options.retry_ns / 2);
    election->list_sent_ns = now.mono_ns;
}

// Of a replica that ended long ago.
static void remove_old(struct election *election, struct moment now) {
    for (size_t i = 0; i < election->sightings.count && !election->removal && election->state.held > 0; i++) {
        const struct sighting *s = &election->sightings.list[i];
        if (!s->member || sighting_lives(s, now) || now.mono_ns < s->observed_ns + REMOVE_NS)
            continue;
        char body[128];
        snprintf(body, sizeof body, "{\"preconditions\":{\"uid\":\"%s\"}}", s->uid);
        struct request request = {.verb = VERB_DELETE,
                                  .resource = LEASE_RESOURCE,
                                  .namespace_ = election->namespace_,
                                  .name = s->name,
                                  .body = body,
                                  .body_len = strlen(body)};
        error_free(client_submit(election->client, &request, on_removed, election, &election->removal));
        election->sightings.list[i].observed_ns = now.mono_ns; // not again before it is listed once more
    }
}

// Reads are lists, of all at once. Returns when something is due.
static int64_t send_requests(struct election *election, struct moment now) {
    send_list(election, now);
    int64_t next_ns = election->list ? deadline_ns(election, election->list_sent_ns)
                                     : clock_later(election->list_at_ns, now.mono_ns + CLOCK_MS);
    for (size_t i = 0; i < election->n_seats; i++) {
        struct seat *seat = &election->seats[i];
        struct request request;
        int64_t at_ns = CLOCK_NEVER;
        enum lease_request type = seat->request ? LEASE_NONE : lease_next(&seat->lease, now, &request, &at_ns);
        if (seat->request)
            at_ns = deadline_ns(election, seat->sent_ns);
        if (type == LEASE_NONE)
            next_ns = clock_earlier(next_ns, at_ns);
        if (type == LEASE_NONE || type == LEASE_GET)
            continue;
        struct error *error = client_submit(election->client, &request, on_answer, seat, &seat->request);
        if (error) {
            error_free(error);
            continue;
        }
        seat->sent_ns = now.mono_ns;
        lease_sent(&seat->lease, type, now);
        next_ns = clock_earlier(next_ns, deadline_ns(election, now.mono_ns));
    }
    return next_ns;
}

static void name_leader(struct election *election) {
    const struct lease *lease = &election->seats[0].lease;
    text_copy(election->state.leader, sizeof election->state.leader, has_members(election) ? "" : lease_holder(lease));
}

int64_t election_tick(struct election *election, struct moment now) {
    for (uint32_t i = 0; i < election->options.shards; i++)
        note_unknown(&election->seats[i], now);
    take_answers(election, now);
    take_list(election, now);
    share_out(election, now);
    give_back(election, now);
    publish(election, now);
    notice_other(election, now);
    name_leader(election);
    remove_old(election, now);
    int64_t next_ns = send_requests(election, now);
    for (uint32_t i = 0; i < election->options.shards; i++)
        if (election->seats[i].drains_ns > 0)
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
    if (election->list) // older than what is about to be written
        client_cancel(election->client, election->list);
    election->list = 0;
    for (size_t i = 0; i < election->n_seats; i++) {
        struct seat *seat = &election->seats[i];
        note_unknown(seat, now);
        if (i < election->options.shards)
            drain(seat, clock_later(1, now.mono_ns - DRAIN_NS));
        if (i == election->options.shards || is_done(seat, now))
            lease_release(&seat->lease, now); // else see give_back
    }
    publish(election, now);
}

bool election_has_left(const struct election *election) {
    bool left = election->leaving;
    for (size_t i = 0; i < election->n_seats; i++)
        left = left && !lease_is_mine(&election->seats[i].lease) && !election->seats[i].request;
    return left;
}

const struct election_state *election_state(const struct election *election) {
    return &election->state;
}
