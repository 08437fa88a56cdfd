// SPDX-License-Identifier: Apache-2.0
// CustomResourceDefinitions from files: what a cluster needs to serve the kind. Names, scope, served versions and the
// status subresource count; of the schema, only what kubectl shows of it (explain, columns). No object is validated
// against it.
#pragma once

#include "core/base/error.h"
#include "tests/world/custom.h"

struct crd {
    struct json *document;
    struct custom custom; // its strings are the document's, but for rules of kinds that custom_find knows
};

struct crds {
    struct crd *items;
    size_t count;
};

// Appends each CustomResourceDefinition of a file of YAML or JSON; an error names the file and the line. On failure
// nothing is appended.
struct error *crds_load(const char *path, struct crds *crds);
void crds_free(struct crds *crds);
// By its plural, or "plural.group"; NULL if there is none.
struct crd *crds_find(const struct crds *crds, const char *name);

// The entry of `versions` with this name, of a CustomResourceDefinition; NULL: none.
const struct json *crd_version(const struct json *document, const char *version);
