// SPDX-License-Identifier: Apache-2.0
#define MODULE_NAME "gadget"
#define KIND_NAME "Gadget"
#define KIND_PLURAL "gadgets"
#include "template.h"
