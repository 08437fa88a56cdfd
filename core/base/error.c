// SPDX-License-Identifier: Apache-2.0
// Errors, and lists of messages (problems.h).
#include "core/base/error.h"

#include "core/base/memory.h"
#include "core/base/problems.h"
#include "core/base/text.h"

// Returned when an error cannot be allocated; never written to, never freed.
static char no_memory_message[] = "out of memory";
static struct error no_memory = {.code = ERROR_NO_MEMORY, .message = no_memory_message};

struct error *error_no_memory(void) {
    return &no_memory;
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
    for (size_t len = strlen(error->message); len > 0 && error->message[len - 1] == '\n';)
        error->message[--len] = '\0';
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

// -- lists of messages --

// Takes ownership of the sentence.
static void keep(struct problems *problems, char *sentence) {
    char **place = sentence ? array_next(&problems->list, problems->count, sizeof *problems->list) : NULL;
    if (!place) {
        free(sentence);
        problems->lost++;
        return;
    }
    *place = sentence;
    problems->count++;
}

void problems_add(struct problems *problems, const char *format, ...) {
    va_list args;
    va_start(args, format);
    keep(problems, text_vformat(format, args));
    va_end(args);
}

void problems_add_error(struct problems *problems, struct error *error) {
    if (!error)
        return;
    problems_add(problems, "%s", error_text(error));
    error_free(error);
}

void problems_move(struct problems *to, struct problems *from) {
    for (size_t i = 0; i < from->count; i++)
        keep(to, from->list[i]);
    to->lost += from->lost;
    free(from->list);
    *from = (struct problems){.list = NULL};
}

void problems_free(struct problems *problems) {
    for (size_t i = 0; i < problems->count; i++)
        free(problems->list[i]);
    free(problems->list);
    *problems = (struct problems){.list = NULL};
}
