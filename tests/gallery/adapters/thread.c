// SPDX-License-Identifier: Apache-2.0
// Starts a thread that stays.
#define FARM "thread"
#include "tests/gallery/farm.h"

#include <pthread.h>
#include <unistd.h>

static void *stay(void *argument) {
    for (;;)
        pause();
    return argument;
}

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    pthread_t thread;
    pthread_create(&thread, NULL, stay, NULL);
}
