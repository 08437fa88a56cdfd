// SPDX-License-Identifier: Apache-2.0
#include "core/base/buffer.h"

#include "core/base/text.h"

#include <stdio.h>

#define SMALLEST 64

void buffer_init(struct buffer *buffer, size_t max) {
    *buffer = (struct buffer){.max = max};
}

void buffer_free(struct buffer *buffer) {
    (buffer->sensitive ? sensitive_free : free)(buffer->data);
    buffer_init(buffer, buffer->max);
}

void buffer_reset(struct buffer *buffer) {
    buffer->len = 0;
    buffer->failed = false;
    if (buffer->sensitive)
        sensitive_erase(buffer->data);
    if (buffer->data)
        buffer->data[0] = '\0';
}

void buffer_shrink(struct buffer *buffer, size_t kept) {
    if (buffer->cap > kept)
        buffer_free(buffer);
}

// realloc() that leaves no copy of the content.
static char *move(struct buffer *buffer, size_t cap) {
    char *data = malloc(cap);
    if (data && buffer->data)
        memcpy(data, buffer->data, buffer->len + 1);
    if (data)
        sensitive_free(buffer->data);
    return data;
}

// Makes room for `extra` more bytes and the NUL, and returns the end of the content. NULL: over the maximum, or out of
// memory.
static char *reserve(struct buffer *buffer, size_t extra) {
    if (buffer->failed)
        return NULL;
    if (extra < buffer->cap && buffer->len < buffer->cap - extra) // the capacity is within the maximum
        return buffer->data + buffer->len;
    if (extra > buffer->max - buffer->len || buffer->len + extra >= SIZE_MAX / 2) {
        buffer->failed = true;
        return NULL;
    }
    size_t need = buffer->len + extra + 1;
    size_t cap = buffer->cap ? buffer->cap : SMALLEST;
    while (cap < need)
        cap *= 2;
    if (cap - 1 > buffer->max) // still enough, since need - 1 <= max
        cap = buffer->max + 1;
    buffer->sensitive |= sensitive_section;
    char *data = buffer->sensitive ? move(buffer, cap) : realloc(buffer->data, cap);
    if (!data) {
        buffer->failed = true;
        return NULL;
    }
    buffer->data = data;
    buffer->cap = cap;
    return data + buffer->len;
}

bool buffer_append(struct buffer *buffer, const void *data, size_t len) {
    char *room = reserve(buffer, len);
    if (!room)
        return false;
    if (len > 0)
        memcpy(room, data, len);
    room[len] = '\0';
    buffer->len += len;
    return true;
}

bool buffer_text(struct buffer *buffer, const char *text) {
    return buffer_append(buffer, text, strlen(text));
}

bool buffer_char(struct buffer *buffer, char c) {
    char *room = reserve(buffer, 1);
    if (!room)
        return false;
    room[0] = c;
    room[1] = '\0';
    buffer->len++;
    return true;
}

bool buffer_vprintf(struct buffer *buffer, const char *format, va_list args) {
    va_list measured;
    va_copy(measured, args);
    int len = vsnprintf(NULL, 0, format, measured); // NOLINT(clang-analyzer-valist.Uninitialized): va_copy did
    va_end(measured);
    char *room = len < 0 ? NULL : reserve(buffer, (size_t)len);
    if (!room) {
        buffer->failed = true;
        return false;
    }
    vsnprintf(room, (size_t)len + 1, format, args);
    buffer->len += (size_t)len;
    return true;
}

bool buffer_printf(struct buffer *buffer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    bool ok = buffer_vprintf(buffer, format, args);
    va_end(args);
    return ok;
}

static bool append_escaped(struct buffer *buffer, uint32_t c) {
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt"; // pairs of character and escape letter
    for (size_t i = 0; i + 1 < sizeof letters; i += 2)
        if ((uint32_t)letters[i] == c)
            return buffer_append(buffer, (char[]){'\\', letters[i + 1]}, 2);
    return buffer_printf(buffer, "\\u%04x", (unsigned)c);
}

static bool json_string(struct buffer *buffer, const char *text, size_t len, bool shown) {
    buffer_char(buffer, '"');
    for (size_t i = 0; i < len && !buffer->failed;) {
        size_t run = text_json_clean(text + i, shown ? text_visible(text + i, len - i) : len - i);
        buffer_append(buffer, text + i, run);
        i += run;
        if (i == len)
            break;
        size_t sequence = text_utf8_sequence(text + i, len - i);
        if (sequence == 0)
            buffer_append(buffer, "\xEF\xBF\xBD", 3);
        else
            append_escaped(buffer, sequence == 1 ? (unsigned char)text[i] : text_invisible(text + i, sequence));
        i += sequence ? sequence : 1;
    }
    return buffer_char(buffer, '"');
}

bool buffer_json_string(struct buffer *buffer, const char *text, size_t len) {
    if (len >= SIZE_MAX / 2 || text_json_clean(text, len) < len)
        return json_string(buffer, text, len, false);
    char *room = reserve(buffer, len + 2);
    if (!room)
        return false;
    *room++ = '"';
    room = mempcpy(room, text, len);
    memcpy(room, "\"", 2);
    buffer->len += len + 2;
    return true;
}

bool buffer_json_shown(struct buffer *buffer, const char *text, size_t len) {
    return json_string(buffer, text, len, true);
}

void buffer_truncate(struct buffer *buffer, size_t len) {
    if (!buffer->data || len >= buffer->len)
        return;
    buffer->len = len;
    buffer->data[len] = '\0';
}

void buffer_consume(struct buffer *buffer, size_t count) {
    if (count == 0 || !buffer->data)
        return;
    if (count > buffer->len)
        count = buffer->len;
    buffer->len -= count;
    memmove(buffer->data, buffer->data + count, buffer->len + 1);
}

char *buffer_take(struct buffer *buffer, size_t *len) {
    if (!buffer->data && !buffer->failed)
        buffer_append(buffer, "", 0);
    if (buffer->failed)
        return NULL;
    char *data = buffer->data;
    if (len)
        *len = buffer->len;
    buffer_init(buffer, buffer->max);
    return data;
}
