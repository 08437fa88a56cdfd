// SPDX-License-Identifier: Apache-2.0
// What the Leases of fencing look like (docs/fencing.md): their names, their bodies, and the lists of shards in them.
#ifndef WHARF_ENGINE_FENCE_WIRE_H
#define WHARF_ENGINE_FENCE_WIRE_H

#include "core/kube/types.h"

#define FENCE_LEASE "wharf-fence-" // written by the host, followed by its origin and, with several shards, ".3-of-8"
#define GUARD_LEASE "wharf-guard-" // written by the guard
#define FENCE_BEAT "wharf.dev/beat"
#define FENCE_SHARD "wharf.dev/shard"     // of a Lease of the host, with several shards: "3-of-8"
#define FENCE_WATCHES "wharf.dev/watches" // of the guard's Lease: the host's Leases that it has seen, "0-of-8 1-of-8"
#define FENCE_STOPS "wharf.dev/stops"     // the same, whose mirrors it stops
#define FENCE_BEAT_MAX 96
#define FENCE_NAME_MAX 96
#define FENCE_LIST_MAX 2048
#define FENCE_BODY_MAX (2 * FENCE_LIST_MAX + 1024)

struct fence_part { // shard `shard` of `count`
    uint32_t shard, count;
};

#define FENCE_PART_MAX 16
void fence_part_print(struct fence_part part, char out[FENCE_PART_MAX]); // "3-of-8"
// Reads one at the beginning of the text, and where it ends; false: there is none.
bool fence_part_read(const char *text, struct fence_part *part, const char **end);

// The name of the host's Lease.
void fence_name_print(const char *origin, struct fence_part part, char out[FENCE_NAME_MAX]);

// Appends to a list. False: there is no room.
bool fence_list_add(char list[FENCE_LIST_MAX], struct fence_part part);
// The next one of a list; false: there is none.
bool fence_list_next(const char **list, struct fence_part *part);

// A Lease to create, or the merge patch of one. NULL: none.
struct fence_body {
    const char *name, *namespace_, *holder; // `name`: to create
    const char *origin, *shard;             // of the host's Leases
    const char *beat, *watches, *stops;
    int64_t after_ns, wall_ns;
};
void fence_body_print(const struct fence_body *body, char out[FENCE_BODY_MAX]);
// leaseDurationSeconds; 0: it has none.
int64_t fence_lease_after_ns(const struct json *lease);
bool fence_lease_is_held(const struct json *lease);

#endif
