// SPDX-License-Identifier: Apache-2.0
#include "core/base/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// Takes the sentence.
static void keep(struct problems *problems, char *sentence) {
    char **list = !sentence ? NULL : realloc(problems->list, (problems->count + 1) * sizeof(*list));
    if (!list) {
        free(sentence);
        problems->lost++;
        return;
    }
    problems->list = list;
    problems->list[problems->count++] = sentence;
}

void problems_add(struct problems *problems, const char *format, ...) {
    char *sentence = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&sentence, format, args);
    va_end(args);
    keep(problems, len < 0 ? NULL : sentence);
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
