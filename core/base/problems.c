// SPDX-License-Identifier: Apache-2.0
#include "core/base/problems.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <stdarg.h>
#include <stdlib.h>

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
