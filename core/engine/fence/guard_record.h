// SPDX-License-Identifier: Apache-2.0
// What a guard reports about itself in the Lease that all guards of an origin in a worker share: one annotation for
// each process, written with every beat. Hosts read from it that the guard lives and which of their Leases it watches;
// a guard that starts reads from it for how long those were not renewed (docs/fencing.md).
//
//   guard.wharf.dev/IDENTITY: "BEAT MILLISECONDS SECONDS 0-of-8:1a2b3c4d:1500 1-of-8:5e6f7a8b:81000! ..."
#pragma once

#include "core/engine/fence/fence_wire.h"

#define GUARD_RECORD "guard.wharf.dev/" // followed by the identity of the process
#define GUARD_RECORD_MAX 8192
#define GUARD_IDENTITY_MAX 64

struct guard_record {
    uint64_t beat;    // how often this process has written it
    int64_t wall_ns;  // when, by the clock of its node
    int64_t after_ns; // the longest fenceAfter that it counts with; 0: it knows none
};

struct guard_watched { // a Lease of the host
    struct fence_part part;
    uint32_t version; // hash of its resourceVersion
    int64_t age_ns;   // since it was renewed, as the guard counts
    bool stops;       // its mirrors are stopped
};

void guard_record_print(const struct guard_record *record, char out[GUARD_RECORD_MAX]);
// Appends a Lease. False: there is no room.
bool guard_record_add(char out[GUARD_RECORD_MAX], const struct guard_watched *watched);

// False: it is none. *rest: its Leases.
bool guard_record_read(const char *text, struct guard_record *record, const char **rest);
bool guard_record_next(const char **rest, struct guard_watched *watched); // false: there is none left

uint32_t guard_record_version(const char *resource_version);

// Whose record the annotation is; NULL: it is none.
const char *guard_record_identity(const char *annotation);
