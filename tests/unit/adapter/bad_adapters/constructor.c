// SPDX-License-Identifier: Apache-2.0
// Leaves a trace as soon as any of its code runs.
#include <stdlib.h>

__attribute__((constructor)) static void run(void) {
    setenv("WHARF_TEST_CONSTRUCTOR_RAN", "yes", 1);
}
#include "template.h"
