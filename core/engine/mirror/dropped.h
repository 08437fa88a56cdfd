// SPDX-License-Identifier: Apache-2.0
// Fields of a mirror that its worker does not keep: its API server does not know them (an older version of the kind, a
// feature that is off), or a policy removes them. They are found by comparing what was sent with what the server
// answers to the create: what it adds or changes is its own business, only what is absent counts. With requireFields
// the create is tried without being stored before (dryRun), so that nothing begins to run that lacks a field.
#pragma once

#include "core/engine/engine_internal.h"

#define DROPPED_NAMED 5      // fields named in a message
#define DROPPED_TEXT_MAX 900 // bytes of it

// Appends "/spec/failurePolicy, /spec/a, and 2 more": the fields of `sent` that `stored` lacks. What is empty (null,
// false, 0, "", {}, []) need not be kept. Items of lists are compared by their name where they have one, else by
// position where there are as many. Returns how many there are.
size_t dropped_find(const struct json *sent, const struct json *stored, struct buffer *out);

// placement.requireFields.
bool dropped_are_refused(const struct engine *engine, const struct entry *entry);

// The server has stored, or would store, the mirror like this: the fields that it drops, as above; 0 also where that
// cannot be known. Makes the mirror anew only if it may have dropped some.
size_t dropped_of(struct engine *engine, struct entry *entry, const struct json *stored, struct buffer *out);
