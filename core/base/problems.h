// SPDX-License-Identifier: Apache-2.0
// A list of sentences, so that a check can tell all that is wrong and not only the first thing.
#ifndef WHARF_BASE_PROBLEMS_H
#define WHARF_BASE_PROBLEMS_H

#include "core/base/error.h"

#include <stddef.h>

struct problems {
    char **list;
    size_t count;
    size_t lost; // could not be kept for lack of memory
};

void problems_add(struct problems *problems, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Takes the error; NULL is fine.
void problems_add_error(struct problems *problems, struct error *error);
// Appends what is in `from`, which is empty then.
void problems_move(struct problems *to, struct problems *from);
void problems_free(struct problems *problems);

#endif
