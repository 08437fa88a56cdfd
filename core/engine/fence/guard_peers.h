// SPDX-License-Identifier: Apache-2.0
// The records of other guards of the origin in the Lease that they share (guard_record.h): of those that run beside
// this one, and of those that ran before it. A guard that starts goes on counting where they are or were; records that
// are not written any more are removed.
#pragma once

#include "core/engine/fence/guard_leases.h"
#include "core/engine/fence/guard_record.h"

#define GUARD_PEERS 8 // that are watched at a time

struct guard_peer {
    char identity[GUARD_IDENTITY_MAX];
    uint64_t beat;
    int64_t beat_ns; // when this beat was read first
    bool listed;     // in the Lease
};

struct guard_peers { // initially zero; fields are for guard_peers.c only
    struct guard_peer list[GUARD_PEERS];
    bool inherited;
    char surplus[GUARD_IDENTITY_MAX]; // there are too many: the one that is written longest ago; "": not too many
};

// The Lease, as it is after this process, `own`, wrote its record. The first time the Leases of the host are as old as
// others found them, unless they were renewed since. True: the record is to be written again at once.
bool guard_peers_read(struct guard_peers *peers, const struct json *lease, const char *own, struct guard_leases *leases,
                      struct moment now);

// Adds the removal of the records that were not written for so long to the annotations of a patch.
void guard_peers_remove(const struct guard_peers *peers, int64_t silent_ns, struct moment now, char *annotations,
                        size_t size);
