// SPDX-License-Identifier: Apache-2.0
// JSON values that preserve their source: numbers keep their text (9007199254740993 and 1.0 stay unchanged), keys are
// case-sensitive and the last duplicate wins (as in Go's encoding/json, which the API server uses), strings may contain
// U+0000, invalid UTF-8 is rejected. Nodes and allocator are cJSON's; parser and printer are not (docs/json.md has the
// reasons).
//
// A document that is made in a section of sensitive.h, or copied from such a one, is sensitive, and so is a buffer that
// grows while such a document is printed. json_take_content keeps that, since nodes keep their memory.
//
// The container owns a value, or the caller if there is no container. Values are not shared between threads.
#pragma once

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/map.h"

#include <stdatomic.h>

struct json; // opaque

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

// Deeper documents are rejected, when parsed and when built.
#define JSON_MAX_DEPTH 512

// Limits for parsing one document. A value takes 64 bytes, the key and the text, each with a NUL, rounded up to 8
// (`[],` is 64 bytes for 3 of text). Each duplicate of a key counts. Parsing an object of more than 64 members takes
// another 32 to 96 bytes per member, which do not count.
struct json_limits {
    size_t max_nodes;        // values; 0: JSON_MAX_NODES
    size_t max_bytes;        // bytes of memory, as defined above; 0: JSON_MAX_BYTES
    const atomic_bool *stop; // checked every few thousand values; once true, parsing stops. NULL: never
};

#define JSON_MAX_NODES ((size_t)4 << 20)
#define JSON_MAX_BYTES ((size_t)512 << 20)

// Exactly one document in `len` bytes. Errors give line and column: ERROR_INVALID, ERROR_LIMIT (too deep),
// ERROR_TOO_LARGE (beyond the limits), ERROR_STOPPED (see json_limits), ERROR_NO_MEMORY (without position).
struct error *json_parse(const char *text, size_t len, struct json **out);
// `limits` may be NULL.
struct error *json_parse_limited(const char *text, size_t len, const struct json_limits *limits, struct json **out);

void json_free(struct json *value);     // NULL is fine
void json_cleanup(struct json **value); // for __attribute__((cleanup))
#define AUTO_JSON __attribute__((cleanup(json_cleanup))) struct json *

// Compact (no white space), members in their order. False: out of memory or over the buffer's maximum.
bool json_print(const struct json *value, struct buffer *out);
// The same on several lines, indented by four spaces as kubectl's.
bool json_print_lines(const struct json *value, struct buffer *out);
char *json_text(const struct json *value, size_t *len); // NULL when out of memory; free()

// As bytes for another process of the same build on the same machine, whom the reader trusts: texts are not checked.
bool json_pack(const struct json *value, struct buffer *out); // as json_print
struct json *json_unpack(const char *bytes, size_t len);      // NULL: other bytes, or out of memory

enum json_type json_type(const struct json *value);
bool json_is(const struct json *value, enum json_type type); // false for NULL
bool json_is_container(const struct json *value);            // an array or an object; false for NULL
size_t json_line(const struct json *value); // of a value that was read from YAML, or of its key, from 1 on; 0: unknown
void json_set_line(struct json *value, size_t line);

// Readers return the fallback for NULL and for values of another type.
bool json_bool(const struct json *value, bool fallback);
int64_t json_int64(const struct json *value, int64_t fallback); // also for 1.0 and 1e3, if whole and in range
double json_double(const struct json *value, double fallback);
const char *json_string(const struct json *value); // NULL if not a string or if it contains U+0000
const char *json_string_or(const struct json *value, const char *fallback);
char *json_string_copy(const struct json *value, size_t *len); // also with U+0000; NULL: not a string, or memory
const char *json_number_text(const struct json *value);        // the number's text; NULL if not a number

// Arrays and objects.
size_t json_size(const struct json *value);
struct json *json_first(const struct json *value); // first item or member, or NULL
struct json *json_next(const struct json *item);   // the next sibling, or NULL
const char *json_key(const struct json *member);   // NULL for items of arrays
struct json *json_at(const struct json *array, size_t index);
struct json *json_get(const struct json *object, const char *key); // NULL if absent or not an object

// Follows a path of keys: json_path(object, "metadata", "uid", NULL).
struct json *json_path(const struct json *value, ...) __attribute__((sentinel));

// Constructors return NULL when out of memory.
struct json *json_new_null(void);
struct json *json_new_bool(bool value);
struct json *json_new_int64(int64_t value);
struct json *json_new_string(const char *text);                 // NULL for NULL, and for invalid UTF-8
struct json *json_new_string_len(const char *text, size_t len); // may contain U+0000
struct json *json_new_array(void);
struct json *json_new_object(void);
struct json *json_copy(const struct json *value);

// Take ownership of `value` and replace an existing member or item. False when out of memory, for a NULL value or a
// wrong container; `value` is freed even then, so that json_set(object, "a", json_new_int64(1)) needs one check.
bool json_set(struct json *object, const char *key, struct json *value);
bool json_append(struct json *array, struct json *value);

// Replaces the items or members of `into` with the content of `from`, a container of the same type (else false, and
// nothing changed); `from` is then empty. Neither may contain the other.
bool json_take_content(struct json *into, struct json *from);

// Replaces `old`, a direct child of `parent`, with `value` and frees `old`. On failure as json_set.
bool json_replace(struct json *parent, struct json *old, struct json *value);

bool json_remove(struct json *object, const char *key);          // true if the member existed
void json_remove_child(struct json *parent, struct json *child); // frees `child`
struct json *json_detach(struct json *object, const char *key);  // now owned by the caller; NULL if absent
void json_detach_child(struct json *parent, struct json *child); // `child` is now owned by the caller

// Variants that leave the old value and key readable until the caller frees the value.
bool json_exchange(struct json *parent, struct json *old, struct json *value); // json_replace that does not free `old`
void json_unlink_child(struct json *parent, struct json *child);               // json_detach_child, with the key

// Sets the allocator of values; NULL for both: malloc and free. Existing values are freed with the new function. For
// single-threaded programs.
void json_use_memory(void *(*take)(size_t size), void (*give_back)(void *memory));

// From now on reading does not modify the value, and the memory may become read-only: without new indexes, lookups in
// wide containers stay linear.
void json_fix(struct json *value);

// A number for the content of a root that was parsed or copied, unique in this process: as long as the same root has
// the same number, nothing in it has changed. 0: changes would not be noticed. From one thread at a time, as all
// reading.
uint64_t json_serial(const struct json *root);

// Compares documents: members in any order, numbers by value (1 == 1.0; integers exactly, of any size).
bool json_equal(const struct json *a, const struct json *b); // two NULLs are equal

// True for the string `text`, the boolean written as `text`, or a number equal to `text`.
bool json_is_scalar(const struct json *value, const char *text);

// True for null, false, 0 and "": servers may leave out such values.
bool json_is_zero(const struct json *value);

// A hash for detecting changes, independent of the order of members (numbers by their text: 1 and 1.0 may differ). Not
// collision-resistant. 0 for NULL.
uint64_t json_hash(const struct json *value);

// Finding items of an array by an identifying member, such as a container's name. Building an index takes one pass,
// then each lookup takes constant time; the array must not change meanwhile. (Lookups by key and position need none:
// json_get and json_at are fast in wide containers, too.)

// The first item that is an object whose member `key` is the string `text`, or NULL. Repeated searches in a wide parsed
// or copied array take constant time each, as long as the items do not change.
struct json *json_find_item(const struct json *array, const char *key, const char *text);

// For lookups in a loop, and for positions:
struct json_index {
    struct map places; // text -> struct json_place
    struct json_place *all;
};

struct json_place {
    struct json *item;
    size_t at; // the position in the array
};

// Indexes all items that are objects with a string member `key`; of several with the same value, the first. If `array`
// is not an array, the index is empty. False when out of memory; nothing to free.
bool json_index_init(struct json_index *index, const struct json *array, const char *key);
void json_index_free(struct json_index *index); // for __attribute__((cleanup)) too; also for zeros

// NULL if not found. `text` may be NULL.
const struct json_place *json_index_find(const struct json_index *index, const char *text);
