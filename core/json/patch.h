// SPDX-License-Identifier: Apache-2.0
// RFC 7386 JSON merge patch: making the smallest one between two documents, and applying one.
#ifndef WHARF_JSON_PATCH_H
#define WHARF_JSON_PATCH_H

#include "core/json/json.h"

// What turns `from` into `to`: an object; an empty one when they are the same. Arrays are replaced whole. Both must be
// objects. NULL when out of memory. `has_array`, if not NULL, says whether the patch replaces an array that was there
// before.
//
// A merge patch cannot write a null member, and the API server drops those inside of arrays too, or writes them
// whatever it is sent, as the type has it. So a null member counts as absent wherever it is, on both sides: it is not
// carried over, and no patch is made of it that would be made again and again.
struct json *patch_diff(const struct json *from, const struct json *to, bool *has_array);

// Applies `patch` to *target in place (RFC 7386 section 2). False when out of memory.
bool patch_apply(struct json **target, const struct json *patch);

#endif
