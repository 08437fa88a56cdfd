// SPDX-License-Identifier: Apache-2.0
#include "core/serve/access/shares.h"

#include <string.h>

void shares_init(struct shares *shares) {
    *shares = (struct shares){.first = NULL};
    pthread_mutex_init(&shares->lock, NULL);
}

void shares_destroy(struct shares *shares) {
    pthread_mutex_destroy(&shares->lock);
}

size_t shares_limit(enum connection_kind kind) {
    return connections_limit(kind) / 2;
}

bool shares_join(struct shares *shares, struct share *share, const char *user, enum connection_kind kind) {
    size_t count = 0;
    if (*user == '\0')
        return true;
    pthread_mutex_lock(&shares->lock);
    for (const struct share *other = shares->first; other; other = other->next)
        count += other->kind == kind && strcmp(other->user, user) == 0;
    bool joins = count < shares_limit(kind);
    if (joins) {
        *share = (struct share){.next = shares->first, .place = &shares->first, .user = user, .kind = kind};
        if (share->next)
            share->next->place = &share->next;
        shares->first = share;
    }
    pthread_mutex_unlock(&shares->lock);
    return joins;
}

void shares_leave(struct shares *shares, struct share *share) {
    if (!share->place)
        return;
    pthread_mutex_lock(&shares->lock);
    *share->place = share->next;
    if (share->next)
        share->next->place = share->place;
    share->place = NULL;
    pthread_mutex_unlock(&shares->lock);
}
