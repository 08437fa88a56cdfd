// SPDX-License-Identifier: Apache-2.0
// Notes about the pods of mirrors, before Events on workloads: equal notes of several pods become one report ("3 pods:
// ..."), and reports of one mirror and reason are limited: 25, then one every 5 minutes. Pure: the caller passes the
// time.
#pragma once

#include "core/base/clock.h"
#include "core/base/error.h"

#define POD_GROUPS_COLLECT_NS (2 * CLOCK_SECOND) // a report waits this long for more pods
#define POD_GROUPS_AGAIN_NS CLOCK_MINUTE         // at least, between two reports of the same
#define POD_GROUPS_BURST 25
#define POD_GROUPS_TOKEN_NS (5 * CLOCK_MINUTE)
#define POD_GROUPS_TEXT_MAX 700 // bytes of a text from a worker; longer ones are cut

struct pod_mirror { // the mirror of the pods
    size_t kind;
    const char *namespace_, *name, *uid;
};

struct pod_note { // or a report, without a pod
    struct pod_mirror mirror;
    const char *pod, *pod_uid; // name and uid
    const char *reason;        // as the worker wrote it; of a report: CamelCase
    bool warning;
    const char *text; // of a report: "pod a-x7k: Back-off restarting failed container"
};

#define POD_GROUPS_MAX 1000
#define POD_GROUPS_BUCKETS 1000

struct pod_groups { // zero-initialised but for `seed`; fields are for pod_groups.c only
    uint64_t seed;
    struct pod_group *list[POD_GROUPS_MAX];
    size_t count;
    int64_t next_ns;    // the earliest `at_ns`, or earlier
    struct pod_bucket { // empty when `full_ns` is POD_GROUPS_BURST tokens away
        uint64_t hash;  // of the mirror and the reason
        int64_t full_ns;
    } buckets[POD_GROUPS_BUCKETS];
    size_t n_buckets;
};
void pod_groups_clear(struct pod_groups *groups);

// False: dropped, since there are too many groups or memory ran out.
bool pod_groups_add(struct pod_groups *groups, int64_t now_ns, const struct pod_note *note);

// Calls `report` for each due report, and adds the number that the limit suppressed to *dropped. Returns the time of
// the next call.
int64_t pod_groups_tick(struct pod_groups *groups, int64_t now_ns,
                        void (*report)(void *ctx, const struct pod_note *report), void *ctx, uint64_t *dropped);
