// SPDX-License-Identifier: Apache-2.0
#include "core/engine/mirror/mirror.h"

#include "core/base/text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#define HMAC_LEN ((size_t)32)
#define ID_HEX 8
#define PREFIX "v1:"
#define SEAL_LEN (sizeof PREFIX - 1 + ID_HEX + 1 + 2 * HMAC_LEN)

struct key {
    EVP_MAC_CTX *mac;    // initialised with the key; reset for each seal
    char id[ID_HEX + 1]; // distinguishes keys, and reveals nothing
};

struct seal_keys {
    size_t n;
    struct key keys[];
};

static bool add_number(EVP_MAC_CTX *mac, uint32_t number) {
    const unsigned char bytes[] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                   (unsigned char)(number >> 8), (unsigned char)number};
    return EVP_MAC_update(mac, bytes, sizeof bytes) == 1;
}

// The HMAC of texts, and of a number unless NULL. The length of each text comes first, so that different lists of texts
// never produce the same input. EVP_MAC_init without a key resets the state to the key set before.
static bool compute(EVP_MAC_CTX *mac, const char *const *texts, size_t n, const uint32_t *number,
                    unsigned char out[HMAC_LEN]) {
    size_t written = 0;
    bool ok = EVP_MAC_init(mac, NULL, 0, NULL) == 1;
    for (size_t i = 0; ok && i < n; i++) {
        size_t len = strlen(texts[i]);
        ok = len <= UINT32_MAX && add_number(mac, (uint32_t)len) &&
             EVP_MAC_update(mac, (const unsigned char *)texts[i], len) == 1;
    }
    return ok && (!number || add_number(mac, *number)) && EVP_MAC_final(mac, out, &written, HMAC_LEN) == 1 &&
           written == HMAC_LEN;
}

static bool init_key(EVP_MAC *hmac, const void *bytes, size_t len, struct key *key) {
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", digest, 0), OSSL_PARAM_construct_end()};
    static const char *const subject[] = {"wharf.dev/seal key id"};
    unsigned char id[HMAC_LEN] = {0};
    key->mac = EVP_MAC_CTX_new(hmac);
    bool ok = key->mac && EVP_MAC_init(key->mac, bytes, len, params) == 1 && compute(key->mac, subject, 1, NULL, id);
    text_hex(id, ID_HEX / 2, key->id);
    return ok;
}

struct error *seal_keys_new(const void *const *keys, const size_t *lens, size_t n, struct seal_keys **out) {
    *out = NULL;
    for (size_t i = 0; i < n; i++)
        if (lens[i] < SEAL_KEY_MIN || lens[i] > SEAL_KEY_MAX)
            return error_new(ERROR_INVALID, "key %zu: found %zu bytes, expected %d to %d", i + 1, lens[i], SEAL_KEY_MIN,
                             SEAL_KEY_MAX);
    struct seal_keys *made = calloc(1, sizeof *made + n * sizeof *made->keys);
    EVP_MAC *hmac = made ? EVP_MAC_fetch(NULL, "HMAC", NULL) : NULL;
    bool ok = hmac;
    for (size_t i = 0; ok && i < n; i++) {
        made->n = i + 1;
        ok = init_key(hmac, keys[i], lens[i], &made->keys[i]);
    }
    EVP_MAC_free(hmac);
    if (!ok) {
        seal_keys_free(made);
        return error_no_memory();
    }
    *out = made;
    return NULL;
}

void seal_keys_free(struct seal_keys *keys) {
    for (size_t i = 0; keys && i < keys->n; i++)
        EVP_MAC_CTX_free(keys->keys[i].mac); // libcrypto wipes the key
    free(keys);
}

bool seal_keys_any(const struct seal_keys *keys) {
    return keys && keys->n > 0;
}

static bool make_with(const struct key *key, const struct seal_subject *s, char out[SEAL_TEXT_MAX]) {
    const char *const texts[] = {"wharf.dev/seal v1", s->origin, s->kind, s->namespace_, s->name, s->uid, s->cluster};
    unsigned char hmac[HMAC_LEN];
    char hex[2 * HMAC_LEN + 1];
    if (!compute(key->mac, texts, sizeof texts / sizeof texts[0], &s->attempt, hmac))
        return false;
    text_hex(hmac, sizeof hmac, hex);
    snprintf(out, SEAL_TEXT_MAX, PREFIX "%s:%s", key->id, hex);
    return true;
}

bool seal_make(const struct seal_keys *keys, const struct seal_subject *subject, char out[SEAL_TEXT_MAX]) {
    return seal_keys_any(keys) && make_with(&keys->keys[0], subject, out);
}

enum seal_verdict seal_check(const struct seal_keys *keys, const struct seal_subject *subject, const char *text) {
    if (!text)
        return SEAL_MISSING;
    if (strlen(text) != SEAL_LEN)
        return SEAL_INVALID;
    for (size_t i = 0; keys && i < keys->n; i++) {
        char expected[SEAL_TEXT_MAX];
        if (memcmp(text + sizeof PREFIX - 1, keys->keys[i].id, ID_HEX) == 0 &&
            make_with(&keys->keys[i], subject, expected) && CRYPTO_memcmp(text, expected, SEAL_LEN) == 0)
            return i == 0 ? SEAL_VALID : SEAL_OLD_KEY;
    }
    return SEAL_INVALID;
}
