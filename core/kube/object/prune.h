// SPDX-License-Identifier: Apache-2.0
// Cuts the text of an object down to the fields that somebody needs, before it is parsed: of a Pod a twentieth.
#ifndef WHARF_KUBE_OBJECT_PRUNE_H
#define WHARF_KUBE_OBJECT_PRUNE_H

#include <stddef.h>

// A copy with nothing but the values at `kept`: patterns "/spec/containers/*/resources", where "*" stands for each item
// of an array, NULL-terminated; plain keys, without escapes. NULL: malformed, or out of memory; free().
char *prune_text(const char *text, size_t len, const char *const *kept, size_t *pruned);

#endif
