// SPDX-License-Identifier: Apache-2.0
#include "core/host/lease/election.h"

#include "core/base/memory.h"
#include "core/base/text.h"

static struct observed_lease *find_lease(const struct observed_leases *leases, const char *name) {
    for (size_t i = 0; i < leases->count; i++)
        if (strcmp(leases->list[i].name, name) == 0)
            return &leases->list[i];
    return NULL;
}

static void update_lease(struct observed_lease *lease, const struct json *object, struct moment now) {
    struct lease_record record;
    lease_record_read(object, 0, &record);
    const char *shards = object_annotation(object, ELECTION_SHARDS);
    bool same = strcmp(record.holder, lease->record.holder) == 0;
    bool renewed = strcmp(record.renewed, lease->record.renewed) != 0;
    lease->renewals = same ? lease->renewals + renewed : 0;
    if (!same || renewed)
        lease->observed_ns = now.mono_ns;
    lease->record = record;
    lease->listed = true;
    text_copy(lease->uid, sizeof lease->uid, object_uid(object));
    text_copy(lease->shards, sizeof lease->shards, shards ? shards : "1");
}

static void forget_unlisted(struct observed_leases *leases) {
    size_t kept = 0;
    for (size_t i = 0; i < leases->count; i++)
        if (leases->list[i].listed)
            leases->list[kept++] = leases->list[i];
    leases->count = kept;
}

bool observed_leases_update(struct observed_leases *leases, const struct json *list, const char *member_prefix,
                            struct moment now) {
    for (size_t i = 0; i < leases->count; i++)
        leases->list[i].listed = false;
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item)) {
        const char *name = object_name(item);
        struct observed_lease *lease = find_lease(leases, name);
        if (!lease && leases->count == OBSERVED_LEASES_MAX)
            continue;
        if (!lease) {
            if (!(lease = array_next(&leases->list, leases->count, sizeof *lease)))
                return false;
            lease->observed_ns = now.mono_ns;
            lease->member = text_has_prefix(name, member_prefix);
            text_copy(lease->name, sizeof lease->name, name);
            leases->count++;
        }
        update_lease(lease, item, now);
    }
    forget_unlisted(leases);
    return true;
}

void observed_leases_clear(struct observed_leases *leases) {
    free(leases->list);
    *leases = (struct observed_leases){.list = NULL};
}

bool observed_lease_is_live(const struct observed_lease *lease, struct moment now) {
    return *lease->record.holder && now.mono_ns < lease->observed_ns + lease->record.duration_ns;
}
