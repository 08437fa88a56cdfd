// SPDX-License-Identifier: Apache-2.0
#define MINOR 1
#include "template.h"
