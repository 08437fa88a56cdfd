// SPDX-License-Identifier: Apache-2.0
// Index lists of Indexed Jobs: "1,3-5,7".
#pragma once

#include "core/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// False with a message when the list is not well-formed or reaches `completions` (validateIndexesFormat).
bool indexes_check(const char *text, int64_t completions, char message[160]);
// The first index that both lists have, or -1. Invalid parts are skipped.
int64_t indexes_overlap(const char *a, const char *b, int64_t completions);
// Sets those of the list that are below `count`. Invalid parts are skipped.
void indexes_read(const char *text, bool *set, size_t count);
// Appends the list of those i < count with set[i].
void indexes_print(const bool *set, size_t count, struct buffer *out);
