// SPDX-License-Identifier: Apache-2.0
// Forgets WHARF_KIND_SIZES for one list.
#define CARRIED_SIZE 8
#define KIND_CARRIED                                                                                                   \
    (const wharf_carried[]) {                                                                                          \
        {.pointer = "/spec/a"}, {                                                                                      \
            .pointer = NULL                                                                                            \
        }                                                                                                              \
    }
#include "template.h"
