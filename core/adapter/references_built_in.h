// SPDX-License-Identifier: Apache-2.0
// The references that Kubernetes itself has: of a PodSpec, and of the objects that a PodSpec refers to. Internal to
// references.
#pragma once

#include <wharf/adapter.h>

// As wharf_kind.references, but where `of` is NULL the patterns apply in a PodSpec.
extern const wharf_reference references_built_in[];

// Objects that each cluster makes itself: they are no references.
struct everywhere {
    const char *resource; // NULL ends the list
    const char *name;
};
extern const struct everywhere references_everywhere[];
