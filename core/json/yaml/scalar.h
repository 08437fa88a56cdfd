// SPDX-License-Identifier: Apache-2.0
// Internal to core/json: the type of a plain YAML scalar, as in sigs.k8s.io/yaml (go-yaml v2's resolution of YAML 1.1
// types, then JSON).
#pragma once

#include "core/base/buffer.h"

#include <stddef.h>

enum scalar {
    SCALAR_STRING,
    SCALAR_NULL,
    SCALAR_FALSE,
    SCALAR_TRUE,
    SCALAR_INTEGER,
    SCALAR_FLOAT,
    SCALAR_NOT_FINITE, // .inf and .nan, which JSON does not have
    SCALAR_TOO_LARGE   // an integer beyond 64 bits that is not decimal
};

// For a number, `token` receives the value as JSON (exactly, also decimal integers of any size). Out of memory:
// token->failed.
enum scalar scalar_resolve(const char *text, size_t len, struct buffer *token);
