// SPDX-License-Identifier: Apache-2.0
// Writes YAML with libyaml's emitter, which knows the syntax of plain scalars; their resolved type is checked here.
#include "core/base/text.h"
#include "core/json/yaml.h"
#include "core/json/yaml/yaml_reader.h"

static bool emit_value(yaml_emitter_t *emitter, const cJSON *node, size_t depth);

static int write_output(void *out, unsigned char *text, size_t len) {
    return buffer_append(out, text, len) ? 1 : 0;
}

// Dates, times and base 60 numbers, which other YAML 1.1 parsers do not read as strings.
static bool looks_like_time(const char *text) {
    return *text >= '0' && *text <= '9' && text[strspn(text, "0123456789:.-+ TtZz")] == '\0';
}

bool yaml_is_string(const char *plain) {
    AUTO_BUFFER(token, SIZE_MAX / 4);
    return scalar_resolve(plain, strlen(plain), &token) == SCALAR_STRING && !token.failed && !looks_like_time(plain) &&
           strcmp(plain, "<<") != 0 && strcmp(plain, "=") != 0;
}

// Text with line breaks that a literal block would not preserve.
static bool has_odd_breaks(const char *text) {
    return text[0] == '\n' || text[0] == ' ' || strchr(text, '\r') || strstr(text, "\xC2\x85") ||
           strstr(text, "\xE2\x80\xA8") || strstr(text, "\xE2\x80\xA9");
}

static yaml_scalar_style_t style_of(const char *text, size_t len, bool is_key) {
    if (memchr(text, '\0', len) || !yaml_is_string(text))
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (strpbrk(text, "\n\r\xC2\xE2") && has_odd_breaks(text))
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (strchr(text, '\n'))
        return is_key ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_LITERAL_SCALAR_STYLE;
    return YAML_PLAIN_SCALAR_STYLE; // the emitter adds quotes if necessary
}

static bool emit_scalar(yaml_emitter_t *emitter, const char *text, size_t len, yaml_scalar_style_t style) {
    yaml_event_t event;
    return len <= INT32_MAX &&
           yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)len, 1, 1, style) &&
           yaml_emitter_emit(emitter, &event);
}

static bool emit_text(yaml_emitter_t *emitter, const char *text, size_t len, bool is_key) {
    return emit_scalar(emitter, text, len, style_of(text, len, is_key));
}

static bool emit_container(yaml_emitter_t *emitter, const cJSON *node, size_t depth) {
    yaml_event_t event;
    bool object = node_type(node) == cJSON_Object;
    yaml_sequence_style_t items = node->child ? YAML_BLOCK_SEQUENCE_STYLE : YAML_FLOW_SEQUENCE_STYLE;
    yaml_mapping_style_t members = node->child ? YAML_BLOCK_MAPPING_STYLE : YAML_FLOW_MAPPING_STYLE;
    int ok = object ? yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, members)
                    : yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, items);
    if (depth == JSON_MAX_DEPTH || !ok || !yaml_emitter_emit(emitter, &event))
        return false;
    for (const cJSON *child = node->child; child; child = child->next)
        if ((object && !emit_text(emitter, child->string, strlen(child->string), true)) ||
            !emit_value(emitter, child, depth + 1))
            return false;
    ok = object ? yaml_mapping_end_event_initialize(&event) : yaml_sequence_end_event_initialize(&event);
    return ok && yaml_emitter_emit(emitter, &event);
}

static bool emit_word(yaml_emitter_t *emitter, const char *word) {
    return emit_scalar(emitter, word, strlen(word), YAML_PLAIN_SCALAR_STYLE);
}

static bool emit_value(yaml_emitter_t *emitter, const cJSON *node, size_t depth) {
    const struct json *value = node_json_const(node);
    size_t len = 0;
    AUTO_TEXT text = json_string_copy(value, &len);
    switch (json_type(value)) {
    case JSON_NULL:
        return emit_word(emitter, "null");
    case JSON_BOOL:
        return emit_word(emitter, json_bool(value, false) ? "true" : "false");
    case JSON_NUMBER:
        return emit_word(emitter, json_number_text(value));
    case JSON_STRING:
        return text && emit_text(emitter, text, len, false);
    case JSON_ARRAY:
    case JSON_OBJECT:
        return emit_container(emitter, node, depth);
    default:
        return false;
    }
}

static bool emit_document(yaml_emitter_t *emitter, const cJSON *node) {
    yaml_event_t event;
    return yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) && yaml_emitter_emit(emitter, &event) &&
           yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) && yaml_emitter_emit(emitter, &event) &&
           emit_value(emitter, node, 0) && yaml_document_end_event_initialize(&event, 1) &&
           yaml_emitter_emit(emitter, &event) && yaml_stream_end_event_initialize(&event) &&
           yaml_emitter_emit(emitter, &event);
}

// Text that contains invisible or terminal control characters. The emitter itself escapes controls.
static bool has_invisible(const char *text) {
    size_t left = strlen(text);
    for (size_t clean; (clean = text_visible(text, left)) < left; text += clean + 1, left -= clean + 1)
        if ((unsigned char)text[clean] >= 0x80)
            return true;
    return false;
}

static bool shows_all(const cJSON *node) {
    for (; node; node = node->next)
        if ((node->string && has_invisible(node->string)) || (node->valuestring && has_invisible(node->valuestring)) ||
            !shows_all(node->child))
            return false;
    return true;
}

bool yaml_print(const struct json *value, struct buffer *out) {
    yaml_emitter_t emitter;
    if (!value || !yaml_emitter_initialize(&emitter))
        return false;
    yaml_emitter_set_output(&emitter, write_output, out);
    yaml_emitter_set_unicode(&emitter, shows_all(node_of_const(value)));
    yaml_emitter_set_width(&emitter, -1);
    bool ok = emit_document(&emitter, node_of_const(value)) && yaml_emitter_flush(&emitter);
    yaml_emitter_delete(&emitter);
    return ok && !out->failed;
}
