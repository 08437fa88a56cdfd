// SPDX-License-Identifier: Apache-2.0
// Whether an API server knows a field of a kind, by its OpenAPI v3 document. A server with an older
// version of the kind silently drops an unknown field from every object.
#ifndef WHARF_KUBE_OBJECT_SCHEMA_H
#define WHARF_KUBE_OBJECT_SCHEMA_H

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

// `pointer`: "/spec/managedBy". The text is searched as it is: as a tree it would take many times its size.
enum schema_answer schema_find(const char *text, size_t len, const struct schema_kind *kind, const char *pointer);

// "/openapi/v3/apis/batch/v1"; NULL when out of memory. free()
char *schema_path(const char *group, const char *version);

#endif
