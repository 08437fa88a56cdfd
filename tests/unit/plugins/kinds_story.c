// SPDX-License-Identifier: Apache-2.0
// A story, step by step: actions of the controller and the user, the host's reactions, and the expected result. After
// each step nothing is left to do, and the worker can be lost.
#include "tests/unit/plugins/kinds.h"

#include "core/base/text.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#include <stdlib.h>
#include <string.h>

static const char *const phase_names[] = {"Pending", "Suspended", "Active", "Succeeded", "Failed"};

static bool is_end(wharf_phase_kind phase) {
    return phase == WHARF_SUCCEEDED || phase == WHARF_FAILED;
}

// Without the field that the host rewrites.
static struct json *status_to_compare(const struct tale *tale, const struct json *status) {
    struct json *whole = json_new_object();
    assert_true(json_set(whole, "status", status ? json_copy(status) : json_new_object()));
    if (tale->kind->abi.observed_generation)
        pointer_remove(whole, tale->kind->abi.observed_generation);
    struct json *result = json_detach(whole, "status");
    json_free(whole);
    return result;
}

// `before` is the status that the workload had; it stays while a mirror has none. STATUS: without `workload`, what the
// kind takes out of every status is taken out of the controller's.
static void check_status(const struct tale *tale, const struct json *before) {
    const struct step *step = tale->step;
    const struct json *wanted = step->workload ? step->workload : json_size(step->status) > 0 ? step->status : before;
    AUTO_JSON expected = status_to_compare(tale, wanted);
    AUTO_JSON found = status_to_compare(tale, json_get(tale->workload, "status"));
    kinds_expect_same(tale, "the workload's status", found, expected);
    const char *observed = tale->kind->abi.observed_generation;
    if (!observed || !tale->mirror || !pointer_find(tale->mirror, observed))
        return;
    int64_t now = json_int64(pointer_find(tale->workload, observed), -1);
    int64_t generation = object_generation(tale->workload);
    bool seen = json_int64(pointer_find(tale->mirror, observed), 0) >= object_generation(tale->mirror);
    if (now > generation || (seen && !step->event && now != generation))
        kinds_fail(tale, "%s: found %lld, and the workload's generation is %lld", observed, (long long)now,
                   (long long)generation);
}

static void check_phase(struct tale *tale) {
    AUTO_TEXT reason = NULL;
    wharf_phase found = kinds_phase(tale, tale->workload, &reason);
    const struct step *step = tale->step;
    if (step->phase && strcmp(step->phase, phase_names[found.phase]) != 0)
        kinds_fail(tale, "the phase: found %s, expected %s", phase_names[found.phase], step->phase);
    if (step->reason && !text_equal(step->reason, reason))
        kinds_fail(tale, "the reason: found %s, expected %s", reason ? reason : "none", step->reason);
    if (is_end(tale->end) && found.phase != tale->end)
        kinds_fail(tale, "it was %s, and is %s now", phase_names[tale->end], phase_names[found.phase]);
    if (is_end(found.phase))
        tale->end = found.phase;
}

static void check_event(struct tale *tale) {
    const char *wanted = tale->step->event;
    if (wanted && (!tale->event || !strstr(tale->event, wanted)))
        kinds_fail(tale, "the Event: found %s, expected \"%s\" in it", tale->event ? tale->event : "none", wanted);
    if (!wanted && tale->event && !text_equal(tale->event, tale->told))
        kinds_fail(tale, "an Event that is not expected: %s", tale->event);
    if (tale->event) {
        free(tale->told);
        tale->told = tale->event;
        tale->event = NULL;
    }
}

// An Event may be repeated.
static void drop_repeated_event(struct tale *tale) {
    if (tale->event && !text_equal(tale->event, tale->told))
        kinds_fail(tale, "an Event that comes when nothing changed: %s", tale->event);
    free(tale->event);
    tale->event = NULL;
}

// Labels and annotations follow, and the spec as the step says.
static struct json *expected_mirror(const struct tale *tale, const struct json *before) {
    const struct step *step = tale->step;
    struct json *expected = kinds_bare(before);
    const struct json *patch = step->type != STEP_PATCH || (step->event && !step->mirror) ? NULL : step->patch;
    AUTO_JSON change = json_new_object();
    const struct json *spec = step->mirror ? step->mirror : json_get(patch, "spec");
    assert_true(!spec || json_set(change, "spec", json_copy(spec)));
    const struct json *metadata = json_get(patch, "metadata");
    assert_true(!metadata || json_set(change, "metadata", json_copy(metadata)));
    assert_true(patch_apply(&expected, change));
    struct json *bare = kinds_bare(expected);
    json_free(expected);
    return bare;
}

// After a status, what had to wait may follow to a mirror that is suspended; to others there is nothing to carry.
static void check_carried(struct tale *tale, const struct json *before) {
    kinds_check_mirror(tale, tale->mirror);
    if (tale->step->type == STEP_STATUS && tale->kind->abi.suspend)
        return;
    AUTO_JSON expected = expected_mirror(tale, before);
    AUTO_JSON found = kinds_bare(tale->mirror);
    kinds_expect_same(tale, "the mirror", found, expected);
}

static struct json *bump(struct tale *tale, struct json *object, bool generation) {
    struct json *metadata = json_get(object, "metadata");
    AUTO_TEXT version = text_format("%lld", (long long)tale->resource_version++);
    assert_true(json_set(metadata, "resourceVersion", json_new_string(version)));
    if (generation)
        assert_true(json_set(metadata, "generation", json_new_int64(object_generation(object) + 1)));
    return object;
}

static void patch_workload(struct tale *tale) {
    AUTO_JSON before = json_copy(tale->workload);
    assert_true(patch_apply(&tale->workload, tale->step->patch));
    const struct json *spec = json_get(tale->workload, "spec");
    bump(tale, tale->workload, !json_equal(spec, json_get(before, "spec")));
}

// One reconciliation by the host.
static void take_round(struct tale *tale) {
    bool carried = tale->mirror && kinds_carry(tale);
    if (!tale->mirror || carried || tale->step->event)
        kinds_copy_status(tale);
    else
        kinds_fail(tale, "the change is refused: %s", tale->event ? tale->event : "without a reason");
}

static void check_nothing_left(struct tale *tale) {
    AUTO_JSON workload = json_copy(tale->workload);
    AUTO_JSON mirror = tale->mirror ? json_copy(tale->mirror) : NULL;
    take_round(tale);
    kinds_expect_same(tale, "the workload when nothing changed", tale->workload, workload);
    kinds_expect_same(tale, "the mirror when nothing changed", tale->mirror, mirror);
}

// The worker is lost right after this step: the workload still has a status that stays as it is, finished stays
// finished, and the next mirror is as clean as the first one.
static void check_loss(const struct tale *tale) {
    struct tale other = *tale;
    other.workload = json_copy(tale->workload);
    other.mirror = NULL;
    other.lost = true;
    other.event = other.told = NULL;
    kinds_copy_status(&other);
    AUTO_JSON once = json_copy(other.workload);
    kinds_copy_status(&other);
    kinds_expect_same(tale, "the workload that lost its worker, reconciled again", other.workload, once);
    AUTO_TEXT reason = NULL;
    wharf_phase phase = kinds_phase(&other, other.workload, &reason);
    if (is_end(tale->end) && phase.phase != tale->end)
        kinds_fail(tale, "it was %s, and is %s when the worker is lost", phase_names[tale->end],
                   phase_names[phase.phase]);
    other.attempt++;
    other.mirror = kinds_create(&other);
    if (!other.mirror)
        kinds_fail(tale, "there is no second mirror: %s", other.event ? other.event : "without a reason");
    kinds_check_mirror(&other, other.mirror);
    json_free(other.mirror);
    json_free(other.workload);
    free(other.event);
}

// No cluster accepts it after this step: it has failed, unless it is suspended or over.
static void check_gave_up(const struct tale *tale) {
    struct tale other = *tale;
    other.mirror = NULL;
    other.event = other.told = NULL;
    AUTO_TEXT reason = NULL;
    wharf_phase_kind phase = kinds_phase(&other, other.workload, &reason).phase;
    if (!is_end(phase) && phase != WHARF_SUSPENDED)
        json_free(kinds_gave_up(&other));
}

static void do_step(struct tale *tale) {
    const struct step *step = tale->step;
    if (step->type == STEP_STATUS) {
        if (!tale->mirror)
            kinds_begin_attempt(tale);
        assert_true(json_set(tale->mirror, "status", json_copy(step->status)));
        bump(tale, tale->mirror, (tale->kind->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) != 0);
    } else if (step->type == STEP_PATCH) {
        patch_workload(tale);
    } else {
        json_cleanup(&tale->mirror);
        tale->lost = step->type == STEP_LOST;
    }
}

static void take_step(struct tale *tale) {
    do_step(tale);
    AUTO_JSON mirror = tale->mirror ? json_copy(tale->mirror) : NULL;
    AUTO_JSON before = json_copy(json_get(tale->workload, "status"));
    take_round(tale);
    if (!tale->mirror && tale->step->event) // rejected before it is placed
        json_free(kinds_create(tale));
    if (tale->mirror)
        check_carried(tale, mirror);
    check_status(tale, before);
    check_phase(tale);
    check_event(tale);
    check_nothing_left(tale);
    drop_repeated_event(tale);
    if (!tale->step->event || tale->mirror)
        check_loss(tale);
    check_gave_up(tale);
}

void kinds_tell(const struct kind *kind, const struct fixture *fixture, const struct story *story) {
    struct tale tale = {.kind = kind, .fixture = fixture, .story = story, .resource_version = 100};
    tale.workload = kinds_workload(&tale);
    if (story->steps[0].type != STEP_UNPLACED)
        kinds_begin_attempt(&tale);
    for (size_t i = 0; i < story->n_steps; i++) {
        tale.step = &story->steps[i];
        take_step(&tale);
    }
    json_free(tale.workload);
    json_free(tale.mirror);
    free(tale.event);
    free(tale.told);
}
