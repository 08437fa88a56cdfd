// SPDX-License-Identifier: Apache-2.0
// Where in the stories of its kind an object is.
#ifndef WHARF_WORLD_PLAYER_STORY_H
#define WHARF_WORLD_PLAYER_STORY_H

#include "tests/support/fixture.h"
#include "tests/world/custom.h"

struct place {
    const struct story *story;
    size_t next; // the step that comes next
};

// What an object begins with.
struct place place_first(const struct fixture *fixture, const struct json *object);

// Moves on over steps that are nothing for a controller to do; false if the next one waits for a user, or there is
// none.
bool place_go_on(struct place *place, const struct json *object);

// The object is suspended, or resumed or ended, and the story at this place does not know of it: moves to where one
// does. False if there is no such place, true if the place fits (*moved says whether it is another one).
bool place_follow(const struct custom *custom, const struct fixture *fixture, struct place *place,
                  const struct json *object, bool *moved);
// What was moved to has come to its end, or waits for a user of its own: back to the object's own story, from its
// beginning. False if it is there, or is to stay suspended.
bool place_return(const struct custom *custom, const struct fixture *fixture, struct place *place,
                  const struct json *object);

#endif
