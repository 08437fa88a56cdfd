// SPDX-License-Identifier: Apache-2.0
// Answers in an answer of its own.
// finds: call accept
// says: wharf_call.answer is another one after the call
#include "tests/conformance/template.h"

static wharf_answer own = {.size = sizeof(wharf_answer)};

ACCEPT_FUNCTION(accept) {
    ((wharf_call *)call)->answer = &own;
    return WHARF_OK;
}

#define ACCEPT accept
#include "tests/conformance/adapter.h"
