// SPDX-License-Identifier: Apache-2.0
// Digests and base64 (text.h).
#include "core/base/text.h"

#include <openssl/evp.h>

#define GROUP 4 // characters, for three bytes

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

// libcrypto decodes, but accepts padding anywhere and stops at '-', so the syntax is checked here.
struct error *text_base64_decode(const char *text, struct buffer *out) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char group[GROUP], bytes[GROUP];
    size_t at = 0, digits = 0, padding = 0;
    if (!buffer_append(out, "", 0)) // so that empty input gives "", not NULL
        return error_no_memory();
    for (; text[at]; at++) {
        if (strchr(" \t\r\n", text[at]))
            continue;
        bool pads = text[at] == '=';
        if (pads ? digits < 2 : padding > 0 || !strchr(alphabet, text[at]))
            return error_new(ERROR_INVALID, "not base64: unexpected character at offset %zu", at);
        padding += pads;
        group[digits++] = (unsigned char)text[at];
        if (digits < GROUP)
            continue;
        digits = 0;
        if (EVP_DecodeBlock(bytes, group, GROUP) != GROUP - 1)
            return error_new(ERROR_INVALID, "not base64: unexpected characters before offset %zu", at + 1);
        if (!buffer_append(out, bytes, GROUP - 1 - padding))
            return error_new(ERROR_LIMIT, "base64 text is too long");
    }
    if (digits != 0)
        return error_new(ERROR_INVALID, "not base64: it ends at offset %zu within a group of four", at);
    return NULL;
}
