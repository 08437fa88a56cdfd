// SPDX-License-Identifier: Apache-2.0
// The listed Leases of an election and the live holders among them: a record that does not change for its
// leaseDuration, by this process's clock, has expired.
#pragma once

#include "core/kube/api/lease.h"

#define OBSERVED_LEASES_MAX 256

struct observed_lease {
    char name[LEASE_NAME_MAX], uid[40];
    char shards[12]; // ELECTION_SHARDS, "1" where absent
    struct lease_record record;
    int64_t observed_ns; // when the present record was first seen
    unsigned renewals;   // seen of this holder
    bool listed, member; // member: the name begins as the names of the replicas' own Leases
};

struct observed_leases {
    struct observed_lease *list;
    size_t count;
};

// Reads the Leases of a list; drops Leases that the list lacks. False: out of memory.
bool observed_leases_update(struct observed_leases *leases, const struct json *list, const char *member_prefix,
                            struct moment now);
void observed_leases_clear(struct observed_leases *leases);

// True: a process seems to hold the Lease.
bool observed_lease_is_live(const struct observed_lease *lease, struct moment now);
