// SPDX-License-Identifier: Apache-2.0
// Transfer of ownership, sizes, sums, and growing arrays.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Returns the pointer at `place` and sets it to NULL: transfers ownership. `return TAKE(made);` protects a result from
// the cleanup attribute of its variable.
#define TAKE(place)                                                                                                    \
    __extension__({                                                                                                    \
        __auto_type const place_ = &(place);                                                                           \
        __auto_type taken_ = *place_;                                                                                  \
        *place_ = NULL;                                                                                                \
        taken_;                                                                                                        \
    })

static inline size_t size_least(size_t a, size_t b) {
    return a < b ? a : b;
}

// Makes room for `need` items of `size` bytes in the array with its address at `array` (any T **), at least doubling
// its capacity; new items are zeroed. False: out of memory; nothing changed.
bool array_reserve(void *array, size_t *capacity, size_t need, size_t size);

// Appends a zeroed item after `count` and returns its address. The capacity is derived from `count`, so the array must
// be grown only by this function. NULL: out of memory; nothing changed. The caller increments `count`.
void *array_next(void *array, size_t count, size_t size);

// Copies a struct of `size` bytes that begins with `n_texts` members const char *, and these texts, into one block;
// free(). No text is NULL. NULL: out of memory.
void *struct_copy_with_texts(const void *from, size_t size, size_t n_texts);
// The bytes of these texts.
size_t struct_texts_size(const void *from, size_t n_texts);

// Sums and products of amounts that other programs chose: beyond the range of an int64_t they are its nearest value.
static inline int64_t int64_plus(int64_t a, int64_t b) {
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return a > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t int64_times(int64_t a, int64_t b) {
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product))
        return product;
    return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
}
