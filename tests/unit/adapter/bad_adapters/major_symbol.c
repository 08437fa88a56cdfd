// SPDX-License-Identifier: Apache-2.0
#define ENTRY wharf_adapters_v2
#include "template.h"
