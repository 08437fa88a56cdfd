// SPDX-License-Identifier: Apache-2.0
#define KINDS &kind, &kind, NULL
#include "template.h"
