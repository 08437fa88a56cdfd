// SPDX-License-Identifier: Apache-2.0
// Owners of objects in a worker: references, the plurals of kinds, and the way from an object (a pod, its Job, its
// JobSet) to the mirror. The way up reads each object once, and remembers results by uid, also negative ones, for the
// last few thousand objects. One search at a time, on the cluster's thread. pods.h goes the other way.
#pragma once

#include "core/base/map.h"
#include "core/host/pods/pod_groups.h"
#include "core/host/watchers/watcher.h"

struct owner_ref { // an object; strings are copied where it is taken
    const char *api_version, *kind, *namespace_, *name, *uid;
};

// Of an ownerReference of an object in the namespace; NULL: all strings but that are "".
struct owner_ref owner_ref_read(const struct json *reference, const char *namespace_);

#define OWNER_KINDS 100

struct owner_kinds { // zero-initialised
    struct owner_kind {
        const char *api_version, *kind, *plural; // "batch/v1", "Job", "jobs"; plural "": not served
    } * list[OWNER_KINDS];
    size_t count;
};
const struct owner_kind *owner_kinds_find(const struct owner_kinds *kinds, const struct owner_ref *ref); // or NULL
// False: out of memory, or there are too many.
bool owner_kinds_add(struct owner_kinds *kinds, const struct owner_ref *ref, const char *plural);
void owner_kinds_free(struct owner_kinds *kinds);

enum owner_outcome {
    OWNER_FOUND,
    OWNER_NONE,    // the object does not belong to a mirror of this origin, or is gone
    OWNER_REFUSED, // the worker does not let the host read the object
    OWNER_FAILED   // the read failed
};

struct owner_search {
    const struct owner_ref *from; // not owned
    bool fresh;                   // reads `from` even if the mirror is known
    // Called with the object of `from`, before `done`; may be NULL.
    void (*read)(void *ctx, const struct json *object);
    // Called once, from owner_chain_tick; `from` need not live longer. `mirror` only with OWNER_FOUND; `problem` only
    // with OWNER_REFUSED, may be NULL. Calls no function of the chain.
    void (*done)(void *ctx, enum owner_outcome outcome, const struct pod_mirror *mirror, const char *problem);
    void *ctx;
};

#define OWNER_DEPTH 6

struct owner_chain { // fields are for owner.c only
    struct client *client;
    const struct cluster_scope *scope;
    struct map known;
    uint64_t uses;
    struct owner_kinds kinds;
    int64_t full_ns; // of the bucket of requests

    struct owner_search search;           // `from` NULL: none
    struct owner_ref *steps[OWNER_DEPTH]; // of the search, above `from`
    size_t depth;
    uint64_t request; // 0: none in flight
    bool answered, reads_plural;
    unsigned tries;
    struct response answer;
    int64_t due_ns;
};

// `client` is not owned; ticked by the chain's owner, after the chain.
void owner_chain_init(struct owner_chain *chain, const struct cluster_scope *scope, struct client *client);
void owner_chain_clear(struct owner_chain *chain); // cancels the request in flight; a zeroed chain is fine

// Forgets negative results: an adapter for the kind may have been added.
void owner_chain_forget_none(struct owner_chain *chain);

// True: the mirror of the object with this uid is known. *found: there is one; the strings of `mirror` are valid until
// the next call of another function.
bool owner_chain_knows(struct owner_chain *chain, const char *uid, bool *found, struct pod_mirror *mirror);

bool owner_chain_is_busy(const struct owner_chain *chain);
void owner_chain_find(struct owner_chain *chain, const struct owner_search *search); // not while busy

// Goes on with the search. At most 5 requests a second, after the first 20. Returns the time of the next call.
int64_t owner_chain_tick(struct owner_chain *chain, struct moment now);

// Uses one of these requests for another purpose. False: *at_ns is the time of the next one.
bool owner_chain_take_request(struct owner_chain *chain, struct moment now, int64_t *at_ns);
