// SPDX-License-Identifier: Apache-2.0
// Renews the Lease for the guard of one worker, and posts what is known of that guard (docs/fencing.md). Belongs to the
// thread of its cluster_io.
#ifndef WHARF_HOST_FENCING_H
#define WHARF_HOST_FENCING_H

#include "core/engine/event.h"
#include "core/kube/client/client.h"

struct fencing_settings {
    bool enabled;
    uint32_t epoch;      // see fence_news
    int64_t after_ns;    // fenceAfter
    char namespace_[64]; // of the Leases, in each worker
};

struct fencing_options {
    struct client *client; // not owned
    const char *cluster;   // for log lines; lives as long
    const char *origin, *instance;
    struct gates *gates; // of writes; NULL: always open, and there are no shards
    struct fencing_settings settings;
    void (*post)(void *ctx, struct engine_event *event);
    void *ctx;
};

struct fencing;
// Does nothing while it is not enabled.
struct error *fencing_new(const struct fencing_options *options, struct fencing **out);
// Before its client; requests in flight are forgotten. NULL is allowed here and in what follows.
void fencing_free(struct fencing *fencing);

void fencing_configure(struct fencing *fencing, const struct fencing_settings *settings);
// The shards that the host holds, if it handles what runs in the worker; initially none.
void fencing_renew(struct fencing *fencing, uint64_t shards);
// The connection was lost, or may be there again.
void fencing_look(struct fencing *fencing);

int64_t fencing_tick(struct fencing *fencing, struct moment now);

#endif
