// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/main.h"

#include "core/json/yaml.h"

#include <stdarg.h>

#define DOCUMENT_MAX ((size_t)256 << 20)

static char *fill(const char *template_, va_list args) {
    AUTO_BUFFER(text, DOCUMENT_MAX);
    for (const char *at = template_; *at != '\0'; at++) {
        const char *word = *at == '%' && at[1] == 's' ? va_arg(args, const char *) : NULL;
        const struct json *value = *at == '%' && at[1] == 'j' ? va_arg(args, const struct json *) : NULL;
        if (word)
            buffer_json_string(&text, word, strlen(word));
        else if (value)
            text.failed |= !json_print(value, &text);
        else if (*at == '%')
            buffer_text(&text, "null");
        else
            buffer_char(&text, *at == '\'' ? '"' : *at);
        at += *at == '%';
    }
    return text.failed ? NULL : buffer_take(&text, NULL);
}

char *document_text(const char *template_, ...) {
    va_list args;
    va_start(args, template_);
    char *text = fill(template_, args);
    va_end(args);
    return text;
}

struct json *document_make(const char *template_, ...) {
    va_list args;
    va_start(args, template_);
    AUTO_TEXT text = fill(template_, args);
    va_end(args);
    struct json *made = NULL;
    error_free(text ? json_parse(text, strlen(text), &made) : NULL);
    return made;
}

struct error *document_print(const struct json *document, bool yaml) {
    AUTO_BUFFER(text, DOCUMENT_MAX);
    if (!(yaml ? yaml_print(document, &text) : json_print_lines(document, &text) && buffer_char(&text, '\n')))
        return error_no_memory();
    fputs(text.data, stdout);
    return NULL;
}
