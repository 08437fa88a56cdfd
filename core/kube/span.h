// SPDX-License-Identifier: Apache-2.0
// Parts of a JSON text found by its nesting, without reading all of it: what a watch frame is about, and what can be
// cut out of an object before it is parsed (managedFields often outweigh the rest of it).
#ifndef WHARF_KUBE_SPAN_H
#define WHARF_KUBE_SPAN_H

#include <stdbool.h>
#include <stddef.h>

struct span {
    size_t key, value, end; // offsets of the key's quote, of the value, and behind the value
};

// The first member `key` of the object that `text` begins with (white space aside). False if it has none, or if the
// text is no JSON; a text that is found in order here may still be refused by json_parse.
bool span_member(const char *text, size_t len, const char *key, struct span *out);

// The next member of the object that `text` begins with; *at is 0 at first. False at the end, and where the text is not
// in order.
bool span_next_member(const char *text, size_t len, size_t *at, struct span *out);

// The next item of an array (`key` is not set). SPAN_BAD: the text is no array, or not in order.
enum span_step { SPAN_ITEM, SPAN_END, SPAN_BAD };
enum span_step span_next_item(const char *text, size_t len, size_t *at, struct span *out);

// Whether the text is one object or array from its first bracket to the one that closes it, with nothing but white
// space around it.
bool span_is_closed(const char *text, size_t len);

// A copy of an object's text without metadata.managedFields and kubectl's last-applied annotation. NULL when out of
// memory; free().
char *span_strip(const char *text, size_t len, size_t *stripped);

#endif
