// SPDX-License-Identifier: Apache-2.0
// Rights that a worker denies although a kind needs them. A write that was answered with 403 may have been rejected by
// an admission policy, or the worker's authorizer denies it: a SelfSubjectAccessReview decides, and is repeated every
// few seconds while the right is denied, so that a grant is noticed. Nothing is sent while no write is answered with
// 403. On the cluster's thread.
#ifndef WHARF_HOST_ACCESS_H
#define WHARF_HOST_ACCESS_H

#include "core/adapter/adapters.h"
#include "core/engine/event.h"
#include "core/kube/client.h"

struct access_options {
    struct client *client;                               // not owned, like what follows
    struct probe *probe;                                 // asked whether other rights were revoked, too
    void (*post)(void *ctx, struct engine_event *event); // see link_options
    void *ctx;
};

struct access;
struct error *access_new(const struct access_options *options, struct access **out);
void access_end(struct access *access);  // posts that nothing is denied any longer; NULL is allowed
void access_free(struct access *access); // after its client; NULL is allowed

// A write of the kind was answered with 403.
void access_forbidden(struct access *access, size_t kind, const struct kind *of, enum verb verb,
                      const char *namespace_);
// Does what is due; returns the time of the next call needed. Also to be called after each handler of the client.
int64_t access_tick(struct access *access, struct moment now);

#endif
