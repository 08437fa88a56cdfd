// SPDX-License-Identifier: Apache-2.0
// Answers what is no answer.
// finds: result mirror, always mirror
#include "tests/conformance/template.h"

MIRROR_FUNCTION(mirror) {
    return 7;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
