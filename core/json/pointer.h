// SPDX-License-Identifier: Apache-2.0
// Pointers and patches. RFC 6901 JSON pointers, with one addition: a segment `*` in a pattern stands for every item of
// an array or every member of an object. (A member named "*" is written "~2".)
#pragma once

#include "core/base/buffer.h"
#include "core/json/json.h"

// NULL if well-formed: "" or "/a/b", only ~0 ~1 (and ~2 where patterns are allowed) after a tilde.
struct error *pointer_check(const char *pointer, bool pattern);

// The value at `pointer`, or NULL. "" is `root` itself; "-" never exists.
struct json *pointer_find(const struct json *root, const char *pointer);

// Sets the value at `pointer`; missing objects on the path are created; an index of an array must exist ("-" as the
// last segment appends). Takes `value` as json_set does: false and freed on failure.
bool pointer_set(struct json *root, const char *pointer, struct json *value);

// True if something was removed. Items of an array move up.
bool pointer_remove(struct json *root, const char *pointer);

// Calls `visit` for each value that a pattern matches, with the concrete pointer, until `visit` returns false. Returns
// false only if stopped or out of memory. The visitor must not change the document.
bool pointer_each(const struct json *root, const char *pattern,
                  bool (*visit)(void *ctx, const char *pointer, struct json *value), void *ctx);

// Removes every value that a pattern matches; the number removed.
size_t pointer_remove_all(struct json *root, const char *pattern);

// The rest of a pattern after the first segment if that segment matches `key` (a member's name, or an item's index), or
// NULL.
const char *pointer_step(const char *pattern, const char *key);

// True if `pointer`, in the form of pointer_each, matches the pattern.
bool pointer_matches(const char *pattern, const char *pointer);

// Appends `pattern` with each "*" replaced by the segment at this place of `found`, a pointer in the form of
// pointer_each. False: out of memory, or over the buffer's maximum.
bool pointer_pair(const char *pattern, const char *found, struct buffer *out);

// Appends "/" and the key, escaped.
bool pointer_append(struct buffer *out, const char *key);

// Appends the step to a child: the member `key`, or if that is NULL item `index`.
bool pointer_append_child(struct buffer *out, const char *key, size_t index);

// Whether a segment of the pattern is "*".
bool pointer_has_star(const char *pattern);

// RFC 7386 JSON merge patch.
//
// The patch from `from` to `to`: an object, empty if both are equal. Arrays are replaced whole. Both must be objects.
// NULL when out of memory. `has_array`, if not NULL, is set to whether the patch replaces an existing array.
//
// A merge patch cannot write a null member, and the API server may drop nulls within arrays or always write them,
// depending on the type. So null members count as absent everywhere, on both sides: the patch ignores null members,
// which would otherwise cause endless patches.
struct json *patch_diff(const struct json *from, const struct json *to, bool *has_array);

// Applies `patch` to *target in place (RFC 7386 section 2). False when out of memory.
bool patch_apply(struct json **target, const struct json *patch);
