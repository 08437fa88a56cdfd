// SPDX-License-Identifier: Apache-2.0
// Jumps out of the call into a function that has returned.
#define FARM "longjmp"
#define START mark()
static void mark(void);
#include "tests/gallery/farm.h"

#include <setjmp.h>

static jmp_buf place;

static void mark(void) {
    if (setjmp(place) != 0)
        farm_wild = NULL;
}

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    longjmp(place, 1);
}
