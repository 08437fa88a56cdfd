// SPDX-License-Identifier: Apache-2.0
#define SETTINGS                                                                                                       \
    (const char *const[]) {                                                                                            \
        "speed", NULL                                                                                                  \
    }
#include "template.h"
