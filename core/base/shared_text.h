// SPDX-License-Identifier: Apache-2.0
// Long-lived texts that resemble each other: two of them store their longest common run once. Not thread-safe.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHARED_TEXT_LEAST 1024    // bytes of a run that is worth sharing
#define SHARED_TEXT_SHORTEST 2048 // shorter texts share nothing: looking for a run would cost more than it saves

struct text_block;

struct shared_text {          // zero-initialised: none
    char *own;                // without the block; NULL: none
    struct text_block *block; // shared with other texts; NULL: own is the whole text
    uint32_t len;             // of the whole text
    uint32_t at;              // offset of the block
};

// Takes `text`, which ends with a NUL. `to` is none before.
void shared_text_set(struct shared_text *to, char *text, size_t len);
void shared_text_clear(struct shared_text *text); // none afterwards

// If `text` shares nothing yet, `text` shares the block of `other`, or else a common run, which becomes a block of
// both. Nothing changes without a common run, or when out of memory.
void shared_text_share(struct shared_text *text, struct shared_text *other);

// The whole text; *joined, NULL at first, becomes the memory that the caller frees. NULL: none, or out of memory.
const char *shared_text_read(const struct shared_text *text, char **joined);
