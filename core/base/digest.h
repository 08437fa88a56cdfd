// SPDX-License-Identifier: Apache-2.0
// Digests of short texts, and base64 output.
#pragma once

#include "core/base/buffer.h"

#define DIGEST_SHA256_LEN 32
#define DIGEST_SHA1_LEN 20

// False when libcrypto fails (out of memory).
bool digest_sha256(const void *bytes, size_t len, unsigned char out[DIGEST_SHA256_LEN]);
bool digest_sha1(const void *bytes, size_t len, unsigned char out[DIGEST_SHA1_LEN]); // where a protocol demands it

// RFC 4648 section 4, with padding.
bool text_base64_encode(const void *bytes, size_t len, struct buffer *out);
