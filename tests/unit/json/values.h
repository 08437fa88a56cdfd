// SPDX-License-Identifier: Apache-2.0
// Values from text and text from values. (tests/unit/quoted.h reads ' as ", here a text is what it is.)
#pragma once

#include "core/base/text.h"
#include "core/json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline struct json *parsed(const char *text) {
    struct json *value = NULL;
    struct error *error = json_parse(text, strlen(text), &value);
    if (error)
        fail_msg("%s: %s", text, error->message);
    return value;
}

static inline void assert_text(const struct json *value, const char *expected) {
    AUTO_TEXT text = json_text(value, NULL);
    assert_string_equal(text, expected);
}
