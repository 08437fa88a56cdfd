// SPDX-License-Identifier: Apache-2.0
// The Leases of fencing (docs/fencing.md): names, bodies, lists of shards, and the records of the guards.
//
// All guards of an origin in a worker share one Lease, with one annotation for each guard process, written with every
// beat. The records show hosts that a guard is live and which Leases that guard watches, and show a new guard how old
// the Leases are.
//
//   guard.wharf.dev/IDENTITY: "BEAT MILLISECONDS SECONDS 0-of-8:1a2b3c4d:1500 1-of-8:5e6f7a8b:81000! ..."
#pragma once

#include "core/kube/client/types.h"

#define FENCE_LEASE "wharf-fence-"    // written by the host, followed by the origin and, with several shards, ".3-of-8"
#define GUARD_LEASE "wharf-guard-"    // written by the guards, followed by the origin
#define FENCE_BEAT "wharf.dev/beat"   // in a Lease of the host: the guards' beats, "IDENTITY/17 IDENTITY/42"
#define FENCE_SHARD "wharf.dev/shard" // the same, with several shards: "3-of-8"
#define FENCE_BEAT_MAX 96
#define FENCE_NAME_MAX 96
#define FENCE_LIST_MAX 2048
#define FENCE_RESOURCE ((struct resource){.group = "coordination.k8s.io", .version = "v1", .plural = "leases"})

struct fence_part { // shard `shard` of `count`
    uint32_t shard, count;
};
bool fence_part_equal(struct fence_part a, struct fence_part b);

#define FENCE_PART_MAX 16
void fence_part_print(struct fence_part part, char out[FENCE_PART_MAX]); // "3-of-8"
// Reads a part at the beginning of the text, and returns the end; false: another text.
bool fence_part_read(const char *text, struct fence_part *part, const char **end);

// The name of the host's Lease.
void fence_name_print(const char *origin, struct fence_part part, char out[FENCE_NAME_MAX]);

// Appends to a list if absent and if there is room.
void fence_list_add(char list[FENCE_LIST_MAX], struct fence_part part);
// The next part of a list; false at the end.
bool fence_list_next(const char **list, struct fence_part *part);

// Appends to the annotations of a Lease; `value` NULL removes the annotation. The texts (origins, names of pods, beats,
// records) need no escapes.
void fence_annotation_add(char *out, size_t size, const char *key, const char *value);

// A Lease to create, or a merge patch. NULL: the field is absent.
struct fence_body {
    const char *name, *namespace_, *holder; // `name`: to create
    const char *origin;                     // of the host's Leases
    const char *annotations;
    int64_t after_ns, wall_ns;
};
void fence_body_print(const struct fence_body *body, char *out, size_t size);
// leaseDurationSeconds; 0: absent.
int64_t fence_lease_after_ns(const struct json *lease);
bool fence_lease_is_held(const struct json *lease);

#define GUARD_RECORD "guard.wharf.dev/" // followed by the identity of the process
#define GUARD_RECORD_MAX 8192
#define GUARD_IDENTITY_MAX 64

struct guard_record {
    uint64_t beat;        // the number of beats of this process
    int64_t wall_ns;      // time of the beat, by the clock of the guard's node
    int64_t after_ns;     // the guard's longest fenceAfter; 0: unknown
    const char *identity; // of the process
    const char *leases;   // for guard_record_next
};

struct guard_watched { // a Lease of the host
    struct fence_part part;
    uint32_t version; // hash of the resourceVersion
    int64_t age_ns;   // since the renewal, by the guard's clock
    bool stops;       // the guard stops mirrors of the part
};

void guard_record_print(const struct guard_record *record, char out[GUARD_RECORD_MAX]);
// Appends a Lease. False: the record is full.
bool guard_record_add(char out[GUARD_RECORD_MAX], const struct guard_watched *watched);

// Reads an annotation, which must outlive the record. False: no record.
bool guard_record_read(const struct json *annotation, struct guard_record *record);
bool guard_record_next(struct guard_record *record, struct guard_watched *watched); // false at the end

uint32_t guard_record_version(const char *resource_version);
