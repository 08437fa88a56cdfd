// SPDX-License-Identifier: Apache-2.0
// Built against 1.1: what follows the module is not a function.
#define MODULE_SIZE offsetof(wharf_module, score)
#define SCORES
#include "template.h"
