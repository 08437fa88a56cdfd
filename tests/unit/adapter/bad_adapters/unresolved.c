// SPDX-License-Identifier: Apache-2.0
#define KIND_PHASE nobody_has_this
#include <wharf/adapter.h>
wharf_result nobody_has_this(const wharf_call *call, const wharf_value *object, wharf_phase *out);
#include "template.h"
