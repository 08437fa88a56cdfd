// SPDX-License-Identifier: Apache-2.0
// YAML parser: streams, documents and errors. The nodes are in yaml_node.c.
#include "core/json/yaml.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "core/json/yaml/yaml_reader.h"

#include <string.h>

cJSON *reader_fail_at(struct yaml_reader *reader, const yaml_mark_t *mark, enum error_code code, const char *problem) {
    if (!reader->error)
        reader->error = error_new(code, "%s:%zu:%zu: %s", reader->name, mark->line + 1, mark->column + 1, problem);
    return NULL;
}

cJSON *reader_fail(struct yaml_reader *reader, enum error_code code, const char *problem) {
    return reader_fail_at(reader, &reader->event.start_mark, code, problem);
}

cJSON *reader_fail_about(struct yaml_reader *reader, const yaml_mark_t *mark, const char *text, const char *problem) {
    char shown[64];
    text_copy(shown, sizeof shown, text);
    for (char *c = shown; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    AUTO_TEXT sentence = text_format("\"%s\" %s", shown, problem);
    return reader_fail_at(reader, mark, ERROR_INVALID, sentence ? sentence : problem);
}

cJSON *reader_no_memory(struct yaml_reader *reader) {
    if (!reader->error)
        reader->error = error_no_memory();
    return NULL;
}

// For invalid encoding, libyaml's reader reports only the offset.
static yaml_mark_t mark_at(const char *text, size_t len, size_t offset) {
    yaml_mark_t mark = {.index = offset};
    for (size_t i = 0; i < offset && i < len; i++) {
        mark.column = text[i] == '\n' ? 0 : mark.column + 1;
        mark.line += text[i] == '\n';
    }
    return mark;
}

// True if there is a tab in the indentation.
static bool is_tab(const struct yaml_reader *reader, const yaml_mark_t *mark) {
    const char *line = reader->text, *end = reader->text + reader->len;
    for (size_t i = 0; line && i < mark->line; i++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : NULL;
    }
    if (!line || mark->column >= (size_t)(end - line) || line[mark->column] != '\t')
        return false;
    for (size_t i = 0; i < mark->column; i++)
        if (line[i] != ' ')
            return false;
    return true;
}

static void syntax_error(struct yaml_reader *reader) {
    const yaml_parser_t *parser = &reader->parser;
    const char *problem = parser->problem ? parser->problem : "not YAML";
    if (parser->error == YAML_MEMORY_ERROR) {
        reader_no_memory(reader);
    } else if (parser->error == YAML_READER_ERROR) {
        yaml_mark_t mark = mark_at(reader->text, reader->len, parser->problem_offset);
        reader_fail_at(reader, &mark, ERROR_INVALID, problem);
    } else if (is_tab(reader, &parser->problem_mark)) {
        reader_fail_at(reader, &parser->problem_mark, ERROR_INVALID,
                       "found a tab, expected spaces: YAML does not allow tabs for indentation");
    } else {
        AUTO_TEXT whole =
            text_format("%s%s%s", problem, parser->context ? " " : "", parser->context ? parser->context : "");
        reader_fail_at(reader, &parser->problem_mark, ERROR_INVALID, whole ? whole : problem);
    }
}

bool reader_next(struct yaml_reader *reader) {
    yaml_event_delete(&reader->event);
    if (yaml_parser_parse(&reader->parser, &reader->event))
        return true;
    memset(&reader->event, 0, sizeof reader->event);
    syntax_error(reader);
    return false;
}

// The current event follows the stream's start or a document's end. *out is NULL at the end of the stream.
static bool read_document(struct yaml_reader *reader, struct json **out) {
    *out = NULL;
    if (!reader_next(reader))
        return false;
    if (reader->event.type == YAML_STREAM_END_EVENT)
        return true;
    // Document start, root node, document end.
    AUTO_JSON value = reader_next(reader) ? node_json(reader_node(reader, 0)) : NULL;
    reader_drop_anchors(reader);
    if (!value || !reader_next(reader))
        return false;
    *out = TAKE(value);
    return true;
}

static bool read_one(struct yaml_reader *reader, struct json **out) {
    if (!read_document(reader, out))
        return false;
    if (!*out) {
        *out = json_new_null();
        return *out || reader_no_memory(reader);
    }
    if (!reader_next(reader))
        return false;
    if (reader->event.type != YAML_STREAM_END_EVENT)
        reader_fail(reader, ERROR_INVALID, "a second document begins here; only one is expected");
    return !reader->error;
}

static bool read_all(struct yaml_reader *reader, struct json **out) {
    *out = json_new_array();
    for (struct json *document = NULL; *out;) {
        if (!read_document(reader, &document))
            return false;
        if (!document)
            return true;
        node_append(node_of(*out), node_of(document));
    }
    return reader_no_memory(reader);
}

static struct error *read_stream(const char *name, const char *text, size_t len, struct yaml *out,
                                 bool (*read)(struct yaml_reader *, struct json **)) {
    struct yaml_reader reader = {.name = name, .text = text, .len = len, .kept = json_new_array()};
    *out = (struct yaml){0};
    map_init(&reader.anchors, random_system());
    if (!reader.kept || !yaml_parser_initialize(&reader.parser)) {
        json_free(reader.kept);
        return error_no_memory();
    }
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, len);
    bool ok = reader_next(&reader) && read(&reader, &out->value); // skips the stream's start
    yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    reader_drop_anchors(&reader);
    json_free(reader.kept);
    if (ok)
        return NULL;
    yaml_cleanup(out);
    return reader.error;
}

struct error *yaml_parse(const char *name, const char *text, size_t len, struct yaml *out) {
    return read_stream(name, text, len, out, read_one);
}

struct error *yaml_parse_all(const char *name, const char *text, size_t len, struct yaml *out) {
    return read_stream(name, text, len, out, read_all);
}

size_t yaml_line(const struct yaml *yaml, const char *pointer) {
    const struct json *value = pointer_find(yaml->value, pointer);
    return value ? (size_t)node_line(node_of_const(value)) : 0;
}

void yaml_cleanup(struct yaml *yaml) {
    json_free(yaml->value);
    yaml->value = NULL;
}
