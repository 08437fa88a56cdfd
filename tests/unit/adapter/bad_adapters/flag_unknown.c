// SPDX-License-Identifier: Apache-2.0
#define KIND_FLAGS 0x80000000u
#include "template.h"
