// SPDX-License-Identifier: Apache-2.0
// The seal of a mirror: an HMAC-SHA256 over its marks and its cluster, so that only a host with the key can create an
// object that counts as a mirror, and copies in other clusters do not. No I/O: the caller provides the keys. Keys are
// used by one thread at a time.
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_KEY_MIN 32 // minimum bytes of a key
#define SEAL_KEY_MAX 256
#define SEAL_TEXT_MAX 96 // "v1:<key id, 8 hex digits>:<64 hex digits>" with its NUL

// What is sealed. Strings are not NULL.
struct seal_subject {
    const char *origin;
    const char *kind; // plural.group
    const char *namespace_, *name;
    const char *uid;     // of the workload
    const char *cluster; // the worker's name in the configuration
    uint32_t attempt;
};

enum seal_verdict {
    SEAL_VALID,   // by the first key
    SEAL_OLD_KEY, // by a further key: valid, will be renewed
    SEAL_MISSING, // the object has none
    SEAL_INVALID  // it has one that no key verifies
};

struct seal_keys;
// `keys`: raw bytes, the first one signs, all of them verify. None (`n` 0): nothing is sealed.
struct error *seal_keys_new(const void *const *keys, const size_t *lens, size_t n, struct seal_keys **out);
void seal_keys_free(struct seal_keys *keys);      // wipes them; NULL is allowed
bool seal_keys_any(const struct seal_keys *keys); // NULL has none

// False: no key, or out of memory.
bool seal_make(const struct seal_keys *keys, const struct seal_subject *subject, char out[SEAL_TEXT_MAX]);
// `text` may be NULL. In constant time. Requires a key.
enum seal_verdict seal_check(const struct seal_keys *keys, const struct seal_subject *subject, const char *text);
