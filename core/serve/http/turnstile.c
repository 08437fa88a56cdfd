// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread.h"
#include "core/serve/http/net.h"

void turnstile_init(struct turnstile *turnstile, size_t places, size_t max_waiting) {
    *turnstile = (struct turnstile){.places = places, .max_waiting = max_waiting};
    pthread_mutex_init(&turnstile->lock, NULL);
    pthread_cond_init(&turnstile->changed, NULL);
}

void turnstile_destroy(struct turnstile *turnstile) {
    pthread_cond_destroy(&turnstile->changed);
    pthread_mutex_destroy(&turnstile->lock);
}

bool turnstile_enter(struct turnstile *turnstile) {
    AUTO_LOCK(&turnstile->lock);
    if (turnstile->arrived - turnstile->entered >= turnstile->max_waiting)
        return false;
    unsigned long turn = turnstile->arrived++;
    while (turn != turnstile->entered || turnstile->inside == turnstile->places)
        pthread_cond_wait(&turnstile->changed, &turnstile->lock);
    turnstile->entered++;
    turnstile->inside++;
    pthread_cond_broadcast(&turnstile->changed);
    return true;
}

void turnstile_leave(struct turnstile *turnstile) {
    AUTO_LOCK(&turnstile->lock);
    turnstile->inside--;
    pthread_cond_broadcast(&turnstile->changed);
}
