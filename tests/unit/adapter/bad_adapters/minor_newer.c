// SPDX-License-Identifier: Apache-2.0
#define MINOR 3
#include "template.h"
