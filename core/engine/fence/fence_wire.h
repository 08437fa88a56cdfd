// SPDX-License-Identifier: Apache-2.0
// What the Leases of fencing look like (docs/fencing.md): their names, their bodies, and the lists of shards in them.
#pragma once

#include "core/kube/client/types.h"

#define FENCE_LEASE "wharf-fence-"    // written by the host, followed by its origin and, with several shards, ".3-of-8"
#define GUARD_LEASE "wharf-guard-"    // written by the guards, see guard_record.h
#define FENCE_BEAT "wharf.dev/beat"   // of a Lease of the host: the guards' beats, "IDENTITY/17 IDENTITY/42"
#define FENCE_SHARD "wharf.dev/shard" // the same, with several shards: "3-of-8"
#define FENCE_BEAT_MAX 96
#define FENCE_NAME_MAX 96
#define FENCE_LIST_MAX 2048

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
bool fence_list_has(const char *list, struct fence_part part);
// The next one of a list; false: there is none.
bool fence_list_next(const char **list, struct fence_part *part);

// Appends to the annotations of a Lease; `value` NULL: it is removed. Texts are origins, names of pods, beats, records
// and the like: nothing in them needs an escape.
void fence_annotation_add(char *out, size_t size, const char *key, const char *value);

// A Lease to create, or the merge patch of one. NULL: none.
struct fence_body {
    const char *name, *namespace_, *holder; // `name`: to create
    const char *origin;                     // of the host's Leases
    const char *annotations;
    int64_t after_ns, wall_ns;
};
void fence_body_print(const struct fence_body *body, char *out, size_t size);
// leaseDurationSeconds; 0: it has none.
int64_t fence_lease_after_ns(const struct json *lease);
bool fence_lease_is_held(const struct json *lease);
