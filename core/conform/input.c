// SPDX-License-Identifier: Apache-2.0
#include "core/conform/child.h"

#include <stdlib.h>
#include <sys/mman.h>

#define REGION_SIZE ((size_t)1 << 30) // of addresses; pages are allocated on first use
#define KEPT ((size_t)256 * 1024)     // pages up to here are not given back after each trial
#define ALIGN(size) (((size) + 15) & ~(size_t)15)

// Static, since neither the functions that take memory for values nor a signal handler have an argument.
static struct {
    char *start;
    size_t used;
    bool open; // values may be created
} region;

bool input_contains(const void *address) {
    const char *at = address;
    return region.start && at >= region.start && at < region.start + REGION_SIZE;
}

static void *take_memory(size_t size) {
    if (!region.open)
        return malloc(size);
    if (size > REGION_SIZE - region.used - ALIGN(1))
        return NULL;
    void *memory = region.start + region.used;
    region.used += ALIGN(size);
    return memory;
}

static void give_back(void *memory) {
    if (!input_contains(memory))
        free(memory);
}

bool input_setup(void) {
    void *memory = mmap(NULL, REGION_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    region.start = memory;
    json_use_memory(take_memory, give_back);
    return true;
}

struct json *input_copy(const struct json *value) {
    if (!value || mprotect(region.start, REGION_SIZE, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    region.open = true;
    struct json *copy = json_copy(value);
    json_fix(copy);
    region.open = false;
    return mprotect(region.start, REGION_SIZE, PROT_READ) == 0 ? copy : NULL;
}

struct json *input_take(struct json *value) {
    struct json *copy = input_copy(value);
    json_free(value);
    return copy;
}

struct json *input_with_status(const struct json *object, const struct json *status) {
    return input_take(with_status(object, status));
}

void input_reset(void) {
    if (region.used > KEPT)
        madvise(region.start, region.used, MADV_DONTNEED);
    region.used = 0;
}
