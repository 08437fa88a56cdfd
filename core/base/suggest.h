// SPDX-License-Identifier: Apache-2.0
// "Did you mean" suggestions for unknown words.
#pragma once

#include <stddef.h>

// The known word nearest to `word` (fewest insertions, deletions, substitutions and transpositions, ignoring case), or
// NULL if none is near.
const char *suggest(const char *word, const char *const *known, size_t count);
