// SPDX-License-Identifier: Apache-2.0
// Cuts the text of an object down to the needed fields before it is parsed: to a twentieth for a Pod.
#pragma once

#include <stddef.h>

#define PRUNE_VALUES 64 // of the maximum size

// A copy that has only the values at `kept`: patterns like "/spec/containers/*/resources", where "*" stands for each
// item of an array, and "/metadata/labels/wharf.dev/" for each member with a key that begins with "wharf.dev/";
// NULL-terminated; plain keys, without escapes. `max` > 0: longer values are left out, and so is the rest once there
// are PRUNE_VALUES * `max` bytes. NULL: malformed, or out of memory; free().
char *prune_text(const char *text, size_t len, const char *const *kept, size_t max, size_t *pruned);
