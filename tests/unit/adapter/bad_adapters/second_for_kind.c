// SPDX-License-Identifier: Apache-2.0
#define MODULE_NAME "thing-too"
#include "template.h"
