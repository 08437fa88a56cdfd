// SPDX-License-Identifier: Apache-2.0
// Locates parts of a JSON text by nesting, without parsing: the type of a watch frame, and the fields that are stripped
// from an object before parsing (managedFields are often larger than the rest).
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct span {
    size_t key, value, end; // offsets of the key's quote, of the value, and after the value
};

// The first member `key` of the object that `text` begins with (white space aside). False if absent or if the text is
// not JSON; json_parse may still reject a text that passes here.
bool span_member(const char *text, size_t len, const char *key, struct span *out);

// The next member of the object that `text` begins with; *at is 0 at first. False at the end, and where the text is
// malformed.
bool span_next_member(const char *text, size_t len, size_t *at, struct span *out);

// The next item of an array (`key` is not set). SPAN_BAD: not an array, or malformed.
enum span_step { SPAN_ITEM, SPAN_END, SPAN_BAD };
enum span_step span_next_item(const char *text, size_t len, size_t *at, struct span *out);

// True: the text is one object or array from its first bracket to the closing one, surrounded by white space only.
bool span_is_closed(const char *text, size_t len);

// A copy of an object's text without metadata.managedFields and kubectl's last-applied annotation. NULL when out of
// memory; free().
char *span_strip(const char *text, size_t len, size_t *stripped);
