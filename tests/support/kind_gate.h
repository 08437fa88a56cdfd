// SPDX-License-Identifier: Apache-2.0
// A kind whose calls pass a gate of the test first, and then reach the adapter's own functions.
#pragma once

#include "core/adapter/adapters.h"

// False: there is no answer, see call_set_trouble.
typedef bool kind_gate(const struct adapter_invocation *asked);

// From now on, for all functions of the kind; one gate in a program.
void kind_gate_add(struct kind *kind, kind_gate *gate);
