// SPDX-License-Identifier: Apache-2.0
// Streams and sessions by user: no one of them may take all that there are of a kind. Callers at a loopback address
// without a token have no name, and are not limited.
#ifndef WHARF_SERVE_SHARES_H
#define WHARF_SERVE_SHARES_H

#include "core/serve/http/connections.h"

#include <pthread.h>

// Of one stream or session; zero-initialised: not counted.
struct share {
    struct share *next, **place; // place NULL: not counted
    const char *user;
    enum connection_kind kind;
};

struct shares {
    pthread_mutex_t lock;
    struct share *first;
};
void shares_init(struct shares *shares);
void shares_destroy(struct shares *shares);

// How many of a kind one user may have.
size_t shares_limit(enum connection_kind kind);

// False: the user has as many as may be. `user` must outlive the share. From any thread.
bool shares_join(struct shares *shares, struct share *share, const char *user, enum connection_kind kind);
void shares_leave(struct shares *shares, struct share *share); // one that is not counted is fine

#endif
