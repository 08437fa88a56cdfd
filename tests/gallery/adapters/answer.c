// SPDX-License-Identifier: Apache-2.0
// Answers with texts at wild pointers.
#define FARM "answer"
#include "tests/gallery/farm.h"

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    wharf_phase *phase_out = out;
    phase_out->phase = 77;
    phase_out->reason = (const char *)16;
    phase_out->message = (const char *)(uintptr_t)0xdeadbeef000;
}
