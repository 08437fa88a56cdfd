// SPDX-License-Identifier: Apache-2.0
// The lives in tests/recordings once more: the engine between clusters of the world, in which the test makes the writes
// of the user and the kind's controller that were recorded. The world accepts each of them; the engine copies each
// status, once, and answers none of the controller's writes to the mirror.
#include "core/adapter/phase.h"
#include "core/kube/object/object.h"
#include "tests/support/recording.h"
#include "tests/support/shipped.h"
#include "tests/unit/engine/stage.h"
#include "tests/world/custom.h"

#include <stdio.h>

#define NAME "life"
#define SETTLE_NS (20 * CLOCK_MS) // longer than the engine takes for all requests that a change leads to
#define LOST_NS (20 * CLOCK_SECOND)
#define RETENTION_NS (25 * CLOCK_SECOND)
#define TESTS_MAX 512

struct life {
    struct stage stage;
    const struct kind *kind;
    const struct recording *recording;
    const struct recorded *step;
    struct written written;
    struct json *given;      // the status that the mirror was given last; NULL: none
    int64_t began_ns;        // the stage's time of the first step
    size_t at, left;         // the cluster of the mirror, and that of a mirror that was given up; 0: none
    const char *here, *away; // their names when it was recorded
    unsigned shown, mirror;  // writes of the engine: of the workload's status, and to the mirror
    bool pending;            // a user's change may have to be carried
};

static void life_fail(const struct life *life, const char *what, const struct json *found) {
    AUTO_TEXT text = found ? json_text(found, NULL) : strdup("nothing");
    fail_msg("%s:%zu: %s: %.900s", life->recording->path, life->step ? life->step->line : 1, what, text);
}

#define CHECK(life, condition, what, found)                                                                            \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            life_fail((life), (what), (found));                                                                        \
    } while (0)

static const struct json *workload_of(struct life *life) {
    return stage_job(&life->stage, ENGINE_MANAGEMENT, NAME);
}

static const struct json *mirror_of(struct life *life) {
    return life->at ? stage_job(&life->stage, life->at, NAME) : NULL;
}

// Counts what the engine writes.
static void wrote(struct stage *stage, size_t cluster, const struct world_write *write) {
    struct life *life = stage->ctx;
    if (!write->old || !write->now)
        return;
    const struct json *status = json_get(write->now, "status");
    if (cluster == ENGINE_MANAGEMENT && !json_equal(json_get(write->old, "status"), status)) {
        life->shown++;
        written_add(&life->written, recorded_comparable(status, life->kind->abi.observed_generation));
    } else if (cluster != ENGINE_MANAGEMENT && cluster == life->at) {
        life->mirror++;
    }
}

static bool is_placed(struct stage *stage) {
    struct life *life = stage->ctx;
    for (size_t c = 1; c < STAGE_CLUSTERS; c++)
        if (c != life->left && stage_job(stage, c, NAME)) {
            life->at = c;
            return true;
        }
    return false;
}

// -- what the kind's controller does --

// A merge patch of the mirror or its status, as a user's of the same rights.
static void write_mirror(struct life *life, const char *subresource, const char *member, const struct json *patch) {
    AUTO_JSON whole = json_new_object();
    assert_true(json_set(whole, member, json_copy(patch)));
    AUTO_TEXT text = json_text(strcmp(member, "") == 0 ? patch : whole, NULL);
    life->stage.user = true;
    int status = world_patch(life->stage.clusters[life->at], life->stage.served->group, life->stage.served->plural,
                             "default", NAME, subresource, text, life->stage.now.wall_ns);
    life->stage.user = false;
    CHECK(life, status == 200, "the world refuses the controller's write", patch);
}

static const char *status_subresource(const struct life *life) {
    return life->stage.served->no_status ? NULL : "status";
}

// observedGeneration is as far behind the generation as it was.
static struct json *status_now(struct life *life, const struct json *status, int64_t generation) {
    const char *pointer = life->kind->abi.observed_generation;
    struct json *whole = json_new_object();
    assert_true(json_set(whole, "status", json_copy(status)));
    int64_t observed = pointer ? json_int64(pointer_find(whole, pointer), 0) : 0;
    if (observed)
        assert_true(
            pointer_set(whole, pointer, json_new_int64(observed - generation + object_generation(mirror_of(life)))));
    struct json *result = json_detach(whole, "status");
    json_free(whole);
    return result;
}

static void write_status(struct life *life, const struct json *status, int64_t generation) {
    AUTO_JSON now = status_now(life, status, generation);
    const struct json *there = json_get(mirror_of(life), "status");
    AUTO_JSON before = there ? json_copy(there) : json_new_object();
    bool has_array = false;
    AUTO_JSON patch = patch_diff(before, now, &has_array);
    if (json_size(patch) > 0)
        write_mirror(life, status_subresource(life), "status", patch);
    CHECK(life, json_equal(json_get(mirror_of(life), "status"), now), "the world stored another status",
          json_get(mirror_of(life), "status"));
    json_free(life->given);
    life->given = json_copy(status);
}

static void write_object(struct life *life, const struct json *patch) {
    AUTO_JSON kept = json_copy(patch);
    pointer_remove(kept, "/metadata/deletionTimestamp");
    if (json_size(kept) > 0)
        write_mirror(life, NULL, "", kept);
}

// -- what is expected --

static void check_shown(struct life *life) {
    AUTO_JSON shown = recorded_shown(life->step, life->given, life->kind->abi.observed_generation);
    CHECK(life, written_shows(&life->written, shown), "the workload never had this status", shown);
}

static int64_t generation_at(const struct life *life) {
    int64_t generation = 1;
    for (const struct recorded *step = life->recording->steps; step <= life->step; step++)
        if (step->generation)
            generation = step->generation;
    return generation;
}

// One status of the mirror: one write, or none if all that changed stays in the worker.
static void take_status(struct life *life) {
    unsigned shown = life->shown;
    AUTO_JSON before = recorded_comparable(json_get(workload_of(life), "status"), NULL);
    write_status(life, life->step->status, generation_at(life));
    stage_run(&life->stage, SETTLE_NS);
    AUTO_JSON after = recorded_comparable(json_get(workload_of(life), "status"), NULL);
    CHECK(life, life->shown - shown <= 1, "the engine wrote the status more than once", after);
    CHECK(life, life->shown > shown || json_equal(before, after), "the status changed without a write", after);
}

static void take_created(struct life *life) {
    life->here = life->step->cluster;
    stage_until(&life->stage, is_placed);
    stage_run(&life->stage, SETTLE_NS);
    CHECK(life, life->mirror == 0, "the engine answers what the server added to the mirror", mirror_of(life));
}

static void take_change(struct life *life) {
    unsigned before = life->mirror;
    write_object(life, life->step->object);
    stage_run(&life->stage, SETTLE_NS);
    CHECK(life, life->pending || life->mirror == before, "the engine answers a write of the controller",
          mirror_of(life));
}

static void take_patch(struct life *life) {
    AUTO_TEXT text = json_text(life->step->patch, NULL);
    life->stage.user = true;
    int status = world_patch(life->stage.clusters[ENGINE_MANAGEMENT], life->stage.served->group,
                             life->stage.served->plural, "default", NAME, NULL, text, life->stage.now.wall_ns);
    life->stage.user = false;
    CHECK(life, status == 200, "the world refuses the user's change", life->step->patch);
    life->pending = true;
    stage_run(&life->stage, SETTLE_NS);
}

// The host made this change, too.
static void take_carried(struct life *life) {
    AUTO_JSON whole = json_copy(mirror_of(life));
    const char *suspend = life->kind->abi.suspend;
    assert_true(patch_apply(&whole, life->step->carried));
    if (suspend)
        CHECK(life, json_equal(pointer_find(whole, suspend), pointer_find(mirror_of(life), suspend)),
              "the change is not carried", json_get(mirror_of(life), "spec"));
    life->pending = false;
}

static void lose(struct life *life) {
    life->left = life->at;
    life->away = life->here;
    life->at = 0;
    life->mirror = 0;
    stage_disconnect(&life->stage, life->left);
    stage_refused(&life->stage, life->left);
    json_cleanup(&life->given);
}

static void find_again(struct life *life) {
    stage_connect(&life->stage, life->left);
    stage_contact(&life->stage, life->left, CONTACT_GOOD);
}

// The controller removes its finalizers from a mirror that is being deleted.
static void let_go(struct life *life, size_t cluster) {
    const struct json *metadata = json_get(stage_job(&life->stage, cluster, NAME), "metadata");
    if (json_get(metadata, "deletionTimestamp") && json_size(json_get(metadata, "finalizers")) > 0)
        assert_int_equal(stage_patch(&life->stage, cluster, NAME, NULL, "{'metadata':{'finalizers':null}}"), 200);
}

static bool is_gone_there(struct stage *stage) {
    struct life *life = stage->ctx;
    let_go(life, life->at);
    return !stage_job(stage, life->at, NAME);
}

static bool is_gone_from_lost(struct stage *stage) {
    struct life *life = stage->ctx;
    let_go(life, life->left);
    return !stage_job(stage, life->left, NAME);
}

static bool is_gone_everywhere(struct stage *stage) {
    struct life *life = stage->ctx;
    size_t count = 0;
    for (size_t c = 0; c < STAGE_CLUSTERS; c++) {
        let_go(life, c);
        count += world_count(stage->clusters[c], stage->served->group, stage->served->plural);
    }
    return count == 0;
}

// Whatever the mirror was seen to do: it runs if the workload is to run.
static void check_suspend(struct life *life) {
    const struct json *mirror = mirror_of(life);
    if (mirror && workload_of(life))
        CHECK(life,
              phase_suspend_asked(&life->kind->abi, mirror) == phase_suspend_asked(&life->kind->abi, workload_of(life)),
              "the mirror is not suspended as the workload is", mirror);
}

static void take_deleted(struct life *life) {
    const char *cluster = life->step->cluster;
    if (!cluster) {
        check_suspend(life);
        assert_int_equal(stage_delete(&life->stage, ENGINE_MANAGEMENT, NAME), 200);
    } else if (life->left && text_equal(cluster, life->away)) {
        find_again(life);
        stage_until(&life->stage, is_gone_from_lost);
        life->left = 0;
    } else if (life->at && text_equal(cluster, life->here)) {
        stage_until(&life->stage, is_gone_there);
        life->at = 0;
    }
}

static void take_step(struct life *life) {
    const struct recorded *step = life->step;
    int64_t due_ns = life->began_ns + step->at_ns;
    if (due_ns > life->stage.now.mono_ns)
        stage_run(&life->stage, due_ns - life->stage.now.mono_ns);
    if (step->lost)
        lose(life);
    if (step->created)
        take_created(life);
    if (step->patch)
        take_patch(life);
    if (step->carried && life->at)
        take_carried(life);
    if (step->object && !step->created && life->at)
        take_change(life);
    if (step->status)
        take_status(life);
    if (step->shown)
        check_shown(life);
    if (step->deleted)
        take_deleted(life);
    if (due_ns < life->stage.now.mono_ns) // the next steps come as much later
        life->began_ns += life->stage.now.mono_ns - due_ns;
}

// The server's defaults and webhooks: the next mirror becomes what was recorded.
static int admit(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    struct life *life = ctx;
    (void)plural, (void)message;
    const struct recorded *end = life->recording->steps + life->recording->n_steps;
    const struct recorded *step = life->step ? life->step : life->recording->steps;
    while (step < end && !step->created)
        step++;
    const struct json *spec = step < end ? json_get(step->object, "spec") : NULL;
    if (verb == WORLD_CREATE && spec)
        assert_true(json_set(object, "spec", json_copy(spec)));
    return 0;
}

static void begin(struct life *life, const struct recording *recording) {
    struct stage *stage = &life->stage;
    stage_init_kind(stage, (struct kind *)(uintptr_t)life->kind, &custom_by_plural(recording->plural)->kind);
    stage->ctx = life;
    stage->wrote = wrote;
    stage->options.settings.worker_lost_timeout_ns = LOST_NS;
    stage->options.settings.mirror_retention_ns = RETENTION_NS;
    stage_start(stage);
    stage->user = true;
    int status = world_apply(stage->clusters[ENGINE_MANAGEMENT], stage->served->group, stage->served->plural,
                             recording->workload, stage->now.wall_ns);
    stage->user = false;
    CHECK(life, status == 201, "the world refuses the workload", recording->workload);
    life->began_ns = stage->now.mono_ns;
    for (size_t c = 1; c < STAGE_CLUSTERS; c++)
        world_set_admission(stage->clusters[c], admit, life);
}

static void end(struct life *life) {
    if (workload_of(life))
        assert_int_equal(stage_delete(&life->stage, ENGINE_MANAGEMENT, NAME), 200);
    if (life->left)
        find_again(life);
    stage_until(&life->stage, is_gone_everywhere);
    assert_int_equal(life->stage.noops, 0);
    stage_end(&life->stage);
    json_free(life->given);
    written_free(&life->written);
}

struct trial {
    const struct kind *kind;
    const struct recording *recording;
};

static void replay(void **state) {
    const struct trial *trial = *state;
    struct life life = {.kind = trial->kind, .recording = trial->recording};
    begin(&life, trial->recording);
    for (size_t i = 0; i < trial->recording->n_steps; i++) {
        life.step = &trial->recording->steps[i];
        take_step(&life);
    }
    life.step = NULL;
    end(&life);
}

static int run(bool isolated) {
    static struct trial trials[TESTS_MAX];
    static struct CMUnitTest tests[TESTS_MAX];
    struct shipped shipped;
    struct recordings recordings;
    size_t count = 0;
    shipped_load(&shipped, isolated);
    struct error *error = recordings_load(NULL, &recordings);
    if (error) {
        fprintf(stderr, "%s\n", error_text(error));
        return 2;
    }
    for (size_t i = 0; i < recordings.count && count < TESTS_MAX; i++) {
        const struct recording *recording = recordings.list[i];
        if (recording_is_shared(recording))
            continue; // another controller writes the workload's status
        if (!custom_by_plural(recording->plural))
            continue; // Jobs, of which all other tests of the engine are
        trials[count] = (struct trial){shipped_kind(&shipped, recording->plural), recording};
        tests[count] =
            (struct CMUnitTest){.name = recording->path, .test_func = replay, .initial_state = &trials[count]};
        count++;
    }
    int failed = _cmocka_run_group_tests(isolated ? "isolated" : "recordings", tests, count, NULL, NULL);
    recordings_free(&recordings);
    shipped_free(&shipped);
    return failed;
}

int main(void) {
    return run(false) + run(true);
}
