// SPDX-License-Identifier: Apache-2.0
#define ENTRY wharf_module_v2
#include "template.h"
