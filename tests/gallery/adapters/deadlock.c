// SPDX-License-Identifier: Apache-2.0
// Waits for a lock that it has.
#define FARM "deadlock"
#include "tests/gallery/farm.h"

#include <pthread.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
}
