// SPDX-License-Identifier: Apache-2.0
// The guards of a worker as the host sees them, by their records in the Lease that they share (guard_record.h): any
// number of them may run, each of which stops the mirrors by itself.
#pragma once

#include "core/base/clock.h"
#include "core/engine/fence/guard_record.h"

#define FENCE_GUARDS 8 // processes whose beats are sent back
#define FENCE_BEATS_MAX ((size_t)FENCE_GUARDS * FENCE_BEAT_MAX)

struct fence_guard {
    char identity[GUARD_IDENTITY_MAX];
    uint64_t beat;
    int64_t beat_ns; // when this beat was read first
    bool listed;     // in the Lease
    bool alive;      // it wrote another one since
    int64_t after_ns;
    uint64_t watched, stopped; // shards (masks), without shards bit 0
    bool watches_others;       // Leases of another number of shards
};

struct fence_guards { // initially zero; fields are for fence_guards.c only
    struct fence_guard list[FENCE_GUARDS];
    char others[FENCE_LIST_MAX]; // Leases of another number of shards that a guard watches
};

struct fence_view { // of those that wrote a beat within the last `recent_ns`
    unsigned alive;
    uint64_t guarded; // shards whose Leases one of them watches, that was seen to be alive
    uint64_t closed;  // one of them stops their mirrors, or may
};

// The Lease; NULL: there is none.
void fence_guards_read(struct fence_guards *guards, const struct json *lease, uint32_t shards, struct moment now);
struct fence_view fence_guards_view(const struct fence_guards *guards, int64_t recent_ns, struct moment now);

// What is sent back: the beats, separated by spaces.
void fence_guards_print(const struct fence_guards *guards, char beats[FENCE_BEATS_MAX]);
int64_t
fence_guards_newest_ns(const struct fence_guards *guards);        // when the newest of these was read; 0: there is none
int64_t fence_guards_after_ns(const struct fence_guards *guards); // the longest fenceAfter that one counts with
