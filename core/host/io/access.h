// SPDX-License-Identifier: Apache-2.0
// Rights that a worker denies although a kind needs them. A write that was answered with 403 may have been rejected by
// an admission policy, or the worker's authorizer denies it: a SelfSubjectAccessReview decides, and is repeated every
// few seconds while the right is denied, so that a grant is noticed. Nothing is sent while no write is answered with
// 403. On the cluster's thread.
#ifndef WHARF_HOST_IO_ACCESS_H
#define WHARF_HOST_IO_ACCESS_H

#include "core/adapter/adapters.h"
#include "core/engine/event.h"
#include "core/kube/client/client.h"

struct access;
// `client` and `probe` are not owned. The probe is asked whether all rights were revoked; `post`: see
// cluster_io_options.
struct error *access_new(struct client *client, struct probe *probe,
                         void (*post)(void *ctx, struct engine_event *event), void *ctx, struct access **out);
void access_end(struct access *access);  // posts that nothing is denied any longer; NULL is allowed
void access_free(struct access *access); // after its client; NULL is allowed

struct access_subject { // of a write; `verb` NULL: of nothing that is looked at
    size_t kind;
    const char *verb;
    char namespace_[64];
};
void access_subject(struct kind *const *kinds, size_t n_kinds, const struct request *request,
                    struct access_subject *out);
// Its answer. `access` NULL is allowed.
void access_answered(struct access *access, const struct access_subject *subject, struct kind *const *kinds,
                     const struct response *response);
// Does what is due; returns the time of the next call needed. Also to be called after each handler of the client.
int64_t access_tick(struct access *access, struct moment now);

#endif
