// SPDX-License-Identifier: Apache-2.0
// Ownership that moves, and arrays that grow.
#ifndef WHARF_BASE_MEMORY_H
#define WHARF_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

// The pointer at `place`, which is NULL afterwards: what it points to has a new owner. `return TAKE(made);` keeps a
// result from the cleanup attribute of its variable.
#define TAKE(place)                                                                                                    \
    __extension__({                                                                                                    \
        __auto_type const place_ = &(place);                                                                           \
        __auto_type taken_ = *place_;                                                                                  \
        *place_ = NULL;                                                                                                \
        taken_;                                                                                                        \
    })

// Makes room for `need` items of `size` bytes in the array whose address is at `array` (any T **), growing it at least
// to double its capacity; items that are added are zero. False: it would not fit into memory; nothing changed.
bool array_reserve(void *array, size_t *capacity, size_t need, size_t size);

// The place of one more item after `count`, zeroed, in an array whose capacity nobody keeps: it follows from the count,
// so the array must have grown by this function alone. NULL: out of memory; nothing changed. The caller counts.
void *array_next(void *array, size_t count, size_t size);

#endif
