// SPDX-License-Identifier: Apache-2.0
#include "core/json/writer.h"

#include "core/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void begin(struct writer *writer, const char *key) {
    if (writer->comma)
        buffer_char(writer->out, ',');
    writer->comma = true;
    if (!key)
        return;
    buffer_json_string(writer->out, key, strlen(key));
    buffer_char(writer->out, ':');
}

static void open_with(struct writer *writer, const char *key, char bracket) {
    begin(writer, key);
    buffer_char(writer->out, bracket);
    writer->comma = false;
}

void writer_object(struct writer *writer, const char *key) {
    open_with(writer, key, '{');
}

void writer_array(struct writer *writer, const char *key) {
    open_with(writer, key, '[');
}

void writer_end(struct writer *writer, char bracket) {
    buffer_char(writer->out, bracket);
    writer->comma = true;
}

void writer_string(struct writer *writer, const char *key, const char *text) {
    if (!text) {
        writer_null(writer, key);
        return;
    }
    begin(writer, key);
    buffer_json_string(writer->out, text, strlen(text));
}

static void digits(struct writer *writer, uint64_t value) {
    char text[20];
    size_t at = sizeof text;
    do
        text[--at] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    buffer_append(writer->out, text + at, sizeof text - at);
}

void writer_uint(struct writer *writer, const char *key, uint64_t value) {
    begin(writer, key);
    digits(writer, value);
}

void writer_int(struct writer *writer, const char *key, int64_t value) {
    begin(writer, key);
    if (value < 0)
        buffer_char(writer->out, '-');
    digits(writer, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void writer_bool(struct writer *writer, const char *key, bool value) {
    begin(writer, key);
    buffer_text(writer->out, value ? "true" : "false");
}

void writer_null(struct writer *writer, const char *key) {
    begin(writer, key);
    buffer_text(writer->out, "null");
}

void writer_seconds(struct writer *writer, const char *key, int64_t ns) {
    begin(writer, key);
    if (ns < 0)
        buffer_char(writer->out, '-');
    uint64_t us = (ns < 0 ? -(uint64_t)ns : (uint64_t)ns) / 1000;
    digits(writer, us / 1000000);
    char text[8];
    size_t len = (size_t)snprintf(text, sizeof text, ".%06" PRIu64, us % 1000000);
    while (len > 0 && (text[len - 1] == '0' || text[len - 1] == '.'))
        if (text[--len] == '.')
            break;
    buffer_append(writer->out, text, len);
}

void writer_time(struct writer *writer, const char *key, int64_t wall_ns) {
    char text[CLOCK_RFC3339_MAX];
    if (wall_ns == 0) {
        writer_null(writer, key);
        return;
    }
    clock_rfc3339(wall_ns, text);
    writer_string(writer, key, text);
}
