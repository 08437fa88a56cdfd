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

// The value for the suspend field that suspends the object, in the field's type. NULL: out of memory.
struct json *phase_suspend_value(const wharf_kind *kind, const struct json *object);

// Whether a label or an annotation suspends.
bool phase_suspends_by_mark(const wharf_kind *kind);

// The condition or the value that the rule alone matches, or NULL. `value` is the value at the rule's pointer.
const struct json *phase_rule_match(const wharf_phase_rule *rule, const struct json *value);

// False: the rule asks for existence alone.
bool phase_rule_has_value(const wharf_phase_rule *rule);

// The last one of rules in a row, see WHARF_RULE_AND.
const wharf_phase_rule *phase_rule_last(const wharf_phase_rule *rule);

// True if a rule makes the object's status suspended, for any value of the suspend field.
bool phase_says_suspended(const wharf_kind *kind, const struct json *object);

bool phase_is_final(wharf_phase_kind phase);

const char *phase_word(wharf_phase_kind phase); // "Pending"; "unknown" for another value
