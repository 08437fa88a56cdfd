// SPDX-License-Identifier: Apache-2.0
// When a bearer token was issued and when it expires, as it says itself (RFC 7519; it is not verified).
#ifndef WHARF_HOST_TOKENS_TOKEN_LIFE_H
#define WHARF_HOST_TOKENS_TOKEN_LIFE_H

#include "core/json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct token_life {
    int64_t issued_wall_ns, expires_wall_ns;
};

// False: not a JWT, or without exp. Without iat it counts as issued an hour before it expires.
bool token_life_read(const char *token, struct token_life *out); // NULL: false

// The claims of a token, json_free(). False: it is not a JWT.
bool token_claims_read(const char *token, struct json **out);

// When to request the next one: when 80 % of its life are over.
int64_t token_life_renew_at(const struct token_life *life);

#endif
