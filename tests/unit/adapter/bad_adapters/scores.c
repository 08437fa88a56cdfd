// SPDX-License-Identifier: Apache-2.0
// Rates the workers for its kind.
#define SCORES
#include "template.h"
