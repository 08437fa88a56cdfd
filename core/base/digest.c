// SPDX-License-Identifier: Apache-2.0
#include "core/base/digest.h"

#include <openssl/evp.h>

bool digest_sha256(const void *bytes, size_t len, unsigned char out[DIGEST_SHA256_LEN]) {
    return EVP_Digest(bytes, len, out, NULL, EVP_sha256(), NULL) == 1;
}

bool digest_sha1(const void *bytes, size_t len, unsigned char out[DIGEST_SHA1_LEN]) {
    return EVP_Digest(bytes, len, out, NULL, EVP_sha1(), NULL) == 1;
}

bool text_base64_encode(const void *bytes, size_t len, struct buffer *out) {
    const unsigned char *at = bytes;
    for (size_t done = 0; done < len; done += 3) {
        unsigned char group[5];
        int part = len - done < 3 ? (int)(len - done) : 3;
        int made = EVP_EncodeBlock(group, at + done, part);
        if (!buffer_append(out, group, (size_t)made))
            return false;
    }
    return true;
}
