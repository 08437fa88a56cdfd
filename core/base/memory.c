// SPDX-License-Identifier: Apache-2.0
#include "core/base/memory.h"

#include "core/base/shared_text.h"
#include "core/base/text.h"

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

size_t struct_texts_size(const void *from, size_t n_texts) {
    const char *text;
    size_t bytes = 0;
    for (size_t i = 0; i < n_texts; i++) {
        memcpy(&text, (const char *)from + i * sizeof text, sizeof text);
        bytes += strlen(text) + 1;
    }
    return bytes;
}

void *struct_copy_with_texts(const void *from, size_t size, size_t n_texts) {
    const char *text;
    char *copy = malloc(size + struct_texts_size(from, n_texts)), *end = copy ? copy + size : NULL;
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

// -- texts that share memory (shared_text.h) --

#define PROBE 256 // bytes that are looked for: repeated parts (environment variables) are mostly shorter
#define PROBES 3
#define STRIDE 64 // bytes compared at once

_Static_assert(PROBE <= SHARED_TEXT_LEAST && PROBE <= SHARED_TEXT_SHORTEST, "a probe is part of each run and text");

struct text_block {
    uint32_t refs, len;
    char bytes[];
};

struct text_run { // offsets in two texts
    size_t at, other_at, len;
};

static void drop_block(struct text_block *block) {
    if (block && --block->refs == 0)
        free(block);
}

void shared_text_set(struct shared_text *to, char *text, size_t len) {
    *to = (struct shared_text){.own = text, .len = (uint32_t)len};
}

void shared_text_clear(struct shared_text *text) {
    free(text->own);
    drop_block(text->block);
    *text = (struct shared_text){0};
}

// Replaces the bytes at `at` of a text that shares nothing by the block with the same content.
static bool cut(struct shared_text *text, size_t at, struct text_block *block) {
    size_t before = at, after = text->len - at - block->len;
    char *own = malloc(before + after + 1);
    if (!own)
        return false;
    memcpy(own, text->own, before);
    memcpy(own + before, text->own + at + block->len, after);
    own[before + after] = '\0';
    free(text->own);
    text->own = own;
    text->at = (uint32_t)at;
    text->block = block;
    block->refs++;
    return true;
}

static bool is_at(const struct shared_text *text, size_t at, const struct text_block *block) {
    return at <= text->len && block->len <= text->len - at && memcmp(text->own + at, block->bytes, block->len) == 0;
}

static void share_block(struct shared_text *text, const struct shared_text *other) {
    size_t at = other->at; // of two versions of one object the block is mostly in the same place
    if (!is_at(text, at, other->block)) {
        const char *found = memmem(text->own, text->len, other->block->bytes, PROBE);
        at = found ? (size_t)(found - text->own) : text->len;
    }
    if (is_at(text, at, other->block))
        cut(text, at, other->block);
}

// How many of the `max` bytes from both addresses on, or before them, are the same.
static size_t count_equal(const char *a, const char *b, size_t max, bool before) {
    size_t len = 0;
    while (max - len >= STRIDE &&
           memcmp(before ? a - len - STRIDE : a + len, before ? b - len - STRIDE : b + len, STRIDE) == 0)
        len += STRIDE;
    while (len < max && (before ? *(a - len - 1) == *(b - len - 1) : a[len] == b[len]))
        len++;
    return len;
}

// The run around a probe of `b` that is also in `a`.
static struct text_run run_around(const struct shared_text *a, const struct shared_text *b, size_t probe) {
    const char *hit = memmem(a->own, a->len, b->own + probe, PROBE);
    if (!hit)
        return (struct text_run){0};
    size_t at = (size_t)(hit - a->own);
    size_t before = count_equal(hit, b->own + probe, size_least(at, probe), true);
    size_t after = count_equal(hit, b->own + probe, size_least(a->len - at, b->len - probe), false);
    return (struct text_run){at - before, probe - before, before + after};
}

static struct text_run common_run(const struct shared_text *a, const struct shared_text *b) {
    struct text_run best = {0};
    for (size_t i = 1; i <= PROBES && best.len < b->len / 2; i++) {
        struct text_run run = run_around(a, b, (b->len - PROBE) / (PROBES + 1) * i);
        if (run.len > best.len)
            best = run;
    }
    return best;
}

static void share_run(struct shared_text *text, struct shared_text *other) {
    struct text_run run = common_run(text, other);
    if (run.len < SHARED_TEXT_LEAST)
        return;
    struct text_block *block = malloc(sizeof *block + run.len);
    if (!block)
        return;
    *block = (struct text_block){.refs = 1, .len = (uint32_t)run.len};
    memcpy(block->bytes, text->own + run.at, run.len);
    if (cut(other, run.other_at, block))
        cut(text, run.at, block);
    drop_block(block);
}

void shared_text_share(struct shared_text *text, struct shared_text *other) {
    if (text->block || text->len < SHARED_TEXT_SHORTEST || other->len < SHARED_TEXT_SHORTEST)
        return;
    if (other->block)
        share_block(text, other);
    else
        share_run(text, other);
}

const char *shared_text_read(const struct shared_text *text, char **joined) {
    if (!text->block)
        return text->own;
    const struct text_block *block = text->block;
    char *whole = malloc((size_t)text->len + 1);
    if (!whole)
        return NULL;
    memcpy(whole, text->own, text->at);
    memcpy(whole + text->at, block->bytes, block->len);
    size_t after = text->at + block->len;
    memcpy(whole + after, text->own + text->at, text->len - after + 1);
    *joined = whole;
    return whole;
}
