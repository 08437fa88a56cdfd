// SPDX-License-Identifier: Apache-2.0
#include "tests/world/player_story.h"
#include "core/json/pointer.h"
#include "tests/world/controllers.h"
#include "tests/world/player.h"

#include <string.h>

static const struct story *find(const struct fixture *fixture, const char *name) {
    for (size_t i = 0; name && i < fixture->n_stories; i++)
        if (strcmp(fixture->stories[i].name, name) == 0)
            return &fixture->stories[i];
    return NULL;
}

struct place place_first(const struct fixture *fixture, const struct json *object) {
    const char *names[] = {world_annotation(object, PLAYER_STORY), "succeeded", "running"};
    struct place place = {.story = fixture->n_stories ? &fixture->stories[0] : NULL};
    for (size_t i = 3; i-- > 0;) {
        const struct story *story = find(fixture, names[i]);
        place.story = story ? story : place.story;
    }
    return place;
}

// True if applying the merge patch would not change `value`; false equals absent.
static bool contains(const struct json *value, const struct json *patch) {
    if (!json_is(patch, JSON_OBJECT))
        return json_is(patch, JSON_NULL) ? !value : json_equal(value, patch);
    for (const struct json *member = json_first(patch); member; member = json_next(member)) {
        const struct json *there = json_get(value, json_key(member));
        bool off = !there && json_is(member, JSON_BOOL) && !json_bool(member, true);
        if (!off && !contains(there, member))
            return false;
    }
    return true;
}

static bool is_done(const struct step *step, const struct json *object) {
    if (step->event) // nothing of it comes to a mirror
        return true;
    return step->mirror ? contains(json_get(object, "spec"), step->mirror) : contains(object, step->patch);
}

bool place_skip(struct place *place, const struct json *object) {
    for (; place->story && place->next < place->story->n_steps; place->next++) {
        const struct step *step = &place->story->steps[place->next];
        if (step->type == STEP_STATUS)
            return true;
        if (step->type == STEP_LOST || (step->type == STEP_PATCH && !is_done(step, object)))
            return false;
    }
    return false;
}

// The value of the suspend field; NULL for false, absent and "".
struct suspension {
    const char *text;
    bool on;
};

static struct suspension suspension_of(const struct json *value) {
    const char *text = json_string(value);
    return (struct suspension){text && *text ? text : NULL, json_bool(value, false) || (text && *text)};
}

static bool same(struct suspension a, struct suspension b) {
    return a.on == b.on && text_equal(a.text, b.text);
}

static struct suspension first_suspension(const struct custom *custom, const struct fixture *fixture,
                                          const struct story *story) {
    if (story->n_steps > 0 && story->steps[0].type == STEP_UNPLACED)
        return (struct suspension){custom->suspend_value, true};
    return suspension_of(pointer_find(fixture->mirror, custom->suspend));
}

// "/spec/suspend" of a patch, or of a step's `mirror`, which is a patch of the spec.
static const struct json *patched(const struct custom *custom, const struct step *step) {
    if (step->type != STEP_PATCH || (step->event && !step->mirror)) // which does not come to a mirror
        return NULL;
    return step->mirror ? pointer_find(step->mirror, custom->suspend + strlen("/spec"))
                        : pointer_find(step->patch, custom->suspend);
}

// The first place from `from` on where the spec would say `wanted` and a status comes; n_steps: none.
static size_t where(const struct custom *custom, const struct fixture *fixture, const struct story *story, size_t from,
                    struct suspension wanted) {
    struct suspension suspension = first_suspension(custom, fixture, story);
    for (size_t i = 0; i < story->n_steps; i++) {
        const struct json *change = patched(custom, &story->steps[i]);
        if (change)
            suspension = suspension_of(change);
        if (i >= from && story->steps[i].type == STEP_STATUS && same(suspension, wanted))
            return i;
    }
    return story->n_steps;
}

static bool fits(const struct custom *custom, const struct fixture *fixture, const struct place *place,
                 struct suspension wanted) {
    struct suspension suspension = first_suspension(custom, fixture, place->story);
    for (size_t i = 0; i < place->next && i < place->story->n_steps; i++) {
        const struct json *change = patched(custom, &place->story->steps[i]);
        if (change)
            suspension = suspension_of(change);
    }
    return same(suspension, wanted);
}

static bool move(const struct custom *custom, const struct fixture *fixture, struct place *place,
                 const struct story *story, size_t from, struct suspension wanted) {
    size_t at = story ? where(custom, fixture, story, from, wanted) : 0;
    if (!story || at == story->n_steps)
        return false;
    *place = (struct place){story, at};
    return true;
}

static bool needs_user(const struct place *place) {
    for (size_t i = place->next; i < place->story->n_steps; i++)
        if (place->story->steps[i].type != STEP_STATUS)
            return true;
    return false;
}

// `alone`: only to a story that needs no user from there on, since the object's user does not know of it.
static bool move_to_any(const struct custom *custom, const struct fixture *fixture, struct place *place,
                        struct suspension wanted, bool alone) {
    for (size_t i = 0; i < fixture->n_stories; i++) {
        struct place there = *place;
        if (!move(custom, fixture, &there, &fixture->stories[i], 0, wanted) || (alone && needs_user(&there)))
            continue;
        *place = there;
        return true;
    }
    return false;
}

bool place_follow(const struct custom *custom, const struct fixture *fixture, struct place *place,
                  const struct json *object, bool *moved) {
    *moved = false;
    if (!custom->suspend || !place->story)
        return true;
    struct suspension wanted = suspension_of(pointer_find(object, custom->suspend));
    if (fits(custom, fixture, place, wanted))
        return true;
    *moved = true;
    if (move(custom, fixture, place, place->story, place->next, wanted) ||
        move(custom, fixture, place, find(fixture, "suspended"), 0, wanted))
        return true;
    return move_to_any(custom, fixture, place, wanted, true) || move_to_any(custom, fixture, place, wanted, false);
}

bool place_return(const struct custom *custom, const struct fixture *fixture, struct place *place,
                  const struct json *object) {
    struct place first = place_first(fixture, object);
    struct suspension wanted =
        custom->suspend ? suspension_of(pointer_find(object, custom->suspend)) : (struct suspension){NULL, false};
    return custom->suspend && !wanted.on && first.story != place->story &&
           move(custom, fixture, place, first.story, 0, wanted);
}
