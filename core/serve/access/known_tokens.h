// SPDX-License-Identifier: Apache-2.0
// Tokens that were valid a while ago, as their digests: they are reviewed at once however many invalid ones arrive. The
// one used least recently makes room. From any thread.
#ifndef WHARF_SERVE_KNOWN_TOKENS_H
#define WHARF_SERVE_KNOWN_TOKENS_H

#include "core/base/digest.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define KNOWN_TOKENS 512

struct known_tokens {
    pthread_mutex_t lock;
    struct known_token {
        unsigned char digest[DIGEST_SHA256_LEN];
        int64_t used_ns, until_ns;
    } list[KNOWN_TOKENS];
};
void known_tokens_init(struct known_tokens *known);
void known_tokens_destroy(struct known_tokens *known);

// `digest` was valid now, and stays known until `until_ns`.
void known_tokens_add(struct known_tokens *known, const unsigned char *digest, int64_t now_ns, int64_t until_ns);
void known_tokens_remove(struct known_tokens *known, const unsigned char *digest); // an unknown one is fine
bool known_tokens_have(struct known_tokens *known, const unsigned char *digest, int64_t now_ns);

#endif
