// SPDX-License-Identifier: Apache-2.0
// JSON in C strings, with ' for ", so that it can be read.
#pragma once

#include "core/base/text.h"
#include "core/json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static inline struct json *parsed(const char *text) {
    AUTO_TEXT quoted = strdup(text);
    assert_non_null(quoted);
    for (char *p = quoted; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    struct json *value = NULL;
    struct error *error = json_parse(quoted, strlen(quoted), &value);
    if (error)
        fail_msg("%s in %s", error_text(error), text);
    return value;
}
