// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/guard.h"

#include "core/base/text.h"
#include "core/engine/shard/shard_hash.h"

#include <stdio.h>

#define CONFIRM_NS (2 * CLOCK_SECOND)

static bool counts(const struct guarded *lease) {
    return !lease->released && lease->after_ns > 0;
}

static int64_t ends_ns(const struct guarded *lease) {
    return lease->fresh_ns + lease->after_ns;
}

static bool is_fresh(const struct guarded *lease, struct moment now) {
    return counts(lease) && ends_ns(lease) > now.mono_ns;
}

// The host may have renewed or replaced the Lease since the last list, in particular if this process stood still or had
// no connection to the API server: the guard waits for another list, unless the API server refuses the list for a
// while.
static bool is_in_doubt(const struct guard_leases *leases, const struct guarded *lease, struct moment now) {
    int64_t at_ns = ends_ns(lease);
    bool refused = leases->refused_ns && now.mono_ns >= clock_later(leases->refused_ns, at_ns) + CONFIRM_NS;
    return counts(lease) && at_ns <= now.mono_ns && leases->read_ns < at_ns && !refused;
}

static bool has_expired(const struct guard_leases *leases, const struct guarded *lease, struct moment now) {
    return counts(lease) && ends_ns(lease) <= now.mono_ns && !is_in_doubt(leases, lease, now);
}

bool guard_leases_ask(const struct guard_leases *leases, struct moment now) {
    for (size_t i = 0; i < leases->count; i++)
        if (is_in_doubt(leases, &leases->list[i], now) && leases->asked_ns < ends_ns(&leases->list[i]))
            return true;
    return false;
}

// The host renews all shards of another number, so other Leases cover each mirror of this Lease.
static bool is_replaced(const struct guard_leases *leases, const struct guarded *lease, struct moment now) {
    uint32_t fresh[SHARDS_MAX + 1] = {0};
    for (size_t i = 0; i < leases->count; i++) {
        uint32_t count = leases->list[i].part.count;
        if (count != lease->part.count && is_fresh(&leases->list[i], now) && ++fresh[count] == count)
            return true;
    }
    return false;
}

bool guard_lease_is_missed(const struct guard_leases *leases, const struct guarded *lease, struct moment now) {
    return has_expired(leases, lease, now) && !lease->superseded && !is_replaced(leases, lease, now);
}

bool guard_look(struct guard_leases *leases, struct moment now) {
    bool changed = false;
    for (size_t i = 0; i < leases->count; i++) {
        struct guarded *lease = &leases->list[i];
        bool fresh = is_fresh(lease, now) || is_in_doubt(leases, lease, now);
        lease->superseded = has_expired(leases, lease, now) && (lease->superseded || is_replaced(leases, lease, now));
        changed = changed || (lease->was_fresh && !fresh);
        lease->was_fresh = fresh;
    }
    return changed;
}

bool guard_is_fencing(const struct guard_leases *leases, struct moment now) {
    for (size_t i = 0; i < leases->count; i++)
        if (guard_lease_is_missed(leases, &leases->list[i], now))
            return true;
    return false;
}

// Appends the text if there is room.
static void append_text(char *out, size_t size, const char *separator, const char *text) {
    size_t len = strlen(out);
    if (len + strlen(separator) + strlen(text) < size)
        snprintf(out + len, size - len, "%s%s", len > 0 ? separator : "", text);
}

void guard_missed(const struct guard_leases *leases, struct moment now, char *out, size_t size) {
    *out = '\0';
    for (size_t i = 0; i < leases->count; i++) {
        char name[FENCE_NAME_MAX];
        fence_name_print(leases->origin, leases->list[i].part, name);
        if (guard_lease_is_missed(leases, &leases->list[i], now))
            append_text(out, size, ", ", name);
    }
}

void guard_late(const struct guard_leases *leases, struct moment now, char *out, size_t size) {
    *out = '\0';
    for (size_t i = 0; i < leases->count; i++) {
        const struct guarded *lease = &leases->list[i];
        char name[FENCE_NAME_MAX], since[CLOCK_RFC3339_MAX], until[CLOCK_RFC3339_MAX], line[256];
        int64_t age_ns = now.mono_ns - lease->fresh_ns;
        bool missed = guard_lease_is_missed(leases, lease, now);
        if (!missed && (!is_fresh(lease, now) || age_ns < lease->after_ns / 2))
            continue;
        fence_name_print(leases->origin, lease->part, name);
        clock_rfc3339(now.wall_ns - age_ns, since);
        clock_rfc3339(now.wall_ns - age_ns + lease->after_ns, until);
        snprintf(line, sizeof line, "%s: not renewed since %s; its mirrors %s%s\n", name, since,
                 missed ? "are stopped" : "will be stopped at ", missed ? "" : until);
        append_text(out, size, "", line);
    }
}

size_t guard_held(const struct guard_leases *leases, struct moment now, size_t *missed, int64_t *oldest_ns) {
    size_t held = 0;
    int64_t found_ns = CLOCK_NEVER;
    *missed = 0;
    for (size_t i = 0; i < leases->count; i++) {
        const struct guarded *lease = &leases->list[i];
        *missed += guard_lease_is_missed(leases, lease, now);
        if (!counts(lease) || lease->superseded)
            continue;
        held++;
        found_ns = clock_earlier(found_ns, lease->fresh_ns);
    }
    *oldest_ns = held > 0 ? found_ns : 0;
    return held;
}

bool guard_is_fencing_of(const struct guard_leases *leases, uint64_t hash, struct moment now) {
    bool missed = false;
    for (size_t i = 0; i < leases->count; i++) {
        const struct guarded *lease = &leases->list[i];
        if (shard_hash_at(hash, lease->part.count) != lease->part.shard)
            continue;
        if (is_fresh(lease, now))
            return false;
        missed = missed || guard_lease_is_missed(leases, lease, now);
    }
    return missed;
}

int64_t guard_expires_at_ns(const struct guard_leases *leases, struct moment now) {
    int64_t at_ns = CLOCK_NEVER;
    for (size_t i = 0; i < leases->count; i++)
        if (is_fresh(&leases->list[i], now))
            at_ns = clock_earlier(at_ns, ends_ns(&leases->list[i]));
        else if (leases->refused_ns && is_in_doubt(leases, &leases->list[i], now))
            at_ns = clock_earlier(at_ns, clock_later(leases->refused_ns, ends_ns(&leases->list[i])) + CONFIRM_NS);
    return at_ns;
}

// The Lease's part by annotation and name. False: no Lease of this origin.
static bool read_part(const struct guard_leases *leases, const struct json *item, struct fence_part *part) {
    const char *shard = object_annotation(item, FENCE_SHARD), *end = "";
    char name[FENCE_NAME_MAX];
    *part = (struct fence_part){0, 1};
    if (shard && (!fence_part_read(shard, part, &end) || *end))
        return false;
    fence_name_print(leases->origin, *part, name);
    return strcmp(object_name(item), name) == 0;
}

// The Lease, or a place for the Lease: a new one, or that of a released Lease; NULL: no room.
static struct guarded *find_place(struct guard_leases *leases, struct fence_part part) {
    struct guarded *spare = NULL;
    for (size_t i = 0; i < leases->count; i++) {
        if (fence_part_equal(leases->list[i].part, part))
            return &leases->list[i];
        if (leases->list[i].released)
            spare = &leases->list[i];
    }
    if (leases->count < GUARD_LEASES)
        return &leases->list[leases->count++];
    return spare;
}

void guard_lease_read(struct guard_leases *leases, const struct json *item, int64_t made_ns, bool away,
                      struct moment now) {
    struct fence_part part;
    bool held = fence_lease_is_held(item);
    struct guarded *lease = read_part(leases, item, &part) ? find_place(leases, part) : NULL;
    const char *version = json_string_or(json_path(item, "metadata", "resourceVersion", NULL), "");
    if (!lease)
        return;
    if (!fence_part_equal(lease->part, part) || (lease->released && held)) // a whole fenceAfter begins
        *lease = (struct guarded){.part = part, .fresh_ns = now.mono_ns};
    if (away && strcmp(lease->version, version) != 0)
        lease->fresh_ns = now.mono_ns;
    lease->gone = false;
    lease->released = !held;
    lease->after_ns = fence_lease_after_ns(item);
    lease->fresh_ns = clock_later(lease->fresh_ns, made_ns);
    text_copy(lease->version, sizeof lease->version, version);
}

void guard_lease_inherit(struct guard_leases *leases, const struct guard_watched *watched, int64_t ago_ns,
                         struct moment now) {
    for (size_t i = 0; i < leases->count; i++) {
        struct guarded *lease = &leases->list[i];
        if (!fence_part_equal(lease->part, watched->part) || guard_record_version(lease->version) != watched->version)
            continue;
        // A live host sends beats back within less than half of fenceAfter. So time that no guard measured, which is
        // wrong if clocks differ or jump, counts only up to that half unless guards have measured as much.
        int64_t half_ns = lease->after_ns / 2, age_ns = watched->age_ns + clock_later(ago_ns, 0);
        if (watched->age_ns < half_ns)
            age_ns = clock_earlier(age_ns, half_ns);
        int64_t at_ns = now.mono_ns - age_ns;
        lease->inherited_ns = lease->inherits ? clock_later(lease->inherited_ns, at_ns) : at_ns;
        lease->inherits = true;
    }
}

void guard_leases_inherited(struct guard_leases *leases) {
    for (size_t i = 0; i < leases->count; i++) {
        struct guarded *lease = &leases->list[i];
        if (lease->inherits)
            lease->fresh_ns = clock_earlier(lease->fresh_ns, lease->inherited_ns);
        lease->inherits = false;
    }
}

const struct guarded *guard_former_lease(const struct guard_leases *leases) {
    for (size_t i = 0; i < leases->count; i++)
        if (leases->list[i].superseded && !leases->list[i].gone && !leases->list[i].released)
            return &leases->list[i];
    return NULL;
}

void guard_lease_cleared(struct guard_leases *leases, struct fence_part part) {
    for (size_t i = 0; i < leases->count; i++)
        if (fence_part_equal(leases->list[i].part, part))
            leases->list[i].gone = true; // until the next list
}
