// SPDX-License-Identifier: Apache-2.0
// libcurl's memory. From the first sensitive request of the process on, all of it is overwritten before it is freed:
// libcurl copies the body of a request several times, and grows its buffers by moving them.
#include "core/base/sensitive.h"
#include "core/kube/transport/curl_internal.h"

#include <malloc.h>

static atomic_bool overwrites;

void curl_memory_overwrite(void) {
    atomic_store_explicit(&overwrites, true, memory_order_relaxed);
}

static bool is_overwritten(void) {
    return atomic_load_explicit(&overwrites, memory_order_relaxed);
}

static void give_back(void *memory) {
    (is_overwritten() ? sensitive_free : free)(memory);
}

static void *resize(void *memory, size_t size) {
    if (!memory || !is_overwritten())
        return realloc(memory, size);
    void *moved = malloc(size);
    if (!moved)
        return NULL;
    memcpy(moved, memory, size_least(size, malloc_usable_size(memory)));
    sensitive_free(memory);
    return moved;
}

CURLcode curl_memory_init(void) {
    return curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, give_back, resize, strdup, calloc);
}
