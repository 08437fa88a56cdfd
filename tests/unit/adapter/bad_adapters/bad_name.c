// SPDX-License-Identifier: Apache-2.0
#define MODULE_NAME "Bad Name"
#include "template.h"
