// SPDX-License-Identifier: Apache-2.0
// The short names of the kinds ("rj" for rayjobs), from the discovery of the management cluster. The names are read at
// most once in a while, since every caller with a token may ask for a kind that does not exist.
#pragma once

#include "core/serve/api/api.h"

#define SHORT_NAMES_KEPT_NS (30 * CLOCK_SECOND)

struct short_names;
struct short_names *short_names_new(void);        // NULL when out of memory
void short_names_free(struct short_names *names); // NULL is fine

// NULL: no kind is known to have the name.
const struct kind *short_names_find(struct short_names *names, const struct api_source *source, const char *name,
                                    int64_t now_ns);
