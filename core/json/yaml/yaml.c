// SPDX-License-Identifier: Apache-2.0
// YAML parser: streams, documents and errors, and the types of scalars. The nodes are in yaml_node.c.
#include "core/json/yaml.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/yaml/yaml_reader.h"

#include <inttypes.h>
#include <math.h>

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
    map_free_values(&reader->anchors);
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
    map_free_values(&reader.anchors);
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

void yaml_cleanup(struct yaml *yaml) {
    json_free(yaml->value);
    yaml->value = NULL;
}

// -- types of scalars --

// Exact spellings: "yEs" is a string.
static const struct {
    const char *text;
    enum scalar scalar;
} words[] = {
    {"", SCALAR_NULL},           {"~", SCALAR_NULL},          {"null", SCALAR_NULL},       {"Null", SCALAR_NULL},
    {"NULL", SCALAR_NULL},       {"true", SCALAR_TRUE},       {"True", SCALAR_TRUE},       {"TRUE", SCALAR_TRUE},
    {"y", SCALAR_TRUE},          {"Y", SCALAR_TRUE},          {"yes", SCALAR_TRUE},        {"Yes", SCALAR_TRUE},
    {"YES", SCALAR_TRUE},        {"on", SCALAR_TRUE},         {"On", SCALAR_TRUE},         {"ON", SCALAR_TRUE},
    {"false", SCALAR_FALSE},     {"False", SCALAR_FALSE},     {"FALSE", SCALAR_FALSE},     {"n", SCALAR_FALSE},
    {"N", SCALAR_FALSE},         {"no", SCALAR_FALSE},        {"No", SCALAR_FALSE},        {"NO", SCALAR_FALSE},
    {"off", SCALAR_FALSE},       {"Off", SCALAR_FALSE},       {"OFF", SCALAR_FALSE},       {".nan", SCALAR_NOT_FINITE},
    {".NaN", SCALAR_NOT_FINITE}, {".NAN", SCALAR_NOT_FINITE}, {".inf", SCALAR_NOT_FINITE}, {".Inf", SCALAR_NOT_FINITE},
    {".INF", SCALAR_NOT_FINITE},
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_sign(char c) {
    return c == '+' || c == '-';
}

static bool find_word(const char *text, size_t len, enum scalar *scalar) {
    // The infinities have a sign before the dot, nothing else that is listed has.
    bool sign = len > 1 && is_sign(text[0]) && text[1] == '.';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *word = words[i].text;
        if (sign && (word[0] != '.' || (word[1] | 0x20) != 'i'))
            continue;
        if (strlen(word) == len - sign && memcmp(word, text + sign, len - sign) == 0) {
            *scalar = words[i].scalar;
            return true;
        }
    }
    return false;
}

// The base of the prefix; advances *text past the prefix. A leading zero is octal, as in Go.
static unsigned take_base(const char **text) {
    const char *t = *text;
    if (t[0] != '0' || t[1] == '\0')
        return 10;
    char letter = (char)(t[1] | 0x20);
    unsigned base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    *text += base ? 2 : 1;
    return base ? base : 8;
}

// An integer with a prefix. False for anything else.
static bool resolve_based(const char *digits, unsigned base, bool negative, struct buffer *token, enum scalar *scalar) {
    uint64_t value = 0;
    bool overflow = false;
    if (!*digits)
        return false;
    for (; *digits; digits++) {
        int digit = hex_value(*digits);
        if (digit < 0 || (unsigned)digit >= base)
            return false;
        overflow =
            overflow || __builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value);
    }
    if (overflow || (negative && value > UINT64_C(1) << 63)) {
        *scalar = SCALAR_TOO_LARGE;
        return true;
    }
    *scalar = SCALAR_INTEGER;
    buffer_printf(token, "%s%" PRIu64, negative && value > 0 ? "-" : "", value);
    return true;
}

static bool resolve_integer(const char *text, struct buffer *token, enum scalar *scalar) {
    bool negative = *text == '-';
    text += is_sign(*text);
    const char *digits = text;
    unsigned base = take_base(&digits);
    if (base != 10) {
        bool leading_zero = digits == text + 1;
        if (!resolve_based(digits, base, negative, token, scalar))
            return false;
        return *scalar != SCALAR_TOO_LARGE || !leading_zero; // then Go reads a float
    }
    size_t len = strspn(digits, "0123456789");
    if (len == 0 || digits[len] != '\0')
        return false;
    *scalar = SCALAR_INTEGER;
    buffer_text(token, negative && digits[0] != '0' ? "-" : "");
    buffer_append(token, digits, len);
    return true;
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? that a float64 can hold, written as in JSON: a digit on both
// sides of the point, no leading zeros.
static bool resolve_float(const char *text, struct buffer *token) {
    bool negative = *text == '-';
    text += is_sign(*text);
    size_t whole = strspn(text, "0123456789");
    const char *fraction = text + whole + (text[whole] == '.');
    size_t fraction_len = text[whole] == '.' ? strspn(fraction, "0123456789") : 0;
    const char *exponent = fraction + fraction_len;
    if (whole + fraction_len == 0)
        return false;
    if (*exponent) {
        const char *digits = exponent + 1 + is_sign(exponent[1]);
        if ((*exponent | 0x20) != 'e' || !*digits || digits[strspn(digits, "0123456789")] != '\0')
            return false;
    }
    if (isinf(strtod(text, NULL)))
        return false;
    while (whole > 0 && *text == '0') {
        text++;
        whole--;
    }
    buffer_text(token, negative ? "-" : "");
    buffer_append(token, whole ? text : "0", whole ? whole : 1);
    if (fraction_len > 0) {
        buffer_char(token, '.');
        buffer_append(token, fraction, fraction_len);
    }
    buffer_text(token, exponent);
    return true;
}

static enum scalar resolve_number(const char *text, struct buffer *token) {
    enum scalar scalar;
    if (text[0] != '.' && resolve_integer(text, token, &scalar))
        return scalar;
    return resolve_float(text, token) ? SCALAR_FLOAT : SCALAR_STRING;
}

enum scalar scalar_resolve(const char *text, size_t len, struct buffer *token) {
    enum scalar scalar;
    if (find_word(text, len, &scalar))
        return scalar;
    if (!is_digit(text[0]) && !is_sign(text[0]) && text[0] != '.')
        return SCALAR_STRING;
    if (memchr(text, '\0', len))
        return SCALAR_STRING;
    AUTO_BUFFER(plain, SIZE_MAX / 4);
    for (size_t i = 0; i < len; i++)
        if (text[i] != '_' || text[0] == '.') // Go drops underscores where an integer is tried first
            buffer_char(&plain, text[i]);
    if (plain.failed) {
        token->failed = true;
        return SCALAR_STRING;
    }
    return resolve_number(plain.data, token);
}
