// SPDX-License-Identifier: Apache-2.0
#define KIND_MANAGED_BY "spec/managedBy"
#include "traced.c" // NOLINT(bugprone-suspicious-include): the same adapter with other data
