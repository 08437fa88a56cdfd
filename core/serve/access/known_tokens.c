// SPDX-License-Identifier: Apache-2.0
#include "core/serve/access/known_tokens.h"

#include <string.h>

void known_tokens_init(struct known_tokens *known) {
    *known = (struct known_tokens){.list = {{.used_ns = 0}}};
    pthread_mutex_init(&known->lock, NULL);
}

void known_tokens_destroy(struct known_tokens *known) {
    pthread_mutex_destroy(&known->lock);
}

// Under the lock.
static struct known_token *find(struct known_tokens *known, const unsigned char *digest) {
    for (size_t i = 0; i < KNOWN_TOKENS; i++)
        if (known->list[i].until_ns > 0 && memcmp(known->list[i].digest, digest, DIGEST_SHA256_LEN) == 0)
            return &known->list[i];
    return NULL;
}

// An empty entry, else the one used least recently. Under the lock.
static struct known_token *make_room(struct known_tokens *known) {
    struct known_token *least = &known->list[0];
    for (size_t i = 0; i < KNOWN_TOKENS; i++) {
        struct known_token *token = &known->list[i];
        if (token->until_ns == 0)
            return token;
        if (token->used_ns < least->used_ns)
            least = token;
    }
    return least;
}

void known_tokens_add(struct known_tokens *known, const unsigned char *digest, int64_t now_ns, int64_t until_ns) {
    pthread_mutex_lock(&known->lock);
    struct known_token *token = find(known, digest);
    if (!token)
        token = make_room(known);
    memcpy(token->digest, digest, DIGEST_SHA256_LEN);
    token->used_ns = now_ns;
    token->until_ns = until_ns;
    pthread_mutex_unlock(&known->lock);
}

void known_tokens_remove(struct known_tokens *known, const unsigned char *digest) {
    pthread_mutex_lock(&known->lock);
    struct known_token *token = find(known, digest);
    if (token)
        *token = (struct known_token){.until_ns = 0};
    pthread_mutex_unlock(&known->lock);
}

bool known_tokens_have(struct known_tokens *known, const unsigned char *digest, int64_t now_ns) {
    pthread_mutex_lock(&known->lock);
    struct known_token *token = find(known, digest);
    bool have = token && now_ns < token->until_ns;
    if (have)
        token->used_ns = now_ns;
    pthread_mutex_unlock(&known->lock);
    return have;
}
