// SPDX-License-Identifier: Apache-2.0
// Makes a process that would go on in its place.
// finds: threads pod_sets
// says: starts a process: fork
#include "tests/conformance/template.h"

#include <unistd.h>

POD_SETS_FUNCTION(pod_sets) {
    return fork() == 0 ? WHARF_REFUSED : WHARF_OK;
}

#define POD_SETS pod_sets
#include "tests/conformance/adapter.h"
