// SPDX-License-Identifier: Apache-2.0
// Writes a JSON document straight into a buffer, without building values. A key is NULL for items of arrays and for the
// document itself. A buffer that is full or out of memory is seen at the end (buffer.failed).
#pragma once

#include "core/base/buffer.h"

#include <stdint.h>

struct writer {
    struct buffer *out;
    bool comma; // before the next member or item
};

void writer_object(struct writer *writer, const char *key); // to be closed with writer_end(writer, '}')
void writer_array(struct writer *writer, const char *key);  // with ']'
void writer_end(struct writer *writer, char bracket);

void writer_string(struct writer *writer, const char *key, const char *text); // NULL: null
void writer_int(struct writer *writer, const char *key, int64_t value);
void writer_uint(struct writer *writer, const char *key, uint64_t value);
void writer_bool(struct writer *writer, const char *key, bool value);
void writer_null(struct writer *writer, const char *key);
// Seconds with up to six digits after the point.
void writer_seconds(struct writer *writer, const char *key, int64_t ns);
// metav1.Time; 0: null.
void writer_time(struct writer *writer, const char *key, int64_t wall_ns);
