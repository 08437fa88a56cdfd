// SPDX-License-Identifier: Apache-2.0
#include "tests/world/player.h"
#include "core/base/clock.h"
#include "tests/world/controllers.h"
#include "tests/world/meta.h"
#include "tests/world/player_story.h"
#include "tests/world/server.h"

#include <stdlib.h>
#include <string.h>

#define TIMES 96

struct run { // of one object
    struct place place;
    int64_t due_ns;  // of the next status
    int64_t over_ns; // when it finished; 0: not finished
    bool succeeded;
    // Times of the story, and the times that replace them.
    size_t n_times;
    struct {
        char from[32], to[CLOCK_RFC3339_MAX];
    } times[TIMES];
};

const struct world_kind *player_kind(const char *plural) {
    const struct custom *custom = custom_by_plural(plural);
    return custom ? &custom->kind : NULL;
}

bool player_install_custom(struct world_cluster *cluster, const struct custom *custom, const struct fixture *fixture) {
    if (!world_register(cluster, &custom->kind))
        return false;
    struct kind *kind = world_kind_find(cluster, custom->kind.group, custom->kind.plural);
    kind->custom = custom;
    kind->player = fixture;
    return true;
}

bool player_install(struct world_cluster *cluster, const struct fixture *fixture) {
    const struct custom *custom = custom_by_plural(fixture->plural);
    return custom && player_install_custom(cluster, custom, fixture);
}

void player_forget(struct stored *object) {
    free(object->run);
    object->run = NULL;
}

static int64_t pause_ns(struct stored *object) {
    const char *text = world_annotation(object->value, PLAYER_STEP);
    int64_t pause;
    if (text && clock_parse_duration(text, &pause))
        return pause;
    return (300 + (int64_t)random_below(&object->kind->cluster->random, 2700)) * CLOCK_MS;
}

static struct run *begin(struct stored *object) {
    struct run *run = world_alloc(sizeof *run);
    run->place = place_first(object->kind->player, object->value);
    run->due_ns = object->kind->cluster->now_ns + pause_ns(object);
    object->run = run;
    return run;
}

static const char *time_now(struct run *run, const char *from, int64_t now_ns) {
    for (size_t i = 0; i < run->n_times; i++)
        if (strcmp(run->times[i].from, from) == 0)
            return run->times[i].to;
    size_t at = run->n_times < TIMES ? run->n_times++ : TIMES - 1;
    text_copy(run->times[at].from, sizeof run->times[at].from, from);
    clock_rfc3339(now_ns, run->times[at].to);
    return run->times[at].to;
}

static void set_times(struct run *run, struct json *value, int64_t now_ns) {
    for (struct json *item = json_first(value), *next; item; item = next) {
        const char *text = json_string(item);
        int64_t unused;
        next = json_next(item);
        if (json_is(item, JSON_OBJECT) || json_is(item, JSON_ARRAY)) {
            set_times(run, item, now_ns);
        } else if (text && strlen(text) < sizeof run->times->from && clock_parse_rfc3339(text, &unused)) {
            struct json *now = json_new_string(time_now(run, text, now_ns));
            if (!now || !json_replace(value, item, now))
                world_oom();
        }
    }
}

static void write_status(struct stored *object, struct run *run, const struct step *step) {
    struct json *status = world_json_copy(step->status);
    set_times(run, status, object->kind->cluster->now_ns);
    if (json_get(status, "observedGeneration"))
        world_set_int(status, "observedGeneration",
                      json_int64(json_path(object->value, "metadata", "generation", NULL), 1));
    if (json_equal(status, json_get(object->value, "status")))
        json_free(status);
    else
        world_write_status(object, status);
}

static bool has_next(const struct stored *object, struct run *run) {
    const struct kind *kind = object->kind;
    if (place_skip(&run->place, object->value))
        return true;
    return place_return(kind->custom, kind->player, &run->place, object->value) &&
           place_skip(&run->place, object->value);
}

static void play(struct stored *object, struct run *run) {
    int64_t now_ns = object->kind->cluster->now_ns;
    if (!has_next(object, run))
        return;
    if (run->due_ns <= now_ns) {
        const struct step *step = &run->place.story->steps[run->place.next++];
        write_status(object, run, step);
        run->due_ns = now_ns + pause_ns(object);
        run->succeeded = text_equal(step->phase, "Succeeded");
        if (run->succeeded || text_equal(step->phase, "Failed"))
            run->over_ns = now_ns;
    }
    if (run->over_ns || has_next(object, run))
        world_controllers_at(object, run->over_ns ? now_ns : run->due_ns);
}

// A finished object may be deleted by its TTL.
static void expire(struct stored *object, const struct run *run) {
    int64_t ttl = custom_ttl_s(object->kind->custom, object->value, run->succeeded);
    int64_t at_ns = run->over_ns + ttl * CLOCK_SECOND;
    if (ttl < 0)
        return;
    if (at_ns <= object->kind->cluster->now_ns)
        world_remove_stored(object, "Background", true);
    else
        world_controllers_at(object, at_ns);
}

void player_sync(struct stored *object) {
    struct run *run = object->run;
    bool moved;
    if (meta_deleting(object->value) || custom_delegated(object->kind->custom, object->value)) {
        player_forget(object);
        return;
    }
    if (!run)
        run = begin(object);
    if (run->over_ns) {
        expire(object, run);
        return;
    }
    if (!place_follow(object->kind->custom, object->kind->player, &run->place, object->value, &moved))
        return;
    if (moved)
        run->due_ns = object->kind->cluster->now_ns + pause_ns(object);
    play(object, run);
}
