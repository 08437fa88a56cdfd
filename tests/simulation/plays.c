// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/plays.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "tests/simulation/users.h"
#include "tests/world/player.h"

#include <stdlib.h>
#include <string.h>

static void set(struct json *object, const char *pointer, struct json *value) {
    if (!pointer_set(object, pointer, value))
        abort();
}

static struct json *copy_of(const struct json *value) {
    struct json *copy = json_copy(value);
    if (!copy)
        abort();
    return copy;
}

static bool suspends(const struct sim_kind *kind, const struct step *step) {
    const char *pointer = kind->kind->abi.suspend;
    return pointer && step->type == STEP_PATCH && pointer_find(step->patch, pointer);
}

// Ends in a final phase, and its users only suspend and resume.
static bool ends(const struct sim_kind *kind, const struct story *story, const char *phase) {
    for (size_t i = 0; i < story->n_steps; i++)
        if (story->steps[i].type == STEP_LOST ||
            (story->steps[i].type == STEP_PATCH && !suspends(kind, &story->steps[i])))
            return false;
    return story->n_steps > 0 && text_equal(story->steps[story->n_steps - 1].phase, phase);
}

static bool is_untouched(const struct story *story) {
    for (size_t i = 0; i < story->n_steps; i++)
        if (story->steps[i].type != STEP_STATUS)
            return false;
    return true;
}

static const struct story *choose_story(struct trial *trial, const struct sim_kind *kind) {
    for (unsigned tries = 0; tries < 20; tries++) {
        const struct story *story = &kind->fixture->stories[trial_below(trial, kind->fixture->n_stories)];
        bool lost = false;
        for (size_t i = 0; i < story->n_steps; i++)
            lost |= story->steps[i].type == STEP_LOST;
        if (!lost && (!trial->plan.plain || is_untouched(story)))
            return story;
    }
    return fixture_story(kind->fixture, "succeeded") ? fixture_story(kind->fixture, "succeeded")
                                                     : &kind->fixture->stories[0];
}

// The expected outcome. It may differ for an object that is suspended or terminated.
static const char *expected_of(const struct trial *trial, const struct sim_kind *kind, const struct story *story) {
    bool succeeds = ends(kind, story, "Succeeded"), fails = ends(kind, story, "Failed");
    if (trial->plan.plain && is_untouched(story) && (succeeds || fails))
        return succeeds ? "Complete" : "Failed";
    return (succeeds || fails) && is_untouched(story) ? "any" : USERS_RUNS;
}

static void choose_manager(struct trial *trial, const struct sim_kind *kind, struct json *object) {
    const wharf_kind *abi = &kind->kind->abi;
    uint64_t lot = trial->plan.plain ? 10 : trial_below(trial, 20);
    if (lot == 0)
        pointer_remove(object, abi->managed_by);
    else if (lot == 1 && abi->managed_by_builtin)
        set(object, abi->managed_by, json_new_string(abi->managed_by_builtin));
    else if (lot == 2 && !kind->custom->closed)
        set(object, abi->managed_by, json_new_string("example.com/other"));
    else
        set(object, abi->managed_by, json_new_string(kind->kind->managed_by));
}

// The API may accept fewer values than the adapter, which serves similar kinds too.
static bool can_suspend(const struct sim_kind *kind) {
    return kind->kind->abi.suspend && text_equal(kind->kind->abi.suspend_value, kind->custom->suspend_value);
}

static struct json *suspend_value(const wharf_kind *abi, bool on) {
    if (!abi->suspend_value)
        return json_new_bool(on);
    return on ? json_new_string(abi->suspend_value) : json_new_null();
}

struct json *play_object(struct trial *trial, size_t index, const char *namespace_, const char *name, bool finalizer) {
    const struct sim_kind *kind = trial->kinds[index];
    const struct story *story = choose_story(trial, kind);
    struct json *object = copy_of(kind->fixture->workload);
    pointer_remove(object, "/metadata/generateName");
    pointer_remove(object, "/status");
    set(object, "/metadata/namespace", json_new_string(namespace_));
    set(object, "/metadata/name", json_new_string(name));
    set(object, "/metadata/labels/team", json_new_string("a"));
    set(object, "/metadata/annotations/world.test~1story", json_new_string(story->name));
    set(object, "/metadata/annotations/example.com~1expected", json_new_string(expected_of(trial, kind, story)));
    if (finalizer) {
        set(object, "/metadata/finalizers", json_new_array());
        set(object, "/metadata/finalizers/-", json_new_string("example.com/hold"));
    }
    if (can_suspend(kind) && !trial->plan.plain && trial_chance(trial, 15))
        set(object, kind->kind->abi.suspend, suspend_value(&kind->kind->abi, true));
    choose_manager(trial, kind, object);
    return object;
}

struct json *play_foreign(struct trial *trial, size_t index, enum foreign_kind foreign, const char *namespace_,
                          const char *name, const char *uid, const char *owner_uid, const char *owner_name) {
    const struct sim_kind *kind = trial->kinds[index];
    AUTO_JSON job = shape_foreign(trial, foreign, namespace_, name, uid, owner_uid, owner_name);
    struct json *object = copy_of(kind->fixture->mirror);
    set(object, "/metadata", copy_of(json_get(job, "metadata")));
    struct json *owner = pointer_find(object, "/metadata/ownerReferences/0");
    if (pointer_find(object, "/metadata/labels/wharf.dev~1kind"))
        set(object, "/metadata/labels/wharf.dev~1kind", json_new_string(kind->kind->plural_group));
    if (owner) {
        set(owner, "/apiVersion", copy_of(json_get(object, "apiVersion")));
        set(owner, "/kind", copy_of(json_get(object, "kind")));
    }
    return object;
}

static char *print(const struct json *value) {
    char *text = json_text(value, NULL);
    if (!text)
        abort();
    return text;
}

char *play_suspend(const struct trial *trial, size_t index, bool on) {
    const wharf_kind *abi = &trial->kinds[index]->kind->abi;
    AUTO_JSON patch = json_new_object();
    if (!can_suspend(trial->kinds[index]))
        return NULL;
    set(patch, abi->suspend, suspend_value(abi, on));
    return print(patch);
}

char *play_patch(struct trial *trial, size_t index) {
    const struct fixture *fixture = trial->kinds[index]->fixture;
    const struct step *found = NULL;
    uint64_t seen = 0;
    for (size_t s = 0; s < fixture->n_stories; s++)
        for (size_t i = 0; i < fixture->stories[s].n_steps; i++)
            if (fixture->stories[s].steps[i].type == STEP_PATCH && trial_below(trial, ++seen) == 0)
                found = &fixture->stories[s].steps[i];
    return found ? print(found->patch) : NULL;
}

char *play_story_patch(const struct trial *trial, size_t index, const struct json *object, unsigned number) {
    const char *name = json_string(json_path(object, "metadata", "annotations", PLAYER_STORY, NULL));
    const struct story *story = name ? fixture_story(trial->kinds[index]->fixture, name) : NULL;
    for (size_t i = 0; story && i < story->n_steps; i++)
        if (story->steps[i].type == STEP_PATCH && number-- == 0)
            return print(story->steps[i].patch);
    return NULL;
}

char *play_manager(const struct trial *trial, size_t index, const struct json *object) {
    const struct kind *kind = trial->kinds[index]->kind;
    AUTO_JSON patch = json_new_object();
    bool ours = trial_is_ours(trial, index, object);
    set(patch, kind->abi.managed_by, ours ? json_new_null() : json_new_string(kind->managed_by));
    return print(patch);
}
