// SPDX-License-Identifier: Apache-2.0
// Leaves a trace when start runs.
#include <stdlib.h>
#define HOST yes
#define START_CODE                                                                                                     \
    setenv("WHARF_TEST_START_RAN", host == services ? "the host was there" : "the host was not there", 1);
#include "template.h"
