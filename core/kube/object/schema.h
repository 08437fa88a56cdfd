// SPDX-License-Identifier: Apache-2.0
// Searches an API server's OpenAPI v3 document for a field of a kind. A server with an older version of the kind
// silently drops an unknown field from every object.
#pragma once

#include "core/base/clock.h"
#include "core/kube/transport/transport.h"

#include <stdbool.h>
#include <stddef.h>

enum schema_answer {
    SCHEMA_UNKNOWN, // the document does not have the kind, or is none
    SCHEMA_HAS,     // the field, or anything
    SCHEMA_LACKS
};

struct schema_kind {
    const char *group, *version, *kind; // "batch", "v1", "Job"
};

// `pointer`: "/spec/managedBy". Searches the plain text: a tree would need many times the memory.
enum schema_answer schema_find(const char *text, size_t len, const struct schema_kind *kind, const char *pointer);

// "/openapi/v3/apis/batch/v1"; NULL when out of memory. free()
char *schema_path(const char *group, const char *version);
