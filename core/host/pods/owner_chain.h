// SPDX-License-Identifier: Apache-2.0
// Finds the mirror of an object in a worker by the controller owners: a pod, its Job, its JobSet. The chain reads each
// object on the way once, and remembers results by uid, also negative ones, for the last few thousand objects. One
// search at a time. Used on the cluster's thread.
#pragma once

#include "core/host/pods/pod_groups.h"
#include "core/host/watchers/watcher.h"

struct owner_ref { // an object; strings are copied where it is taken
    const char *api_version, *kind, *namespace_, *name, *uid;
};

enum owner_outcome {
    OWNER_FOUND,
    OWNER_NONE,    // the object does not belong to a mirror of this origin, or is gone
    OWNER_REFUSED, // the worker does not let the host read the object
    OWNER_FAILED   // the read failed
};

struct owner_chain;
// `client` is not owned; ticked by the chain's owner, after the chain.
struct error *owner_chain_new(const struct cluster_scope *scope, struct client *client, struct owner_chain **out);
void owner_chain_free(struct owner_chain *chain); // cancels the request in flight

// Forgets negative results: an adapter for the kind may have been added.
void owner_chain_forget_none(struct owner_chain *chain);

struct owner_search {
    struct owner_ref from;
    bool fresh; // reads `from` even if the mirror is known
    // Called with the object of `from`, before `done`; may be NULL.
    void (*read)(void *ctx, const struct json *object);
    // Called once, from owner_chain_tick. `mirror` only with OWNER_FOUND; `problem` only with OWNER_REFUSED.
    void (*done)(void *ctx, enum owner_outcome outcome, const struct pod_mirror *mirror, const char *problem);
    void *ctx;
};

// True: the mirror of the object with this uid is known. *found: there is one; the strings of `mirror` are valid until
// the next call of another function.
bool owner_chain_knows(struct owner_chain *chain, const char *uid, bool *found, struct pod_mirror *mirror);

bool owner_chain_is_busy(const struct owner_chain *chain);
// Not while busy. False: out of memory, no function of the search is called.
bool owner_chain_find(struct owner_chain *chain, const struct owner_search *search);

// Goes on with the search. At most 5 requests a second, after the first 20. Returns the time of the next call.
int64_t owner_chain_tick(struct owner_chain *chain, struct moment now);

// Uses one of these requests for another purpose. False: *at_ns is the time of the next one.
bool owner_chain_take_request(struct owner_chain *chain, struct moment now, int64_t *at_ns);
