// SPDX-License-Identifier: Apache-2.0
#define MODULE_SIZE offsetof(wharf_module, start)
#include "template.h"
