// SPDX-License-Identifier: Apache-2.0
#include "core/base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 8 // items; a power of two

// `array` is the address of a pointer of unknown type, so it is accessed bytewise. No object is larger than
// PTRDIFF_MAX, so larger requests fail at once.
static void *resize(void *array, size_t items, size_t size) {
    void *list = NULL;
    if (items > PTRDIFF_MAX / size)
        return NULL;
    memcpy(&list, array, sizeof list);
    void *resized = realloc(list, items * size);
    if (resized)
        memcpy(array, &resized, sizeof resized);
    return resized;
}

bool array_reserve(void *array, size_t *capacity, size_t need, size_t size) {
    if (need <= *capacity)
        return true;
    size_t wanted = *capacity <= SIZE_MAX / 2 ? *capacity * 2 : SIZE_MAX;
    if (wanted < need)
        wanted = need < SMALLEST ? SMALLEST : need;
    char *list = resize(array, wanted, size);
    if (!list)
        return false;
    memset(list + *capacity * size, 0, (wanted - *capacity) * size);
    *capacity = wanted;
    return true;
}

void *array_next(void *array, size_t count, size_t size) {
    void *list = NULL;
    memcpy(&list, array, sizeof list);
    if (count == 0)
        list = resize(array, SMALLEST, size);
    else if (count >= SMALLEST && (count & (count - 1)) == 0) // full
        list = count <= SIZE_MAX / 2 ? resize(array, count * 2, size) : NULL;
    return list ? memset((char *)list + count * size, 0, size) : NULL;
}

void *struct_copy_with_texts(const void *from, size_t size, size_t n_texts) {
    size_t total = size;
    const char *text;
    for (size_t i = 0; i < n_texts; i++) {
        memcpy(&text, (const char *)from + i * sizeof text, sizeof text);
        total += strlen(text) + 1;
    }
    char *copy = malloc(total), *end = copy ? copy + size : NULL;
    if (copy)
        memcpy(copy, from, size);
    for (size_t i = 0; copy && i < n_texts; i++) {
        memcpy(&text, (const char *)from + i * sizeof text, sizeof text);
        memcpy(copy + i * sizeof text, &end, sizeof end);
        size_t len = strlen(text) + 1;
        end = (char *)memcpy(end, text, len) + len;
    }
    return copy;
}
