// SPDX-License-Identifier: Apache-2.0
#define MINOR 2
#include "template.h"
