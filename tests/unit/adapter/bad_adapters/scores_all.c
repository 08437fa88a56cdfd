// SPDX-License-Identifier: Apache-2.0
// Has no kind, and rates the workers for those of others.
#define KINDS NULL
#define SCORES
#include "template.h"
