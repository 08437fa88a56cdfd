// SPDX-License-Identifier: Apache-2.0
// A list of error messages, so that a check can report all problems and not only the first.
#pragma once

#include "core/base/error.h"

struct problems {
    char **list;
    size_t count;
    size_t lost; // dropped because out of memory
};

void problems_add(struct problems *problems, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Takes ownership of the error; NULL is fine.
void problems_add_error(struct problems *problems, struct error *error);
// Moves everything from `from`, which is then empty.
void problems_move(struct problems *to, struct problems *from);
void problems_free(struct problems *problems);
