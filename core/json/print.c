// SPDX-License-Identifier: Apache-2.0
// Printing values, and writing without values. cJSON's printer is unsuitable: without limits of depth and size, and
// with a result that must be copied.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/json/node.h"
#include "core/json/writer.h"

#include <inttypes.h>

static void break_line(struct buffer *out, size_t depth) {
    buffer_char(out, '\n');
    while (depth-- > 0)
        buffer_text(out, "    ");
}

// Prints a scalar or the opening bracket of a container, with a member's key.
static bool print_start(const cJSON *node, bool member, bool lines, struct buffer *out) {
    if (member) {
        buffer_json_string(out, node->string, strlen(node->string));
        buffer_char(out, ':');
        if (lines)
            buffer_char(out, ' ');
    }
    if (node_type(node) == cJSON_Object)
        return buffer_char(out, '{');
    if (node_type(node) == cJSON_Array)
        return buffer_char(out, '[');
    switch (node_type(node)) {
    case cJSON_NULL:
        return buffer_append(out, "null", 4);
    case cJSON_True:
        return buffer_append(out, "true", 4);
    case cJSON_False:
        return buffer_append(out, "false", 5);
    case cJSON_Raw:
        return buffer_text(out, node->valuestring);
    case cJSON_String:
        return buffer_json_string(out, node->valuestring, strlen(node->valuestring));
    default:
        return false;
    }
}

static bool print(const struct json *value, bool lines, struct buffer *out) {
    const cJSON *open[JSON_MAX_DEPTH];
    size_t depth = 0;
    if (!value)
        return false;
    const cJSON *node = node_of_const(value);
    bool member = false;
    SENSITIVE_WHILE(arena_is_sensitive(node));
    for (;;) {
        if (!print_start(node, member, lines, out))
            return false;
        if (node_is_container(node)) {
            if (depth == JSON_MAX_DEPTH)
                return false;
            open[depth++] = node;
            member = node_type(node) == cJSON_Object;
            if (lines && node->child)
                break_line(out, depth);
            if (node->child) {
                node = node->child;
                continue;
            }
            node = NULL; // an empty one closes at once
        } else if (depth > 0) {
            node = node->next;
        }
        while (depth > 0 && !node) {
            const cJSON *closed = open[--depth];
            if (lines && closed->child)
                break_line(out, depth);
            buffer_char(out, node_type(closed) == cJSON_Object ? '}' : ']');
            node = depth > 0 ? closed->next : NULL;
        }
        if (depth == 0)
            return !out->failed;
        member = node_type(open[depth - 1]) == cJSON_Object;
        buffer_char(out, ',');
        if (lines)
            break_line(out, depth);
    }
}

bool json_print(const struct json *value, struct buffer *out) {
    return print(value, false, out);
}

bool json_print_lines(const struct json *value, struct buffer *out) {
    return print(value, true, out);
}

char *json_text(const struct json *value, size_t *len) {
    AUTO_BUFFER(out, SIZE_MAX / 4);
    if (!json_print(value, &out))
        return NULL;
    // The host keeps many texts: growing by doubling would waste a third of the memory.
    char *text = malloc(out.len + 1);
    if (!text)
        return NULL;
    memcpy(text, out.data, out.len + 1);
    if (len)
        *len = out.len;
    return text;
}

// -- without values (writer.h) --

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
    begin(writer, key);
    if (text)
        buffer_json_string(writer->out, text, strlen(text));
    else
        buffer_text(writer->out, "null");
}

static void digits(struct writer *writer, uint64_t value) {
    char text[20], *end = text + sizeof text;
    char *start = number_digits(value, end);
    buffer_append(writer->out, start, (size_t)(end - start));
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
    writer_string(writer, key, NULL);
}

void writer_double(struct writer *writer, const char *key, double value) {
    begin(writer, key);
    buffer_printf(writer->out, "%.15g", value);
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
    clock_rfc3339(wall_ns, text);
    writer_string(writer, key, wall_ns != 0 ? text : NULL);
}
