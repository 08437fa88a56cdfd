// SPDX-License-Identifier: Apache-2.0
// Strict decoding (fieldValidation=Strict): unknown members are reported instead of dropped.
#pragma once

#include "tests/world/model.h"

// Appends what decoding has dropped from `before`: unknown field "spec.x", unknown field "y". A member whose value is
// null or empty is not reported: decoding drops known fields with such values, too.
void strict_unknown(const struct json *before, const struct json *after, struct buffer *out);
