// SPDX-License-Identifier: Apache-2.0
// Changes locale, environment and rounding.
#define FARM "locale"
#include "tests/gallery/farm.h"

#include <fenv.h>
#include <locale.h>
#include <stdlib.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    setlocale(LC_ALL, "C.UTF-8");
    setenv("PATH", "/nowhere", 1);
    fesetround(FE_UPWARD);
}
