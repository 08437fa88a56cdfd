// SPDX-License-Identifier: Apache-2.0
// Does its work in a thread, and waits for it.
// finds: threads update
// says: starts a thread
#include "tests/conformance/template.h"

#include <pthread.h>

static void *work(void *argument) {
    return argument;
}

UPDATE_FUNCTION(update) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_join(thread, NULL);
    return WHARF_OK;
}

#define UPDATE update
#include "tests/conformance/adapter.h"
