// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/fence_lease.h"

#include "core/base/text.h"
#include "core/engine/shard/shard_hash.h"

#include <stdio.h>
#include <string.h>

#define PERIODS 8                       // of fenceAfter
#define ALLOWANCE_NS (5 * CLOCK_SECOND) // for requests in the worker
#define RETRY_NS (5 * CLOCK_SECOND)

static const struct resource leases = {.group = "coordination.k8s.io", .version = "v1", .plural = "leases"};

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
    lease->sent_back_ns = now.mono_ns; // an earlier process may have renewed it until now
}

void fence_lease_set_after(struct fence_lease *lease, int64_t after_ns) {
    if (after_ns > lease->after_ns) { // not written before the news say so
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
    if (lease->todo) // a round is under way
        lease->todo |= more;
    if (more || !shards)
        fence_lease_look(lease, now);
    if (more) // another process may have renewed them until now
        lease->sent_back_ns = now.mono_ns;
}

void fence_lease_leave(struct fence_lease *lease, uint64_t shards, struct moment now) {
    if (!lease->leaves)
        lease->others_at = lease->guards.others;
    if (!lease->leaves || (shards & ~lease->left & ~lease->leaving))
        fence_lease_look(lease, now);
    lease->leaves = true;
    lease->left &= shards;
    lease->leaving = shards & ~lease->left;
}

static bool take_shard(struct fence_lease *lease, uint64_t shards) {
    for (uint32_t i = 0; i < lease->shards; i++) {
        uint32_t shard = (lease->first + i) % lease->shards;
        if (!shard_is_in(shards, shard))
            continue;
        lease->part = (struct fence_part){shard, lease->shards};
        return true;
    }
    return false;
}

// A Lease of another number of shards, as the guard's Lease names it; false: none is left.
static bool peek_other(const struct fence_lease *lease, struct fence_part *part, const char **rest) {
    *rest = lease->others_at;
    while (fence_list_next(rest, part))
        if (part->count != lease->shards)
            return true;
    return false;
}

// What is to be sent next, about `part`.
static enum fence_request choose(struct fence_lease *lease) {
    const char *rest = NULL;
    if (lease->leaves)
        return take_shard(lease, lease->leaving) || peek_other(lease, &lease->part, &rest) ? FENCE_RELEASE : FENCE_NONE;
    lease->todo &= lease->renews;
    if (lease->creates && shard_is_in(lease->todo, lease->part.shard))
        return FENCE_CREATE;
    lease->creates = false;
    return lease->todo && take_shard(lease, lease->todo) ? FENCE_RENEW : FENCE_READ;
}

bool fence_lease_has_left(const struct fence_lease *lease) {
    struct fence_part part;
    const char *rest = NULL;
    return lease->leaves && lease->left && !lease->leaving && !peek_other(lease, &part, &rest);
}

uint32_t fence_lease_shard(const struct fence_lease *lease) {
    return lease->part.count == lease->shards ? lease->part.shard : 0;
}

static void print(struct fence_lease *lease, enum fence_request type, struct moment now) {
    bool create = type == FENCE_CREATE, release = type == FENCE_RELEASE;
    char shard[FENCE_PART_MAX], beats[FENCE_BEATS_MAX], annotations[FENCE_BEATS_MAX + 128] = "";
    fence_guards_print(&lease->guards, beats);
    fence_annotation_add(annotations, sizeof annotations, FENCE_BEAT, beats);
    fence_part_print(lease->part, shard);
    if (lease->part.count > 1)
        fence_annotation_add(annotations, sizeof annotations, FENCE_SHARD, shard);
    struct fence_body body = {.name = create ? lease->name : NULL,
                              .namespace_ = lease->namespace_,
                              .holder = release ? "" : lease->identity,
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
    enum fence_request type = choose(lease);
    if (type == FENCE_NONE) {
        *at_ns = CLOCK_NEVER;
        return FENCE_NONE;
    }
    fence_name_print(lease->origin, lease->part, lease->name);
    *request = (struct request){.resource = leases,
                                .namespace_ = lease->namespace_,
                                .name = type == FENCE_READ ? lease->guard : lease->name,
                                .verb = type == FENCE_READ     ? VERB_GET
                                        : type == FENCE_CREATE ? VERB_CREATE
                                                               : VERB_MERGE_PATCH};
    if (type == FENCE_READ)
        return type;
    print(lease, type, now);
    request->body = lease->body;
    request->body_len = strlen(lease->body);
    return type;
}

void fence_lease_sent(struct fence_lease *lease, enum fence_request type) {
    lease->flies = type;
}

static int64_t most_ns(const struct fence_lease *lease) {
    int64_t after_ns = clock_later(lease->most_after_ns, lease->after_ns);
    return clock_later(after_ns, fence_guards_after_ns(&lease->guards));
}

static void next_round(struct fence_lease *lease, int64_t in_ns, struct moment now) {
    lease->todo = 0;
    lease->creates = false;
    lease->at_ns = now.mono_ns + clock_earlier(in_ns, fence_period_ns(lease->after_ns));
}

static void fail(struct fence_lease *lease, const char *what, const struct response *response, struct moment now) {
    snprintf(lease->problem, sizeof lease->problem, "cannot %s: %.120s", what, response->message);
    next_round(lease, RETRY_NS, now);
}

// What was read, and what is about to be sent back.
static void fill(struct fence_lease *lease, struct moment now, struct fence_news *news) {
    struct fence_view view = fence_guards_view(&lease->guards, most_ns(lease) / 2, now);
    if (lease->renews) {
        lease->sent_back_ns = clock_later(lease->sent_back_ns, fence_guards_newest_ns(&lease->guards));
        lease->most_after_ns = clock_later(lease->most_after_ns, lease->after_ns);
    }
    lease->closed = view.closed;
    *news = (struct fence_news){.guards = view.alive,
                                .guarded = view.guarded,
                                .fencing = view.closed,
                                .sure_ns = lease->sent_back_ns + fence_sure_ns(most_ns(lease))};
}

static int64_t pause_ns(const struct fence_lease *lease) {
    return lease->closed & (lease->renews ? lease->renews : ~UINT64_C(0)) ? FENCE_SOON_NS : CLOCK_NEVER;
}

static bool take_read(struct fence_lease *lease, const struct response *response, struct moment now,
                      struct fence_news *news) {
    enum reason reason = response->reason;
    bool absent = reason == REASON_NOT_FOUND || reason == REASON_NAMESPACE_NOT_FOUND;
    bool denied = reason_is_refusal(reason);
    if (reason != REASON_OK && !absent && !denied) {
        fail(lease, "read the guard's Lease", response, now);
        return false;
    }
    fence_guards_read(&lease->guards, reason == REASON_OK ? response->object->value : NULL, lease->shards, now);
    if (denied)
        fail(lease, "read the guard's Lease", response, now);
    else
        lease->problem[0] = '\0';
    fill(lease, now, news);
    lease->todo = lease->renews;
    if (!lease->renews)
        next_round(lease, pause_ns(lease), now);
    return true;
}

// If it fails, it expires.
static void take_release(struct fence_lease *lease, enum reason reason, struct moment now) {
    bool done = reason == REASON_OK || reason == REASON_NOT_FOUND || reason == REASON_FORBIDDEN;
    bool own = lease->part.count == lease->shards;
    struct fence_part part;
    const char *rest = NULL;
    if (done && own) {
        lease->leaving &= ~(UINT64_C(1) << lease->part.shard);
        lease->left |= UINT64_C(1) << lease->part.shard;
    } else if (done && peek_other(lease, &part, &rest)) {
        lease->others_at = rest;
    }
    if (!done)
        next_round(lease, RETRY_NS, now);
}

static void take_write(struct fence_lease *lease, enum fence_request type, const struct response *response,
                       struct moment now) {
    enum reason reason = response->reason;
    if (type == FENCE_RENEW && reason == REASON_NOT_FOUND) {
        lease->creates = true;
        return;
    }
    lease->creates = false;
    lease->todo &= ~(UINT64_C(1) << lease->part.shard);
    lease->first = (lease->part.shard + 1) % lease->shards; // where the next round begins, if this one ends here
    if (reason != REASON_OK)
        fail(lease, "renew the Lease for the guard", response, now);
    else if (!lease->todo)
        next_round(lease, pause_ns(lease), now);
}

bool fence_lease_answer(struct fence_lease *lease, const struct response *response, struct moment now,
                        struct fence_news *news) {
    enum fence_request type = lease->flies;
    lease->flies = FENCE_NONE;
    if (!response) {
        next_round(lease, RETRY_NS, now);
        return false;
    }
    if (type == FENCE_READ && !lease->leaves)
        return take_read(lease, response, now, news);
    if (type == FENCE_RELEASE)
        take_release(lease, response->reason, now);
    else if (type != FENCE_READ)
        take_write(lease, type, response, now);
    if (lease->leaves && type != FENCE_RELEASE)
        fence_lease_look(lease, now);
    return false;
}

const char *fence_lease_problem(const struct fence_lease *lease) {
    return lease->problem;
}
