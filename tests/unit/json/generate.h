// SPDX-License-Identifier: Apache-2.0
// Random JSON text and values from a seed, with what is nasty in either.
#pragma once

#include "core/base/buffer.h"
#include "core/base/text.h"
#include "core/json/json.h"

static const char *const generate_numbers[] = {
    "0",
    "-0",
    "1.0",
    "9007199254740993",
    "1000000000000000",
    "-9223372036854775808",
    "18446744073709551616",
    "1e400",
    "1E+5",
    "1e-7",
    "0.1",
    "123456789012345678901234567890",
    "-1.50e-300",
    "0.0",
    "0e0",
    "5E0",
    "42",
    "-7",
    "3.14159265358979323846",
};

// As literals, without their quotes.
static const char *const generate_pieces[] = {
    "a",
    "name",
    "metadata",
    " ",
    "\\n",
    "\\u0000",
    "\\\"",
    "\\\\",
    "\\/",
    "\\ud83d\\ude00",
    "\\ud800",
    "\\udc00",
    "\\u00e4",
    "\xC3\xA4",
    "\xE2\x82\xAC",
    "\xF0\x9F\x98\x80",
    "\x7f",
    "\xC2\x85",
    "\xE2\x80\xA8",
    "\\b\\f\\t",
    "\\r\\n",
    "\xEF\xBB\xBF",
    ":",
    "- ",
    "#",
    "{}",
    "'",
    "true",
    "null",
    "1",
    "~",
    "<<",
    "*x",
    "&y",
    "!!str",
    "%",
    "@",
    "`",
    "|",
    ">",
    "?",
    ",",
    "[",
    "]",
    "---",
};

#define GENERATE_PICK(random, array) ((array)[random_below((random), sizeof(array) / sizeof((array)[0]))])

// Without U+0000 in keys, which the parser refuses.
static inline void generate_literal(struct random *random, struct buffer *out, bool key) {
    buffer_char(out, '"');
    for (uint64_t i = random_below(random, 6); i > 0; i--) {
        const char *piece = GENERATE_PICK(random, generate_pieces);
        if (!key || !text_equal(piece, "\\u0000"))
            buffer_text(out, piece);
    }
    buffer_char(out, '"');
}

static inline void generate_space(struct random *random, struct buffer *out) {
    static const char *const spaces[] = {"", "", "", "", " ", "\n", "\t", "\r\n  "};
    buffer_text(out, GENERATE_PICK(random, spaces));
}

static inline void generate_text(struct random *random, struct buffer *out, unsigned depth) {
    static const char *const words[] = {"null", "true", "false"};
    uint64_t kind = random_below(random, depth == 0 ? 4 : 8);
    generate_space(random, out);
    if (kind == 0) {
        buffer_text(out, GENERATE_PICK(random, words));
    } else if (kind == 1) {
        buffer_text(out, GENERATE_PICK(random, generate_numbers));
    } else if (kind < 4) {
        generate_literal(random, out, false);
    } else {
        uint64_t count = random_below(random, random_below(random, 20) == 0 ? 60 : 6);
        buffer_char(out, kind < 6 ? '[' : '{');
        for (uint64_t i = 0; i < count; i++) {
            if (i > 0)
                buffer_char(out, ',');
            generate_space(random, out);
            if (kind >= 6) {
                generate_literal(random, out, true);
                generate_space(random, out);
                buffer_char(out, ':');
            }
            generate_text(random, out, depth - 1);
        }
        generate_space(random, out);
        buffer_char(out, kind < 6 ? ']' : '}');
    }
    generate_space(random, out);
}

// NULL if the generated text was refused.
static inline struct json *generate_value(struct random *random, unsigned depth) {
    AUTO_BUFFER(text, 1 << 24);
    generate_text(random, &text, depth);
    struct json *value = NULL;
    struct error *error = text.failed ? error_no_memory() : json_parse(text.data, text.len, &value);
    error_free(error);
    return value;
}
