// SPDX-License-Identifier: Apache-2.0
// A recorded life: the host makes the mirror that was recorded, leaves it alone unless a user changed the workload, and
// each status that the management cluster showed is one that the host writes, in the recorded order.
#include "tests/unit/plugins/kinds.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#include <stdlib.h>
#include <string.h>

static const char *const phase_names[] = {"Pending", "Suspended", "Active", "Succeeded", "Failed"};

struct replay {
    struct tale tale;
    const struct recorded *step;
    bool shared;
    struct json *status; // the last one recorded of the mirror; NULL: none
    struct written written;
    bool pending; // a user's change may not be in the mirror yet
};

static void bump(struct replay *replay, struct json *object, int64_t generation) {
    struct json *metadata = json_get(object, "metadata");
    AUTO_TEXT version = text_format("%lld", (long long)replay->tale.resource_version++);
    assert_true(json_set(metadata, "resourceVersion", json_new_string(version)));
    if (generation > 0)
        assert_true(json_set(metadata, "generation", json_new_int64(generation)));
}

static bool are_times(const struct json *a, const struct json *b) {
    int64_t ns = 0;
    return json_string(a) && json_string(b) && clock_parse_rfc3339(json_string(a), &ns) &&
           clock_parse_rfc3339(json_string(b), &ns);
}

// All that the host asked for is in the object that the server stored, which may have more, may lack what is empty, and
// has times that a webhook set.
static bool has_all(const struct json *stored, const struct json *asked) {
    bool empty = json_is(asked, JSON_NULL) || (json_is_container(asked) && json_size(asked) == 0);
    if (json_equal(stored, asked) || (!stored && empty) || are_times(stored, asked))
        return true;
    bool arrays = json_is(asked, JSON_ARRAY) && json_is(stored, JSON_ARRAY) && json_size(asked) == json_size(stored);
    if (!arrays && !(json_is(asked, JSON_OBJECT) && json_is(stored, JSON_OBJECT)))
        return false;
    size_t index = 0;
    for (const struct json *m = json_first(asked); m; m = json_next(m), index++)
        if (!has_all(arrays ? json_at(stored, index) : json_get(stored, json_key(m)), m))
            return false;
    return true;
}

static void make_mirror(struct replay *replay) {
    struct tale *tale = &replay->tale;
    json_cleanup(&tale->mirror);
    kinds_begin_attempt(tale);
    const struct json *stored = json_get(replay->step->object, "spec");
    if (!has_all(stored, json_get(tale->mirror, "spec")))
        kinds_expect_same(tale, "the spec of the mirror", stored, json_get(tale->mirror, "spec"));
    assert_true(json_set(tale->mirror, "spec", json_copy(stored)));
    bump(replay, tale->mirror, replay->step->generation);
    replay->pending = false;
}

static void check_phase(struct replay *replay) {
    struct tale *tale = &replay->tale;
    AUTO_TEXT reason = NULL;
    wharf_phase_kind found = kinds_phase(tale, tale->workload, &reason).phase;
    bool over = tale->end == WHARF_SUCCEEDED || tale->end == WHARF_FAILED;
    if (over && found != tale->end)
        kinds_fail(tale, "it was %s, and is %s now", phase_names[tale->end], phase_names[found]);
    if (found == WHARF_SUCCEEDED || found == WHARF_FAILED)
        tale->end = found;
    if (replay->step->phase && strcmp(replay->step->phase, phase_names[found]) != 0)
        kinds_fail(tale, "the phase: found %s (%s), expected %s", phase_names[found], reason ? reason : "",
                   replay->step->phase);
}

// One turn of the host. The mirror is left alone unless a user's change has yet to come to it.
static void take_turn(struct replay *replay) {
    struct tale *tale = &replay->tale;
    AUTO_JSON before = tale->mirror ? json_copy(tale->mirror) : NULL;
    if (tale->mirror && !kinds_carry(tale))
        kinds_fail(tale, "a change is refused: %s", tale->event ? tale->event : "without a reason");
    if (tale->mirror && !replay->pending)
        kinds_expect_same(tale, "the mirror after a write of its controller", tale->mirror, before);
    kinds_copy_status(tale);
    written_add(&replay->written,
                recorded_comparable(json_get(tale->workload, "status"), tale->kind->abi.observed_generation));
    check_phase(replay);
}

static void check_shown(struct replay *replay) {
    const struct written *written = &replay->written;
    AUTO_JSON shown = recorded_shown(replay->step, replay->status, replay->tale.kind->abi.observed_generation);
    if (!replay->shared && !written_shows(&replay->written, shown))
        kinds_expect_same(&replay->tale, "the status of the workload",
                          written->count ? written->list[written->count - 1] : NULL, shown);
}

// The host's change: it is there already.
static void check_carried(struct replay *replay) {
    struct tale *tale = &replay->tale;
    AUTO_JSON expected = json_copy(tale->mirror);
    assert_true(patch_apply(&expected, replay->step->carried));
    if (!has_all(json_get(expected, "spec"), json_get(tale->mirror, "spec")))
        kinds_expect_same(tale, "the carried change", json_get(tale->mirror, "spec"), json_get(expected, "spec"));
    json_free(tale->mirror);
    tale->mirror = TAKE(expected);
    replay->pending = false;
}

static void change_mirror(struct replay *replay) {
    struct tale *tale = &replay->tale;
    const struct recorded *step = replay->step;
    if (step->carried)
        check_carried(replay);
    if (step->object && !step->created)
        assert_true(patch_apply(&tale->mirror, step->object));
    if (step->status)
        assert_true(json_set(tale->mirror, "status", json_copy(step->status)));
    bump(replay, tale->mirror, step->generation);
}

static void change_workload(struct replay *replay) {
    struct tale *tale = &replay->tale;
    AUTO_JSON before = json_copy(json_get(tale->workload, "spec"));
    assert_true(patch_apply(&tale->workload, replay->step->patch));
    bool changed = !json_equal(before, json_get(tale->workload, "spec"));
    bump(replay, tale->workload, changed ? object_generation(tale->workload) + 1 : 0);
    replay->pending = true;
}

static void keep_status(struct replay *replay, const struct json *status) {
    json_cleanup(&replay->status);
    if (status)
        replay->status = json_copy(status);
}

static void take_step(struct replay *replay) {
    struct tale *tale = &replay->tale;
    const struct recorded *step = replay->step;
    if (step->status || step->ending)
        keep_status(replay, step->status ? step->status : step->ending);
    if (step->created)
        make_mirror(replay);
    if (step->patch)
        change_workload(replay);
    if (step->lost) {
        json_cleanup(&tale->mirror);
        keep_status(replay, NULL);
        tale->lost = true;
    }
    if (step->cluster && tale->mirror && !step->ending && !step->deleted)
        change_mirror(replay);
    if (!step->shown && !step->ending && !step->deleted)
        take_turn(replay);
    if (step->shown)
        check_shown(replay);
}

void kinds_replay(const struct kind *kind, const struct recording *recording) {
    struct fixture fixture = {.plural = recording->plural, .workload = json_copy(recording->workload)};
    struct replay replay = {
        .tale = {.kind = kind, .fixture = &fixture, .file = recording->path, .line = 1, .resource_version = 100},
        .shared = recording_is_shared(recording)};
    replay.tale.workload = kinds_workload(&replay.tale);
    bool deleted = false;
    for (size_t i = 0; i < recording->n_steps && !deleted; i++) {
        replay.step = &recording->steps[i];
        replay.tale.line = replay.step->line;
        replay.tale.later_ns = replay.step->at_ns;
        deleted = replay.step->deleted && !replay.step->cluster;
        if (!deleted)
            take_step(&replay);
    }
    written_free(&replay.written);
    json_free(replay.status);
    json_free(replay.tale.workload);
    json_free(replay.tale.mirror);
    json_free(fixture.workload);
    free(replay.tale.event);
    free(replay.tale.told);
}
