// SPDX-License-Identifier: Apache-2.0
#define MODULE_SIZE (sizeof(wharf_module) - sizeof(void *))
#include "template.h"
