// SPDX-License-Identifier: Apache-2.0
// Says what is no UTF-8, and a reason with blanks.
// finds: text phase, text mirror
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    out->message = "\xff\xfe";
    return WHARF_OK;
}

MIRROR_FUNCTION(mirror) {
    call->answer->reason = "not one word";
    call->answer->message = "left something out";
    return WHARF_OK;
}

#define PHASE phase
#define MIRROR mirror
#include "tests/conformance/adapter.h"
