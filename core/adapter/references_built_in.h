// SPDX-License-Identifier: Apache-2.0
// The references that Kubernetes itself has: of a PodSpec, and of the objects that a PodSpec refers to.
#pragma once

#include "core/adapter/references.h"

// As wharf_kind.references, but `of` may also be one of these parts of an object, no names of resources.
#define REFERENCES_OF_POD "PodTemplateSpec"
#define REFERENCES_OF_POD_SPEC NULL
#define REFERENCES_OF_CONTAINER "Container"
#define REFERENCES_OF_VOLUME "Volume"
extern const wharf_reference references_built_in[];
#define REFERENCE_PARTS                                                                                                \
    (WHARF_REFERENCE_PODS | WHARF_REFERENCE_POD_SPECS | WHARF_REFERENCE_CONTAINERS | WHARF_REFERENCE_VOLUMES)

// Objects that each cluster makes itself: they are no references.
struct everywhere {
    const char *resource; // NULL ends the list
    const char *name;
};
extern const struct everywhere references_everywhere[];
