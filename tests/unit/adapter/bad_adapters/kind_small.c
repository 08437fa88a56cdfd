// SPDX-License-Identifier: Apache-2.0
#define KIND_SIZE offsetof(wharf_kind, status)
#include "template.h"
