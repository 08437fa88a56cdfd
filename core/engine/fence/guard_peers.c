// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/guard_peers.h"

#include "core/base/text.h"

#include <stdio.h>
#include <string.h>

static struct guard_peer *place_of(struct guard_peers *peers, const char *identity) {
    struct guard_peer *spare = NULL;
    for (size_t i = 0; i < GUARD_PEERS; i++) {
        if (strcmp(peers->list[i].identity, identity) == 0)
            return &peers->list[i];
        if (!peers->list[i].listed)
            spare = &peers->list[i];
    }
    return spare;
}

static void note(struct guard_peers *peers, const char *identity, uint64_t beat, struct moment now) {
    struct guard_peer *peer = place_of(peers, identity);
    if (!peer)
        return;
    if (strcmp(peer->identity, identity) != 0 || peer->beat != beat)
        peer->beat_ns = now.mono_ns;
    text_copy(peer->identity, sizeof peer->identity, identity);
    peer->beat = beat;
    peer->listed = true;
}

bool guard_peers_read(struct guard_peers *peers, const struct json *lease, const char *own, struct guard_leases *leases,
                      struct moment now) {
    const struct json *annotations = json_path(lease, "metadata", "annotations", NULL);
    size_t count = 0;
    int64_t oldest_ns = INT64_MAX;
    const char *oldest = "";
    for (size_t i = 0; i < GUARD_PEERS; i++)
        peers->list[i].listed = false;
    for (const struct json *item = json_first(annotations); item; item = json_next(item)) {
        const char *identity = guard_record_identity(json_key(item)), *text = json_string(item), *rest = NULL;
        struct guard_record record;
        struct guard_watched watched;
        if (!identity || strcmp(identity, own) == 0 || !text || !guard_record_read(text, &record, &rest))
            continue;
        count++;
        oldest = record.wall_ns < oldest_ns ? identity : oldest;
        oldest_ns = clock_earlier(oldest_ns, record.wall_ns);
        note(peers, identity, record.beat, now);
        while (!peers->inherited && guard_record_next(&rest, &watched))
            guard_lease_inherit(leases, &watched, now.wall_ns - record.wall_ns, now);
    }
    text_copy(peers->surplus, sizeof peers->surplus, count > GUARD_PEERS ? oldest : "");
    bool first = !peers->inherited;
    if (first)
        guard_leases_inherited(leases);
    peers->inherited = true;
    return first || *peers->surplus;
}

static void remove_one(const char *identity, char *annotations, size_t size) {
    char key[sizeof GUARD_RECORD + GUARD_IDENTITY_MAX];
    snprintf(key, sizeof key, GUARD_RECORD "%s", identity);
    fence_annotation_add(annotations, size, key, NULL);
}

void guard_peers_remove(const struct guard_peers *peers, int64_t silent_ns, struct moment now, char *annotations,
                        size_t size) {
    if (*peers->surplus)
        remove_one(peers->surplus, annotations, size);
    for (size_t i = 0; i < GUARD_PEERS; i++) {
        const struct guard_peer *peer = &peers->list[i];
        if (peer->listed && now.mono_ns - peer->beat_ns >= silent_ns && strcmp(peer->identity, peers->surplus) != 0)
            remove_one(peer->identity, annotations, size);
    }
}
