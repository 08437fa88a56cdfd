// SPDX-License-Identifier: Apache-2.0
// The times of issue and expiry that a bearer token contains (RFC 7519; not verified).
#pragma once

#include "core/json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct token_life {
    int64_t issued_wall_ns, expires_wall_ns;
};

// False: not a JWT, or without exp. Without iat, a token counts as issued an hour before its expiry.
bool token_life_read(const char *token, struct token_life *out); // NULL: false

// The claims of a token, json_free(). False: not a JWT.
bool token_claims_read(const char *token, struct json **out);

// When to request the next token: at 80 % of the lifetime.
int64_t token_life_renew_at(const struct token_life *life);
