// SPDX-License-Identifier: Apache-2.0
#define KIND_ALLOWED                                                                                                   \
    (const char *const[]) {                                                                                            \
        "kueue.x-k8s.io/multikueue", NULL                                                                              \
    }
#include "template.h"
