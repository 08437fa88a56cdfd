// SPDX-License-Identifier: Apache-2.0
#define KINDS NULL, &kind
#include "template.h"
