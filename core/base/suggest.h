// SPDX-License-Identifier: Apache-2.0
// What somebody may have meant who wrote a word that is not known.
#ifndef WHARF_BASE_SUGGEST_H
#define WHARF_BASE_SUGGEST_H

#include <stddef.h>

// The known word nearest to `word` (fewest letters added, left out, exchanged or swapped with their neighbour; upper
// and lower case are one letter), or NULL if none is near.
const char *suggest(const char *word, const char *const *known, size_t count);

#endif
