// SPDX-License-Identifier: Apache-2.0
#include "core/host/tokens/tokens.h"

#include "core/base/text.h"

#include <string.h>

#define TOKEN_MAX ((size_t)64 * 1024)
#define HOUR_S 3600
#define YEAR_9999_S INT64_C(9000000000) // times beyond are not believed

// base64url without padding (RFC 7515 section 2), as base64.
static bool to_base64(const char *text, size_t len, struct buffer *out) {
    for (size_t i = 0; i < len; i++)
        buffer_char(out, text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
    while (!out->failed && out->len % 4 != 0)
        buffer_char(out, '=');
    return !out->failed;
}

bool token_claims_read(const char *token, struct json **out) {
    const char *begin = strchr(token, '.');
    const char *end = begin ? strchr(begin + 1, '.') : NULL;
    AUTO_BUFFER(base64, TOKEN_MAX);
    AUTO_BUFFER(text, TOKEN_MAX);
    if (!end || !to_base64(begin + 1, (size_t)(end - begin - 1), &base64) || base64.len == 0)
        return false;
    struct error *error = text_base64_decode(base64.data, &text);
    if (!error)
        error = json_parse(text.data ? text.data : "", text.len, out);
    bool good = !error;
    error_free(error);
    return good;
}

bool token_life_read(const char *token, struct token_life *out) {
    AUTO_JSON claims = NULL;
    if (!token || !token_claims_read(token, &claims))
        return false;
    int64_t expires_s = json_int64(json_get(claims, "exp"), 0);
    int64_t issued_s = json_int64(json_get(claims, "iat"), expires_s - HOUR_S);
    if (expires_s <= 0 || expires_s > YEAR_9999_S || issued_s < 0 || issued_s >= expires_s)
        return false;
    *out = (struct token_life){.issued_wall_ns = issued_s * CLOCK_SECOND, .expires_wall_ns = expires_s * CLOCK_SECOND};
    return true;
}

int64_t token_life_renew_at(const struct token_life *life) {
    return life->issued_wall_ns + (life->expires_wall_ns - life->issued_wall_ns) / 5 * 4;
}
