// SPDX-License-Identifier: Apache-2.0
#define KIND_MANAGED_BY "spec/managedBy"
#include "traced.c"
