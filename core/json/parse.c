// SPDX-License-Identifier: Apache-2.0
// The JSON parser: strict RFC 8259, single pass, no recursion. Also the scanner of writer.h.
#include "core/base/text.h"
#include "core/json/node.h"
#include "core/json/writer.h"

#define STOP_EVERY 4096 // nodes between two checks of limits.stop
#define ARENA_LARGEST ((size_t)1 << 20)

struct level {
    cJSON *container;
    struct keys keys;
};

struct parser {
    const char *text;
    size_t len, at;
    struct json_limits limits;
    size_t nodes, bytes; // so far
    cJSON *root;
    struct arena *arena; // NULL: the document is one plain value
    size_t depth;
    struct level levels[JSON_MAX_DEPTH];
    bool has_key; // `key` is the key of the value that comes next
    struct literal key;
    struct error *error;
};

static bool fail_at(struct parser *parser, size_t at, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// The message begins with the position in lines and characters, both from 1.
static bool fail_at(struct parser *parser, size_t at, enum error_code code, const char *format, ...) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        if (parser->text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)parser->text[i] & 0xC0) != 0x80) {
            column++;
        }
    }
    va_list args;
    va_start(args, format);
    AUTO_TEXT problem = text_vformat(format, args);
    va_end(args);
    parser->error = problem ? error_new(code, "line %zu, column %zu: %s", line, column, problem) : error_no_memory();
    return false;
}

static bool out_of_memory(struct parser *parser) {
    parser->error = error_no_memory();
    return false;
}

static bool unexpected(struct parser *parser, const char *expected) {
    if (parser->at >= parser->len)
        return fail_at(parser, parser->len, ERROR_INVALID, "found the end of the text, expected %s", expected);
    unsigned char c = (unsigned char)parser->text[parser->at];
    if (c > 0x20 && c < 0x7f)
        return fail_at(parser, parser->at, ERROR_INVALID, "found '%c', expected %s", c, expected);
    return fail_at(parser, parser->at, ERROR_INVALID, "found byte 0x%02x, expected %s", c, expected);
}

// The next character other than white space, or '\0' (a NUL in the text is never expected either).
static inline char peek(struct parser *parser) {
    while (parser->at < parser->len) {
        char c = parser->text[parser->at];
        if (!scan_is_space(c))
            return c;
        parser->at++;
    }
    return '\0';
}

// Counts a node that is about to be made, against the limits.
static bool count_node(struct parser *parser, size_t key_size, size_t text_size) {
    const struct json_limits *limits = &parser->limits;
    if (parser->nodes++ % STOP_EVERY == 0 && limits->stop && atomic_load_explicit(limits->stop, memory_order_relaxed))
        return fail_at(parser, parser->at, ERROR_STOPPED, "reading was stopped");
    if (parser->nodes > limits->max_nodes)
        return fail_at(parser, parser->at, ERROR_TOO_LARGE, "more than %zu values in one document", limits->max_nodes);
    parser->bytes += node_size(key_size, text_size);
    if (parser->bytes > limits->max_bytes)
        return fail_at(parser, parser->at, ERROR_TOO_LARGE, "the document needs more than %zu bytes of memory",
                       limits->max_bytes);
    return true;
}

// A node with the preceding key, and room for text.
static cJSON *make_node(struct parser *parser, int type, size_t text_size) {
    size_t key_size = parser->has_key ? parser->key.len + 1 : 0;
    if (!count_node(parser, key_size, text_size))
        return NULL;
    cJSON *node = node_new_in(parser->arena, type, key_size, text_size);
    if (!node) {
        out_of_memory(parser);
        return NULL;
    }
    if (parser->has_key)
        node->string[literal_decode(&parser->key, node->string)] = '\0';
    return node;
}

// Adds the node to the container. The last of several members with one key replaces the first.
static bool attach(struct parser *parser, cJSON *node) {
    if (parser->depth == 0) {
        parser->root = node;
        node_hold_arena(node);
        return true;
    }
    struct level *level = &parser->levels[parser->depth - 1];
    cJSON *old = parser->has_key ? keys_find(&level->keys, level->container, node->string) : NULL;
    if (old)
        node_put(level->container, old, node);
    else
        node_append(level->container, node);
    return true;
}

// A string with U+0000 is stored as a normalised literal, so that equal strings have equal nodes.
static bool take_nul_string(struct parser *parser, const struct literal *literal) {
    AUTO_JSON plain = NULL;
    char *decoded = cJSON_malloc(literal->len);
    if (!decoded)
        return out_of_memory(parser);
    size_t len = literal_decode(literal, decoded);
    plain = node_json(node_new_text(decoded, len));
    if (sensitive_section)
        explicit_bzero(decoded, len);
    cJSON_free(decoded);
    if (!plain)
        return out_of_memory(parser);
    const char *text = node_of(plain)->valuestring;
    cJSON *node = make_node(parser, cJSON_Raw, strlen(text) + 1);
    if (!node)
        return false;
    memcpy(node->valuestring, text, strlen(text) + 1);
    return attach(parser, node);
}

static bool take_string(struct parser *parser) {
    struct literal literal;
    const char *problem = literal_scan(parser->text, parser->len, &parser->at, &literal);
    if (problem)
        return fail_at(parser, parser->at, ERROR_INVALID, "%s", problem);
    if (literal.has_nul)
        return take_nul_string(parser, &literal);
    cJSON *node = make_node(parser, cJSON_String, literal.len + 1);
    if (!node)
        return false;
    node->valuestring[literal_decode(&literal, node->valuestring)] = '\0';
    return attach(parser, node);
}

static bool take_number(struct parser *parser) {
    size_t bad;
    const char *token = parser->text + parser->at;
    size_t len = number_scan(token, parser->len - parser->at, &bad);
    if (len == 0) {
        parser->at += bad;
        return unexpected(parser, "a digit");
    }
    cJSON *node = make_node(parser, cJSON_Raw, len + 1);
    if (!node)
        return false;
    memcpy(node->valuestring, token, len);
    node->valuestring[len] = '\0';
    parser->at += len;
    return attach(parser, node);
}

static bool take_word(struct parser *parser, const char *word, int type) {
    size_t len = strlen(word);
    if (parser->len - parser->at < len || memcmp(parser->text + parser->at, word, len) != 0)
        return unexpected(parser, "a value");
    cJSON *node = make_node(parser, type, 0);
    if (!node)
        return false;
    parser->at += len;
    return attach(parser, node);
}

static bool open_container(struct parser *parser, int type) {
    if (parser->depth == JSON_MAX_DEPTH)
        return fail_at(parser, parser->at, ERROR_LIMIT, "nested too deeply");
    cJSON *node = make_node(parser, type, 0);
    if (!node || !attach(parser, node))
        return false;
    parser->at++;
    parser->levels[parser->depth++] = (struct level){.container = node};
    return true;
}

static bool take_key(struct parser *parser) {
    if (peek(parser) != '"')
        return unexpected(parser, "a key in quotes");
    size_t start = parser->at;
    const char *problem = literal_scan(parser->text, parser->len, &parser->at, &parser->key);
    if (problem)
        return fail_at(parser, parser->at, ERROR_INVALID, "%s", problem);
    if (parser->key.has_nul)
        return fail_at(parser, start, ERROR_INVALID, "a key with U+0000 in it is not supported");
    if (peek(parser) != ':')
        return unexpected(parser, "':' after the key");
    parser->at++;
    parser->has_key = true;
    return true;
}

static bool is_object(const struct level *level) {
    return node_type(level->container) == cJSON_Object;
}

// Sets *opened if a container begins that is not empty.
static bool take_value(struct parser *parser, bool *opened) {
    *opened = false;
    char c = peek(parser);
    if (c == '-' || (c >= '0' && c <= '9'))
        return take_number(parser);
    switch (c) {
    case '"':
        return take_string(parser);
    case '{':
    case '[': {
        bool object = parser->text[parser->at] == '{';
        if (!open_container(parser, object ? cJSON_Object : cJSON_Array))
            return false;
        *opened = peek(parser) != (object ? '}' : ']');
        return true;
    }
    case 't':
        return take_word(parser, "true", cJSON_True);
    case 'f':
        return take_word(parser, "false", cJSON_False);
    case 'n':
        return take_word(parser, "null", cJSON_NULL);
    default:
        return unexpected(parser, "a value");
    }
}

// After a value or an opening bracket of an empty container: closes finished containers. *more: a value follows.
static bool take_ends(struct parser *parser, bool *more) {
    *more = false;
    while (parser->depth > 0) {
        struct level *level = &parser->levels[parser->depth - 1];
        bool object = is_object(level);
        char c = peek(parser);
        if (c == ',' && level->container->child) {
            parser->at++;
            *more = true;
            return true;
        }
        if (c != (object ? '}' : ']'))
            return unexpected(parser, object ? "',' or '}'" : "',' or ']'");
        parser->at++;
        parser->depth--;
        index_drop_narrow(level->container);
    }
    return true;
}

static bool take_document(struct parser *parser) {
    bool more = true;
    while (more) {
        parser->has_key = false;
        if (parser->depth > 0 && is_object(&parser->levels[parser->depth - 1]) && !take_key(parser))
            return false;
        bool opened;
        if (!take_value(parser, &opened))
            return false;
        if (!opened && !take_ends(parser, &more))
            return false;
    }
    peek(parser);
    return parser->at == parser->len || unexpected(parser, "nothing more after the document");
}

// Nodes of Kubernetes objects take 3.8 to 4 times the size of the text. A document that takes more gets the rest in
// small steps, since the rest of the last step stays as long as the document.
static bool make_arena(struct parser *parser) {
    char c = peek(parser);
    if (c != '{' && c != '[')
        return true;
    size_t size = parser->len > ARENA_LARGEST / 4 ? ARENA_LARGEST : parser->len * 4 + 256;
    if (size > parser->limits.max_bytes)
        size = parser->limits.max_bytes;
    parser->arena = arena_new(size, size / 8 + 64);
    return parser->arena || out_of_memory(parser);
}

struct error *json_parse(const char *text, size_t len, struct json **out) {
    return json_parse_limited(text, len, NULL, out);
}

struct error *json_parse_limited(const char *text, size_t len, const struct json_limits *limits, struct json **out) {
    struct parser parser;
    parser.limits = limits ? *limits : (struct json_limits){0};
    parser.limits.max_nodes = parser.limits.max_nodes ? parser.limits.max_nodes : JSON_MAX_NODES;
    parser.limits.max_bytes = parser.limits.max_bytes ? parser.limits.max_bytes : JSON_MAX_BYTES;
    parser.nodes = 0;
    parser.bytes = 0;
    parser.text = text;
    parser.len = len;
    parser.at = 0;
    parser.root = NULL;
    parser.depth = 0;
    parser.arena = NULL;
    *out = NULL;
    if (make_arena(&parser) && take_document(&parser)) {
        *out = node_json(parser.root);
        return NULL;
    }
    if (parser.arena && !parser.root) { // no holder yet
        arena_hold(parser.arena);
        arena_drop(parser.arena);
    }
    node_free(parser.root);
    return parser.error;
}

// -- scanning (writer.h) --

// How many backslashes are before `end`, at most to `begin`.
static size_t backslashes(const char *text, size_t begin, size_t end) {
    size_t at = end;
    while (at > begin && text[at - 1] == '\\')
        at--;
    return end - at;
}

// The offset after the closing quote, or `len` if scan->in_string is still set.
static size_t scan_string(struct scan *scan, const char *text, size_t at, size_t len) {
    scan->in_string = true;
    if (scan->escaped && at < len) {
        scan->escaped = false;
        at++;
    }
    while (at < len) {
        const char *quote = memchr(text + at, '"', len - at);
        size_t end = quote ? (size_t)(quote - text) : len;
        bool escaped = backslashes(text, at, end) % 2 != 0;
        if (!quote) {
            scan->escaped = escaped;
            return len;
        }
        at = end + 1;
        if (!escaped) {
            scan->in_string = false;
            break;
        }
    }
    return at;
}

// Scans outside of strings. Returns the offset after the value's last byte; sets *ended for a complete value.
static size_t scan_nested(struct scan *scan, const char *text, size_t at, size_t len, bool *ended) {
    size_t depth = scan->depth;
    *ended = false;
    while (at < len && !*ended) {
        char c = text[at];
        if (depth == 0 && (c == ',' || c == '}' || c == ']' || scan_is_space(c))) {
            *ended = true; // after a number or a word
            break;
        }
        at++;
        if (c == '"') {
            at = scan_string(scan, text, at, len);
            *ended = !scan->in_string && depth == 0;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            *ended = --depth == 0;
        }
    }
    scan->depth = depth;
    return at;
}

bool scan_value(struct scan *scan, const char *text, size_t *at, size_t len) {
    bool ended = false;
    if (scan->in_string) {
        *at = scan_string(scan, text, *at, len);
        ended = !scan->in_string && scan->depth == 0;
    }
    if (!ended)
        *at = scan_nested(scan, text, *at, len, &ended);
    return ended;
}
