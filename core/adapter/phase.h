// SPDX-License-Identifier: Apache-2.0
// The phase of an object by the kind's data, without a call into the adapter.
#pragma once

#include "core/json/json.h"

#include <wharf/adapter.h>

// Fills `out` by phases, finished_at and suspend. Strings live as long as the object.
void phase_by_rules(const wharf_kind *kind, const struct json *object, wharf_phase *out);

// The condition of this type in the array `conditions`, with this status (NULL: any), or NULL.
const struct json *phase_condition(const struct json *conditions, const char *type, const char *status);

// True if the suspend field suspends the object.
bool phase_suspend_asked(const wharf_kind *kind, const struct json *object);

// True if a rule makes the object's status suspended, for any value of the suspend field.
bool phase_says_suspended(const wharf_kind *kind, const struct json *object);

bool phase_is_final(wharf_phase_kind phase);
