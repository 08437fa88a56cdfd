// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/fence_guards.h"

#include "core/base/text.h"

#include <stdio.h>
#include <string.h>

static struct fence_guard *find(struct fence_guards *guards, const char *identity) {
    for (size_t i = 0; i < FENCE_GUARDS; i++)
        if (strcmp(guards->list[i].identity, identity) == 0)
            return &guards->list[i];
    return NULL;
}

// In place of the one that was silent for longest, of those that are not in the Lease if there are such.
static struct fence_guard *add(struct fence_guards *guards, const char *identity) {
    struct fence_guard *spare = guards->list;
    for (size_t i = 1; i < FENCE_GUARDS; i++) {
        struct fence_guard *guard = &guards->list[i];
        if (guard->listed != spare->listed ? spare->listed : guard->beat_ns < spare->beat_ns)
            spare = guard;
    }
    *spare = (struct fence_guard){0};
    text_copy(spare->identity, sizeof spare->identity, identity);
    return spare;
}

static void read_leases(struct fence_guards *guards, struct fence_guard *guard, const char *rest, uint32_t shards) {
    struct guard_watched watched;
    guard->watched = guard->stopped = 0;
    guard->watches_others = false;
    while (guard_record_next(&rest, &watched)) {
        uint64_t bit = UINT64_C(1) << watched.part.shard;
        if (watched.part.count != shards) {
            guard->watches_others = true;
            if (!fence_list_has(guards->others, watched.part))
                (void)fence_list_add(guards->others, watched.part);
            continue;
        }
        guard->watched |= bit;
        guard->stopped |= watched.stops ? bit : 0;
    }
}

static void read_one(struct fence_guards *guards, const struct json *item, bool known, uint32_t shards,
                     struct moment now) {
    struct guard_record record;
    const char *identity = guard_record_identity(json_key(item)), *text = json_string(item), *rest = NULL;
    struct fence_guard *guard = identity ? find(guards, identity) : NULL;
    if (!identity || (guard && guard->listed) || known == !guard || !text || !guard_record_read(text, &record, &rest))
        return;
    if (!known)
        guard = add(guards, identity);
    if (!known || guard->beat != record.beat)
        guard->beat_ns = now.mono_ns;
    guard->alive = guard->alive || (known && guard->beat != record.beat);
    guard->beat = record.beat;
    guard->after_ns = record.after_ns;
    guard->listed = true;
    read_leases(guards, guard, rest, shards);
}

void fence_guards_read(struct fence_guards *guards, const struct json *lease, uint32_t shards, struct moment now) {
    for (size_t i = 0; i < FENCE_GUARDS; i++)
        guards->list[i].listed = false;
    guards->others[0] = '\0';
    const struct json *annotations = json_path(lease, "metadata", "annotations", NULL);
    for (int known = 1; known >= 0; known--) // new ones do not displace known ones
        for (const struct json *item = json_first(annotations); item; item = json_next(item))
            read_one(guards, item, known, shards, now);
}

struct fence_view fence_guards_view(const struct fence_guards *guards, int64_t recent_ns, struct moment now) {
    struct fence_view view = {0};
    for (size_t i = 0; i < FENCE_GUARDS; i++) {
        const struct fence_guard *guard = &guards->list[i];
        if (!guard->listed || now.mono_ns - guard->beat_ns >= recent_ns)
            continue;
        // Mirrors of a shard that it does not watch yet are stopped with those of another number of shards.
        view.closed |= guard->stopped | (guard->watches_others ? ~guard->watched : 0);
        view.guarded |= guard->alive ? guard->watched : 0;
        view.alive += guard->alive && guard->watched;
    }
    return view;
}

void fence_guards_print(const struct fence_guards *guards, char beats[FENCE_BEATS_MAX]) {
    size_t len = 0;
    beats[0] = '\0';
    for (size_t i = 0; i < FENCE_GUARDS; i++)
        if (guards->list[i].listed)
            len += (size_t)snprintf(beats + len, FENCE_BEATS_MAX - len, "%s%s/%llu", len > 0 ? " " : "",
                                    guards->list[i].identity, (unsigned long long)guards->list[i].beat);
}

int64_t fence_guards_newest_ns(const struct fence_guards *guards) {
    int64_t newest_ns = 0;
    for (size_t i = 0; i < FENCE_GUARDS; i++)
        if (guards->list[i].listed)
            newest_ns = clock_later(newest_ns, guards->list[i].beat_ns);
    return newest_ns;
}

int64_t fence_guards_after_ns(const struct fence_guards *guards) {
    int64_t longest_ns = 0;
    for (size_t i = 0; i < FENCE_GUARDS; i++)
        if (guards->list[i].listed)
            longest_ns = clock_later(longest_ns, guards->list[i].after_ns);
    return longest_ns;
}
