// SPDX-License-Identifier: Apache-2.0
// The last credential of a plugin, for all transports of one endpoint (exec_plugin.h).
#include "core/kube/credentials/exec_plugin.h"

#include "core/base/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct exec_cache {
    pthread_mutex_t mutex;
    bool has;
    struct exec_credential held;
};

struct exec_cache *exec_cache_new(void) {
    struct exec_cache *cache = calloc(1, sizeof *cache);
    if (cache)
        pthread_mutex_init(&cache->mutex, NULL);
    return cache;
}

void exec_cache_free(struct exec_cache *cache) {
    if (!cache)
        return;
    exec_credential_clear(&cache->held);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

// Apart from the expiry.
static bool are_equal(const struct exec_credential *a, const struct exec_credential *b) {
    return text_equal(a->token, b->token) && text_equal(a->cert, b->cert) && text_equal(a->key, b->key);
}

// False when out of memory; *to is empty then.
static bool copy(const struct exec_credential *from, struct exec_credential *to) {
    *to = (struct exec_credential){.expires_ns = from->expires_ns};
    if (text_set(&to->token, from->token) && text_set(&to->cert, from->cert) && text_set(&to->key, from->key))
        return true;
    exec_credential_clear(to);
    return false;
}

void exec_cache_put(struct exec_cache *cache, const struct exec_credential *fresh) {
    if (!cache)
        return;
    pthread_mutex_lock(&cache->mutex);
    exec_credential_clear(&cache->held);
    cache->has = copy(fresh, &cache->held);
    pthread_mutex_unlock(&cache->mutex);
}

bool exec_cache_get(struct exec_cache *cache, const struct exec_credential *other_than, int64_t until_ns,
                    struct exec_credential *out) {
    if (!cache)
        return false;
    pthread_mutex_lock(&cache->mutex);
    bool found = cache->has && cache->held.expires_ns > until_ns &&
                 !(other_than && are_equal(&cache->held, other_than)) && copy(&cache->held, out);
    pthread_mutex_unlock(&cache->mutex);
    return found;
}
