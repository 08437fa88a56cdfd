// SPDX-License-Identifier: Apache-2.0
// Printing. cJSON's printer is unsuitable: without limits of depth and size, and with a result that must be copied.
#include "core/json/node.h"

#include <stdlib.h>
#include <string.h>

static bool print_scalar(const cJSON *node, struct buffer *out) {
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
    return print_scalar(node, out);
}

static bool print(const struct json *value, bool lines, struct buffer *out) {
    const cJSON *open[JSON_MAX_DEPTH];
    size_t depth = 0;
    if (!value)
        return false;
    const cJSON *node = node_of_const(value);
    bool member = false;
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
