// SPDX-License-Identifier: Apache-2.0
#define MAJOR 2
#include "template.h"
