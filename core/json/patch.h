// SPDX-License-Identifier: Apache-2.0
// RFC 7386 JSON merge patch: computes the smallest patch between two documents, and applies a patch.
#pragma once

#include "core/json/json.h"

// The patch from `from` to `to`: an object, empty if both are equal. Arrays are replaced whole. Both must be objects.
// NULL when out of memory. `has_array`, if not NULL, is set to whether the patch replaces an existing array.
//
// A merge patch cannot write a null member, and the API server may drop nulls within arrays or always write them,
// depending on the type. So null members count as absent everywhere, on both sides: the patch ignores null members,
// which would otherwise cause endless patches.
struct json *patch_diff(const struct json *from, const struct json *to, bool *has_array);

// Applies `patch` to *target in place (RFC 7386 section 2). False when out of memory.
bool patch_apply(struct json **target, const struct json *patch);
