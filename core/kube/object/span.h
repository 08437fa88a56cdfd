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
bool span_member_len(const char *text, size_t len, const char *key, size_t key_len, struct span *out);

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

// Cuts the text of an object down to the needed fields before it is parsed: to a twentieth for a Pod.

#define PRUNE_VALUES 64 // of the maximum size

// A copy that has only the values at `kept`: patterns like "/spec/containers/*/resources", where "*" stands for each
// item of an array, and "/metadata/labels/wharf.dev/" for each member with a key that begins with "wharf.dev/";
// NULL-terminated; plain keys, without escapes. `more` are further ones, or NULL. `max` > 0: longer values are left
// out, and so is the rest once there are PRUNE_VALUES * `max` bytes. NULL: malformed, or out of memory; free().
char *prune_text(const char *text, size_t len, const char *const *kept, const char *const *more, size_t max,
                 size_t *pruned);

// Searches an API server's OpenAPI v3 document for a field of a kind. A server with an older version of the kind
// silently drops an unknown field from every object.

enum schema_answer {
    SCHEMA_UNKNOWN, // the document does not have the kind, or is none
    SCHEMA_HAS,     // the field, or anything
    SCHEMA_LACKS
};

struct schema_kind {
    const char *group, *version, *kind; // "batch", "v1", "Job"
};

// `pointer`: "/spec/managedBy"; a "*" stands for the items of an array. Searches the plain text: a tree would need many
// times the memory.
enum schema_answer schema_find(const char *text, size_t len, const struct schema_kind *kind, const char *pointer);

// "/openapi/v3/apis/batch/v1"; NULL when out of memory. free()
char *schema_path(const char *group, const char *version);
