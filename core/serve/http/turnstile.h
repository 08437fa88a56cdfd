// SPDX-License-Identifier: Apache-2.0
// Lets a bounded number of threads do something at a time; the others wait in the order of their arrival.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct turnstile {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t places, max_waiting;
    size_t inside;
    unsigned long entered, arrived; // how many threads have passed, and have come
};
void turnstile_init(struct turnstile *turnstile, size_t places, size_t max_waiting);
void turnstile_destroy(struct turnstile *turnstile);

// Waits for a place. False: too many threads wait already.
bool turnstile_enter(struct turnstile *turnstile);
void turnstile_leave(struct turnstile *turnstile);
