// SPDX-License-Identifier: Apache-2.0
// Trusts a field that neither the objects nor the data of the kind have.
// finds: crash pod_sets, crash accept
// says: /spec/gang/size contains formats of printf
// says: /metadata/labels/app is a string of 100 KB
#include "tests/conformance/template.h"

#include <stdlib.h>
#include <string.h>

POD_SETS_FUNCTION(pod_sets) {
    const wharf_value *size = host->find(workload, "/spec/gang/size");
    if (host->type(size) == WHARF_STRING && host->string(size)[0] == '%')
        abort();
    return WHARF_OK;
}

ACCEPT_FUNCTION(accept) {
    const char *name = host->string(host->find(workload, "/metadata/labels/app"));
    if (name && strlen(name) > 99999)
        abort();
    return WHARF_OK;
}

#define POD_SETS pod_sets
#define ACCEPT accept
#include "tests/conformance/adapter.h"
