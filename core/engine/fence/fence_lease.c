// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/fence_lease.h"

#include "core/base/text.h"
#include "core/engine/shard/shard_hash.h"

#include <stdio.h>

#define PERIODS 8                       // of fenceAfter
#define ALLOWANCE_NS (5 * CLOCK_SECOND) // for requests in the worker
#define RETRY_NS (5 * CLOCK_SECOND)

int64_t fence_period_ns(int64_t after_ns) {
    return clock_later(after_ns / PERIODS, CLOCK_SECOND / 2);
}

int64_t fence_sure_ns(int64_t after_ns) {
    return 2 * after_ns + after_ns / 4 + ALLOWANCE_NS;
}

void fence_lease_init(struct fence_lease *lease, const struct fence_lease_options *options, struct moment now) {
    *lease = (struct fence_lease){
        .shards = options->shards, .after_ns = options->after_ns, .at_ns = now.mono_ns, .others_at = ""};
    text_copy(lease->origin, sizeof lease->origin, options->origin);
    snprintf(lease->guard, sizeof lease->guard, GUARD_LEASE "%s", options->origin);
    text_copy(lease->namespace_, sizeof lease->namespace_, options->namespace_);
    text_copy(lease->identity, sizeof lease->identity, options->identity);
    lease->sent_back_ns = now.mono_ns; // an earlier process may have renewed the Lease until now
}

void fence_lease_set_after(struct fence_lease *lease, int64_t after_ns) {
    if (after_ns > lease->after_ns) { // the engine must get the news before the next write
        lease->todo = 0;
        lease->creates = false;
    }
    lease->after_ns = after_ns;
}

void fence_lease_look(struct fence_lease *lease, struct moment now) {
    lease->at_ns = now.mono_ns;
}

void fence_lease_renew(struct fence_lease *lease, uint64_t shards, struct moment now) {
    uint64_t more = shards & ~lease->renews;
    if (lease->renews == shards)
        return;
    lease->renews = shards;
    if (lease->todo) // during a round
        lease->todo |= more;
    if (more || !shards)
        fence_lease_look(lease, now);
    if (more) // another process may have renewed the Leases until now
        lease->sent_back_ns = now.mono_ns;
}

void fence_lease_leave(struct fence_lease *lease, uint64_t shards, struct moment now) {
    if (!lease->leaves)
        lease->others_at = lease->others;
    if (!lease->leaves || (shards & ~lease->left & ~lease->leaving))
        fence_lease_look(lease, now);
    lease->leaves = true;
    lease->left &= shards;
    lease->leaving = shards & ~lease->left;
}

// Guards -------------------------------------------------------------------------------------------------------------

static struct fence_guard *find_guard(struct fence_lease *lease, const char *identity) {
    for (size_t i = 0; i < FENCE_GUARDS; i++)
        if (strcmp(lease->guards[i].identity, identity) == 0)
            return &lease->guards[i];
    return NULL;
}

// Replaces the guard with the oldest beat, first among guards that are missing in the Lease.
static struct fence_guard *add_guard(struct fence_lease *lease, const char *identity) {
    struct fence_guard *spare = lease->guards;
    for (size_t i = 1; i < FENCE_GUARDS; i++) {
        struct fence_guard *guard = &lease->guards[i];
        if (guard->listed != spare->listed ? spare->listed : guard->beat_ns < spare->beat_ns)
            spare = guard;
    }
    *spare = (struct fence_guard){0};
    text_copy(spare->identity, sizeof spare->identity, identity);
    return spare;
}

static void read_watched(struct fence_lease *lease, struct fence_guard *guard, struct guard_record *record) {
    struct guard_watched watched;
    guard->watched = guard->stopped = 0;
    guard->watches_others = false;
    while (guard_record_next(record, &watched)) {
        uint64_t bit = UINT64_C(1) << watched.part.shard;
        if (watched.part.count == lease->shards) {
            guard->watched |= bit;
            guard->stopped |= watched.stops ? bit : 0;
            continue;
        }
        guard->watches_others = true;
        fence_list_add(lease->others, watched.part);
    }
}

static void read_guard(struct fence_lease *lease, struct guard_record *record, bool known, struct moment now) {
    struct fence_guard *guard = find_guard(lease, record->identity);
    if ((guard && guard->listed) || known == !guard)
        return;
    if (!known)
        guard = add_guard(lease, record->identity);
    if (!known || guard->beat != record->beat)
        guard->beat_ns = now.mono_ns;
    guard->alive = guard->alive || (known && guard->beat != record->beat);
    guard->beat = record->beat;
    guard->after_ns = record->after_ns;
    guard->listed = true;
    read_watched(lease, guard, record);
}

// `object` is the Lease of the guards; NULL: none.
static void read_guards(struct fence_lease *lease, const struct json *object, struct moment now) {
    const struct json *first = json_first(json_path(object, "metadata", "annotations", NULL));
    struct guard_record record;
    for (size_t i = 0; i < FENCE_GUARDS; i++)
        lease->guards[i].listed = false;
    lease->others[0] = '\0';
    for (int known = 1; known >= 0; known--) // a new guard does not replace a known one
        for (const struct json *item = first; item; item = json_next(item))
            if (guard_record_read(item, &record))
                read_guard(lease, &record, known, now);
}

// The state of the guards, and the beats that the next writes send back.
static void fill_news(struct fence_lease *lease, struct moment now, struct fence_news *news) {
    int64_t after_ns = clock_later(lease->most_after_ns, lease->after_ns), newest_ns = 0;
    for (size_t i = 0; i < FENCE_GUARDS; i++) {
        const struct fence_guard *guard = &lease->guards[i];
        after_ns = clock_later(after_ns, guard->listed ? guard->after_ns : 0);
        newest_ns = clock_later(newest_ns, guard->listed ? guard->beat_ns : 0);
    }
    *news = (struct fence_news){0};
    int64_t recent_ns = after_ns / 2;
    for (size_t i = 0; i < FENCE_GUARDS; i++) {
        const struct fence_guard *guard = &lease->guards[i];
        if (!guard->listed || now.mono_ns - guard->beat_ns >= recent_ns)
            continue;
        // A guard stops mirrors of a shard without a Lease by the Leases of another number of shards.
        news->fencing |= guard->stopped | (guard->watches_others ? ~guard->watched : 0);
        news->guarded |= guard->alive ? guard->watched : 0;
        news->guards += guard->alive && guard->watched;
    }
    if (lease->renews) {
        lease->sent_back_ns = clock_later(lease->sent_back_ns, newest_ns);
        lease->most_after_ns = clock_later(lease->most_after_ns, lease->after_ns);
    }
    lease->closed = news->fencing;
    news->sure_ns = lease->sent_back_ns + fence_sure_ns(after_ns);
}

static void print_beats(const struct fence_lease *lease, char beats[FENCE_BEATS_MAX]) {
    size_t len = 0;
    beats[0] = '\0';
    for (size_t i = 0; i < FENCE_GUARDS; i++)
        if (lease->guards[i].listed)
            len += (size_t)snprintf(beats + len, FENCE_BEATS_MAX - len, "%s%s/%llu", len > 0 ? " " : "",
                                    lease->guards[i].identity, (unsigned long long)lease->guards[i].beat);
}

// Requests -----------------------------------------------------------------------------------------------------------

static bool use_shard(struct fence_lease *lease, uint64_t shards) {
    for (uint32_t i = 0; i < lease->shards; i++) {
        uint32_t shard = (lease->first + i) % lease->shards;
        if (!shard_is_in(shards, shard))
            continue;
        lease->part = (struct fence_part){shard, lease->shards};
        return true;
    }
    return false;
}

// The next Lease of another number of shards in the guards' records; false at the end.
static bool peek_other(const struct fence_lease *lease, struct fence_part *part, const char **rest) {
    *rest = lease->others_at;
    while (fence_list_next(rest, part))
        if (part->count != lease->shards)
            return true;
    return false;
}

// The next request, about `part`.
static enum fence_request choose_request(struct fence_lease *lease) {
    const char *rest = NULL;
    if (lease->leaves)
        return use_shard(lease, lease->leaving) || peek_other(lease, &lease->part, &rest) ? FENCE_RELEASE : FENCE_NONE;
    lease->todo &= lease->renews;
    if (lease->creates && shard_is_in(lease->todo, lease->part.shard))
        return FENCE_CREATE;
    lease->creates = false;
    return lease->todo && use_shard(lease, lease->todo) ? FENCE_RENEW : FENCE_READ;
}

uint32_t fence_lease_shard(const struct fence_lease *lease) {
    return lease->part.count == lease->shards ? lease->part.shard : 0;
}

static void print_body(struct fence_lease *lease, enum fence_request type, struct moment now) {
    char shard[FENCE_PART_MAX], beats[FENCE_BEATS_MAX], annotations[FENCE_BEATS_MAX + 128] = "";
    print_beats(lease, beats);
    fence_annotation_add(annotations, sizeof annotations, FENCE_BEAT, beats);
    fence_part_print(lease->part, shard);
    if (lease->part.count > 1)
        fence_annotation_add(annotations, sizeof annotations, FENCE_SHARD, shard);
    struct fence_body body = {.name = type == FENCE_CREATE ? lease->name : NULL,
                              .namespace_ = lease->namespace_,
                              .holder = type == FENCE_RELEASE ? "" : lease->identity,
                              .origin = lease->origin,
                              .annotations = annotations,
                              .after_ns = lease->after_ns,
                              .wall_ns = now.wall_ns};
    fence_body_print(&body, lease->body, sizeof lease->body);
}

enum fence_request fence_lease_next(struct fence_lease *lease, struct moment now, struct request *request,
                                    int64_t *at_ns) {
    *at_ns = lease->flies != FENCE_NONE ? CLOCK_NEVER : lease->at_ns;
    if (*at_ns > now.mono_ns)
        return FENCE_NONE;
    enum fence_request type = lease->flies = choose_request(lease);
    *at_ns = CLOCK_NEVER;
    if (type == FENCE_NONE)
        return type;
    fence_name_print(lease->origin, lease->part, lease->name);
    *request = (struct request){.resource = FENCE_RESOURCE,
                                .namespace_ = lease->namespace_,
                                .name = type == FENCE_READ ? lease->guard : lease->name,
                                .verb = type == FENCE_READ     ? VERB_GET
                                        : type == FENCE_CREATE ? VERB_CREATE
                                                               : VERB_MERGE_PATCH};
    if (type == FENCE_READ)
        return type;
    print_body(lease, type, now);
    request->body = lease->body;
    request->body_len = strlen(lease->body);
    return type;
}

// Answers ------------------------------------------------------------------------------------------------------------

static void wait_for_round(struct fence_lease *lease, int64_t in_ns, struct moment now) {
    lease->todo = 0;
    lease->creates = false;
    lease->at_ns = now.mono_ns + clock_earlier(in_ns, fence_period_ns(lease->after_ns));
}

static void wait_after_success(struct fence_lease *lease, struct moment now) {
    bool soon = lease->closed & (lease->renews ? lease->renews : ~UINT64_C(0));
    wait_for_round(lease, soon ? FENCE_SOON_NS : CLOCK_NEVER, now);
}

static void handle_failure(struct fence_lease *lease, const char *action, const struct response *response,
                           struct moment now) {
    snprintf(lease->problem, sizeof lease->problem, "cannot %s: %.120s", action, response->message);
    wait_for_round(lease, RETRY_NS, now);
}

static bool handle_read(struct fence_lease *lease, const struct response *response, struct moment now,
                        struct fence_news *news) {
    enum reason reason = response->reason;
    bool absent = reason == REASON_NOT_FOUND || reason == REASON_NAMESPACE_NOT_FOUND;
    bool denied = reason_is_refusal(reason);
    lease->problem[0] = '\0';
    if (reason != REASON_OK && !absent)
        handle_failure(lease, "read the guard's Lease", response, now);
    if (reason != REASON_OK && !absent && !denied)
        return false;
    read_guards(lease, reason == REASON_OK ? response->object->value : NULL, now);
    fill_news(lease, now, news);
    lease->todo = lease->renews;
    if (!lease->renews)
        wait_after_success(lease, now);
    return true;
}

// After a failure, the Lease expires.
static void handle_release(struct fence_lease *lease, enum reason reason, struct moment now) {
    struct fence_part part;
    const char *rest = NULL;
    if (reason != REASON_OK && reason != REASON_NOT_FOUND && reason != REASON_FORBIDDEN) {
        wait_for_round(lease, RETRY_NS, now);
    } else if (lease->part.count == lease->shards) {
        lease->leaving &= ~(UINT64_C(1) << lease->part.shard);
        lease->left |= UINT64_C(1) << lease->part.shard;
    } else if (peek_other(lease, &part, &rest)) {
        lease->others_at = rest;
    }
}

static void handle_write(struct fence_lease *lease, enum fence_request type, const struct response *response,
                         struct moment now) {
    enum reason reason = response->reason;
    lease->creates = type == FENCE_RENEW && reason == REASON_NOT_FOUND;
    if (lease->creates)
        return;
    lease->todo &= ~(UINT64_C(1) << lease->part.shard);
    lease->first = (lease->part.shard + 1) % lease->shards; // the next round begins here if this one ends early
    if (reason != REASON_OK)
        handle_failure(lease, "renew the Lease for the guard", response, now);
    else if (!lease->todo)
        wait_after_success(lease, now);
}

bool fence_lease_answer(struct fence_lease *lease, const struct response *response, struct moment now,
                        struct fence_news *news) {
    enum fence_request type = lease->flies;
    lease->flies = FENCE_NONE;
    if (!response) {
        wait_for_round(lease, RETRY_NS, now);
        return false;
    }
    if (type == FENCE_READ && !lease->leaves)
        return handle_read(lease, response, now, news);
    if (type == FENCE_RELEASE)
        handle_release(lease, response->reason, now);
    else if (type != FENCE_READ)
        handle_write(lease, type, response, now);
    if (lease->leaves && type != FENCE_RELEASE)
        fence_lease_look(lease, now);
    return false;
}
