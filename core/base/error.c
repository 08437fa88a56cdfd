// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.h"

#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

// Returned when an error cannot be allocated; never written to, never freed.
static char no_memory_message[] = "out of memory";
static struct error no_memory = {.code = ERROR_NO_MEMORY, .message = no_memory_message};

struct error *error_no_memory(void) {
    return &no_memory;
}

static void trim_newlines(char *text) {
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
}

struct error *error_vnew(enum error_code code, const char *format, va_list args) {
    struct error *error = malloc(sizeof *error);
    if (!error)
        return &no_memory;
    error->code = code;
    error->about = NULL;
    error->message = text_vformat(format, args);
    if (!error->message) {
        free(error);
        return &no_memory;
    }
    trim_newlines(error->message);
    return error;
}

struct error *error_new(enum error_code code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct error *error = error_vnew(code, format, args);
    va_end(args);
    return error;
}

struct error *error_wrap(struct error *error, const char *format, ...) {
    if (!error)
        return NULL;
    va_list args;
    va_start(args, format);
    AUTO_TEXT context = text_vformat(format, args);
    va_end(args);
    if (!context)
        return error; // keep the error, without the context
    struct error *wrapped = error_new(error->code, "%s: %s", context, error->message);
    if (wrapped == &no_memory)
        return error;
    wrapped->about = error->about;
    error_free(error);
    return wrapped;
}

struct error *error_about(struct error *error, const char *text) {
    if (error && error != &no_memory)
        error->about = text;
    return error;
}

const char *error_text(const struct error *error) {
    return error ? error->message : "no error";
}

void error_free(struct error *error) {
    if (!error || error == &no_memory)
        return;
    free(error->message);
    free(error);
}

void error_cleanup(struct error **error) {
    error_free(*error);
    *error = NULL;
}
