// SPDX-License-Identifier: Apache-2.0
#define KIND_PHASE NULL
#include "template.h"
