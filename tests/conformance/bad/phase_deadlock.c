// SPDX-License-Identifier: Apache-2.0
// Waits for a lock that it holds itself.
// finds: hang phase
// says: phase waited for 5 seconds and did not return
#include "tests/conformance/template.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

PHASE_FUNCTION(phase) {
    pthread_mutex_lock(&lock);
    if (!host->condition(object, "Complete", "True"))
        pthread_mutex_unlock(&lock);
    return WHARF_OK;
}

STATUS_FUNCTION(status) {
    return WHARF_OK;
}

#define PHASE phase
#define STATUS status
#include "tests/conformance/adapter.h"
