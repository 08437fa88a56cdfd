// SPDX-License-Identifier: Apache-2.0
// The position of an object in the stories of its kind.
#pragma once

#include "tests/support/fixture.h"
#include "tests/world/custom.h"

struct place {
    const struct story *story;
    size_t next; // the step that comes next
};

// The initial position of an object.
struct place place_first(const struct fixture *fixture, const struct json *object);

// Skips steps that need no action of a controller; false if the next one waits for a user, or at the end.
bool place_skip(struct place *place, const struct json *object);

// If the object was suspended, resumed or ended unlike the story at this position, moves to a matching one. False if
// there is none; *moved is set if the position changed.
bool place_follow(const struct custom *custom, const struct fixture *fixture, struct place *place,
                  const struct json *object, bool *moved);
// Called when the story moved to has ended or waits for its own user: returns to the start of the object's own story.
// False if already there, or if it stays suspended.
bool place_return(const struct custom *custom, const struct fixture *fixture, struct place *place,
                  const struct json *object);
