// SPDX-License-Identifier: Apache-2.0
// A growing byte buffer with a mandatory maximum. A failed append (out of memory or over the maximum) leaves the
// content unchanged and makes all later appends fail, so a sequence of appends needs only one check at its end.
#pragma once

#include "core/base/sensitive.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *data;     // always NUL-terminated once something was appended; NULL before
    size_t len;     // bytes, without the NUL
    size_t cap;     // bytes allocated
    size_t max;     // len never exceeds this
    bool failed;    // an append failed
    bool sensitive; // the content is overwritten before it is freed; so by itself for what grows in a section
};

void buffer_init(struct buffer *buffer, size_t max);

// Frees the content; the buffer is then empty and usable, with the same maximum.
void buffer_free(struct buffer *buffer);

// Empties the buffer, keeps its memory, and clears `failed`.
void buffer_reset(struct buffer *buffer);

// Frees the content if it takes more memory than `kept` bytes.
void buffer_shrink(struct buffer *buffer, size_t kept);

bool buffer_append(struct buffer *buffer, const void *data, size_t len);
bool buffer_text(struct buffer *buffer, const char *text);
bool buffer_char(struct buffer *buffer, char c);
bool buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool buffer_vprintf(struct buffer *buffer, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

// Appends `text` as a JSON string literal with its quotes (RFC 8259 section 7). A byte that is not UTF-8 becomes
// U+FFFD.
bool buffer_json_string(struct buffer *buffer, const char *text, size_t len);
// The same for display: invisible characters (text_invisible) are escaped too.
bool buffer_json_shown(struct buffer *buffer, const char *text, size_t len);

// Truncates to `len` bytes, if longer.
void buffer_truncate(struct buffer *buffer, size_t len);

// Drops the first `count` bytes.
void buffer_consume(struct buffer *buffer, size_t count);

// Passes ownership of the content to the caller (free()); the buffer is then empty. NULL if an append failed or when
// out of memory; an empty buffer gives "".
char *buffer_take(struct buffer *buffer, size_t *len);

// Declares a buffer that is freed with its block. `limit` is its maximum.
#define AUTO_BUFFER(name, limit) __attribute__((cleanup(buffer_free))) struct buffer name = {.max = (limit)}
