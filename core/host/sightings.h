// SPDX-License-Identifier: Apache-2.0
// The Leases of an election as they were listed, and which of their holders live: a record that is unchanged for its
// leaseDuration, by the own clock, has expired.
#ifndef WHARF_HOST_SIGHTINGS_H
#define WHARF_HOST_SIGHTINGS_H

#include "core/base/clock.h"
#include "core/json/json.h"
#include "core/kube/api/lease.h"

#define SIGHTINGS_MAX 256

struct sighting {
    char name[LEASE_NAME_MAX], holder[LEASE_IDENTITY_MAX], renewed[CLOCK_RFC3339_MAX], uid[40];
    char shards[12]; // ELECTION_SHARDS, "1" where it is absent
    unsigned long n_shards;
    int64_t duration_ns, observed_ns;
    unsigned renewals;   // seen of this holder
    bool listed, member; // member: its name begins as those of the replicas' own Leases
};

struct sightings {
    struct sighting *list;
    size_t count;
};

// Of a list; what is not in it any longer is forgotten. False: out of memory.
bool sightings_take(struct sightings *sightings, const struct json *list, const char *member_prefix, struct moment now);
void sightings_clear(struct sightings *sightings);

// Somebody holds it, as far as is known.
bool sighting_lives(const struct sighting *sighting, struct moment now);

#endif
