// SPDX-License-Identifier: Apache-2.0
#define KINDS NULL
#define START_CODE *list = NULL;
#include "template.h"
