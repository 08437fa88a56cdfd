// SPDX-License-Identifier: Apache-2.0
// Strict decoding (fieldValidation=Strict): members that a kind does not know are told instead of dropped.
#ifndef WHARF_WORLD_STRICT_H
#define WHARF_WORLD_STRICT_H

#include "tests/world/model.h"

// Appends what decoding has dropped from `before`: unknown field "spec.x", unknown field "y". A member whose value is
// null or empty is not told: decoding drops those of known fields too.
void strict_unknown(const struct json *before, const struct json *after, struct buffer *out);

#endif
