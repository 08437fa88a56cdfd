// SPDX-License-Identifier: Apache-2.0
// Changes its kind after it was loaded.
// finds: data start
#include "tests/conformance/template.h"

MIRROR_FUNCTION(mirror);
static void change(void);

#define MIRROR mirror
#define CONSTANT
#include "tests/conformance/adapter.h"

static void change(void) {
    kind.flags = WHARF_KIND_NO_STATUS_SUBRESOURCE;
}

MIRROR_FUNCTION(mirror) {
    change();
    return WHARF_OK;
}
