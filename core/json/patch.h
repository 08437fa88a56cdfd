// SPDX-License-Identifier: Apache-2.0
// RFC 7386 JSON merge patch: making the smallest one between two documents, and applying one.
#ifndef WHARF_JSON_PATCH_H
#define WHARF_JSON_PATCH_H

#include "core/json/json.h"

// What turns `from` into `to`: an object; an empty one when they are equal (json_equal). Arrays are replaced whole.
// Both must be objects. A null member in `to` counts as absent, since a merge patch cannot write null. NULL when out
// of memory. `has_array`, if not NULL, says whether the patch replaces an array that was there before.
struct json *patch_diff(const struct json *from, const struct json *to, bool *has_array);

// Applies `patch` to *target in place (RFC 7386 section 2). False when out of memory.
bool patch_apply(struct json **target, const struct json *patch);

#endif
