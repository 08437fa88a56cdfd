// SPDX-License-Identifier: Apache-2.0
#include "core/base/shared_text.h"

#include "core/base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

// How many of the `max` bytes before both ends are the same.
static size_t common_end(const char *a_end, const char *b_end, size_t max) {
    size_t len = 0;
    while (max - len >= STRIDE && memcmp(a_end - len - STRIDE, b_end - len - STRIDE, STRIDE) == 0)
        len += STRIDE;
    while (len < max && *(a_end - len - 1) == *(b_end - len - 1))
        len++;
    return len;
}

static size_t common_start(const char *a, const char *b, size_t max) {
    size_t len = 0;
    while (max - len >= STRIDE && memcmp(a + len, b + len, STRIDE) == 0)
        len += STRIDE;
    while (len < max && a[len] == b[len])
        len++;
    return len;
}

// The run around a probe of `b` that is also in `a`.
static struct text_run run_around(const struct shared_text *a, const struct shared_text *b, size_t probe) {
    const char *hit = memmem(a->own, a->len, b->own + probe, PROBE);
    if (!hit)
        return (struct text_run){0};
    size_t at = (size_t)(hit - a->own);
    size_t before = common_end(hit, b->own + probe, size_least(at, probe));
    size_t after = common_start(hit, b->own + probe, size_least(a->len - at, b->len - probe));
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
