// SPDX-License-Identifier: Apache-2.0
// The references that Kubernetes itself has: of a PodSpec, and of the objects that a PodSpec refers to. Internal to
// references.
#pragma once

#include "core/adapter/references.h"

// As wharf_kind.references, but where `of` is NULL the patterns apply in a PodSpec.
extern const wharf_reference references_built_in[];

// Objects that each cluster makes itself: they are no references.
struct everywhere {
    const char *resource; // NULL ends the list
    const char *name;
};
extern const struct everywhere references_everywhere[];

// "tasks.tekton.dev", "configmaps": of a row that names a resource.
void reference_resource_name(const wharf_reference *row, char out[REFERENCE_RESOURCE_MAX]);
