// SPDX-License-Identifier: Apache-2.0
// The decisions of `wharf guard`, without I/O: whether the host is to be taken for lost, by the guard's own clock, and
// what happens to each mirror then. docs/fencing.md has the protocol, fence_lease.h the host's side.
#pragma once

#include "core/adapter/adapters.h"
#include "core/engine/fence/fence_lease.h"
#include "core/engine/fence/guard_leases.h"
#include "core/engine/fence/guard_peers.h"

#define GUARD_BEATS 64 // remembered
#define GUARD_BODY_MAX (GUARD_RECORD_MAX + 2048)

enum guard_action { GUARD_SUSPENDS, GUARD_DELETES };

struct guard_options {
    const char *origin, *namespace_;
    const char *identity;     // of this process, never used by another one; fit for the name of an annotation
    enum guard_action action; // SUSPENDS: what cannot be suspended is deleted
};

// BEAT: writes its own Lease. CLEAR: gives back one of a former number of shards.
enum guard_request { GUARD_NONE, GUARD_READ, GUARD_BEAT, GUARD_CREATE, GUARD_CLEAR };

struct guard { // fields are for guard.c only
    char origin[64], namespace_[64], identity[GUARD_IDENTITY_MAX], name[FENCE_NAME_MAX], path[256];
    enum guard_action action;
    struct guard_leases leases;
    struct guard_peers peers;
    struct fence_part cleared; // by the next request, if it is CLEAR
    char lease[FENCE_NAME_MAX];
    uint64_t beats; // made
    int64_t made_ns[GUARD_BEATS];
    enum guard_request next, flies;
    bool clears_later; // the last CLEAR failed: a beat comes first
    int64_t at_ns;
    int64_t reached_ns; // the API server last answered, if
    bool reached;       // it ever did
    int64_t beaten_ns;  // when the last beat was made that was written, or the process began
    bool told_stop;     // the Lease says that it stops mirrors
    char problem[200], unreturned[FENCE_NAME_MAX + 200];
    char body[GUARD_BODY_MAX];
};

void guard_init(struct guard *guard, const struct guard_options *options, struct moment now);

// Whether mirrors of a shard are being stopped: a request about one is in flight. The Lease says so until that is over,
// so that the host resumes nothing that is stopped again.
struct guard_stopping {
    bool (*is)(const void *ctx, struct fence_part part);
    const void *ctx;
};

// The request that is due; GUARD_NONE: none before *at_ns. `stopping` NULL: nothing is.
enum guard_request guard_next(struct guard *guard, struct moment now, const struct guard_stopping *stopping,
                              struct request *request, int64_t *at_ns);
void guard_sent(struct guard *guard, enum guard_request type);
void guard_answer(struct guard *guard, const struct response *response, struct moment now);
// Why the last request failed; "": it did not.
const char *guard_problem(const struct guard *guard);
// Which Lease of a former number of shards could not be given back, and why; "": none. It is tried again.
const char *guard_unreturned(const struct guard *guard);

// Of the workload that the mirror belongs to, see shard_hash.
uint64_t guard_hash(const struct kind *kind, const struct json *object);

enum guard_verdict {
    GUARD_LEAVES_IT,   // not a mirror of this origin, or nothing of it runs
    GUARD_SUSPENDS_IT, // with guard_patch
    GUARD_DELETES_IT
};

// Of an object with the label of the origin, while mirrors are to be stopped. `refused`: the API server refused to
// suspend it.
enum guard_verdict guard_judge(const struct guard *guard, const struct kind *kind, const struct json *object,
                               struct moment now, bool refused);
// The merge patch that suspends it and says so, with its uid; NULL: no memory.
struct json *guard_patch(const struct kind *kind, const struct json *object, struct moment now);
