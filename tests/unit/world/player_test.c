// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "tests/world/player.h"

#include <stdlib.h>
#include <string.h>

#define START_NS (INT64_C(1767225600) * CLOCK_SECOND) // 2026-01-01T00:00:00Z
#define GROUP "jobset.x-k8s.io"
#define PLURAL "jobsets"
#define SPEC "\"replicatedJobs\":[{\"name\":\"a\",\"template\":{\"spec\":{}}}]"

// A story as text: {"status": ..., "phase": ...} or {"patch": ...}.
static const struct {
    const char *name, *steps;
} texts[] = {
    {"failed", "[{\"status\":{\"n\":1},\"phase\":\"Active\"},{\"status\":{\"bad\":true},\"phase\":\"Failed\"}]"},
    {"succeeded", "[{\"status\":{\"startTime\":\"2025-05-05T00:00:00Z\",\"observedGeneration\":7},\"phase\":"
                  "\"Active\"},{\"status\":{\"startTime\":\"2025-05-05T00:00:00Z\",\"done\":\"2025-05-05T00:09:00Z\"},"
                  "\"phase\":\"Succeeded\"}]"},
    {"suspended", "[{\"status\":{\"n\":1},\"phase\":\"Active\"},{\"patch\":{\"spec\":{\"suspend\":true}}},"
                  "{\"status\":{\"asleep\":true},\"phase\":\"Suspended\"},{\"patch\":{\"spec\":{\"suspend\":false}}},"
                  "{\"status\":{\"asleep\":false},\"phase\":\"Active\"}]"},
};
#define STORIES (sizeof texts / sizeof *texts)

struct scene {
    struct fixture fixture;
    struct story stories[STORIES];
    struct json *mirror;
    struct world_cluster *cluster;
    int64_t now_ns;
};

static struct json *parse(const char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return value;
}

static void read_story(struct story *story, const char *name, const char *steps) {
    *story = (struct story){.name = (char *)name, .documents = parse(steps)};
    story->n_steps = json_size(story->documents);
    story->steps = calloc(story->n_steps, sizeof *story->steps);
    for (size_t i = 0; i < story->n_steps; i++) {
        const struct json *step = json_at(story->documents, i);
        story->steps[i] = (struct step){.type = json_get(step, "patch") ? STEP_PATCH : STEP_STATUS,
                                        .status = json_get(step, "status"),
                                        .patch = json_get(step, "patch"),
                                        .phase = json_string(json_get(step, "phase"))};
    }
}

static int begin(void **state) {
    struct scene *scene = calloc(1, sizeof *scene);
    for (size_t i = 0; i < STORIES; i++)
        read_story(&scene->stories[i], texts[i].name, texts[i].steps);
    scene->mirror = parse("{\"spec\":{" SPEC "}}");
    scene->fixture = (struct fixture){
        .plural = (char *)PLURAL, .mirror = scene->mirror, .stories = scene->stories, .n_stories = STORIES};
    scene->now_ns = START_NS;
    scene->cluster = world_new(&(struct world_options){.seed = 1}, START_NS);
    assert_true(player_install(scene->cluster, &scene->fixture));
    *state = scene;
    return 0;
}

static int end(void **state) {
    struct scene *scene = *state;
    assert_int_equal(world_counts(scene->cluster)->internal_refused, 0);
    world_free(scene->cluster);
    for (size_t i = 0; i < STORIES; i++) {
        free(scene->stories[i].steps);
        json_free(scene->stories[i].documents);
    }
    json_free(scene->mirror);
    free(scene);
    return 0;
}

static void apply(struct scene *scene, const char *annotations, const char *spec) {
    AUTO_TEXT text =
        text_format("{\"metadata\":{\"name\":\"x\",\"namespace\":\"default\",\"annotations\":{\"world.test/"
                    "step\":\"1s\"%s}},\"spec\":{" SPEC "%s}}",
                    annotations, spec);
    AUTO_JSON object = parse(text);
    assert_int_equal(world_apply(scene->cluster, GROUP, PLURAL, object, scene->now_ns), 201);
}

static void pass(struct scene *scene, int64_t time_ns) {
    int64_t until_ns = scene->now_ns + time_ns;
    for (int64_t due_ns; (due_ns = world_due(scene->cluster)) <= until_ns;) {
        scene->now_ns = due_ns > scene->now_ns ? due_ns : scene->now_ns;
        world_step(scene->cluster, scene->now_ns);
    }
    scene->now_ns = until_ns;
}

static int patch(struct scene *scene, const char *text) {
    return world_patch(scene->cluster, GROUP, PLURAL, "default", "x", NULL, text, scene->now_ns);
}

static const struct json *status(struct scene *scene) {
    return json_get(world_object(scene->cluster, GROUP, PLURAL, "default", "x"), "status");
}

static void statuses_come_one_after_the_other_with_times_of_their_own(void **state) {
    struct scene *scene = *state;
    apply(scene, "", "");
    pass(scene, 500 * CLOCK_MS);
    assert_null(status(scene));
    pass(scene, CLOCK_SECOND);
    assert_string_equal(json_string(json_get(status(scene), "startTime")), "2026-01-01T00:00:01Z");
    assert_int_equal(json_int64(json_get(status(scene), "observedGeneration"), 0), 1);
    assert_null(json_get(status(scene), "done"));
    pass(scene, CLOCK_SECOND);
    assert_string_equal(json_string(json_get(status(scene), "startTime")), "2026-01-01T00:00:01Z");
    assert_string_equal(json_string(json_get(status(scene), "done")), "2026-01-01T00:00:02Z");
}

static void an_annotation_chooses_the_story(void **state) {
    struct scene *scene = *state;
    apply(scene, ",\"world.test/story\":\"failed\"", "");
    pass(scene, 5 * CLOCK_SECOND);
    assert_true(json_bool(json_get(status(scene), "bad"), false));
}

static void what_is_delegated_is_left_alone(void **state) {
    struct scene *scene = *state;
    apply(scene, "", ",\"managedBy\":\"wharf.dev/host\"");
    pass(scene, CLOCK_MINUTE);
    assert_null(status(scene));
}

static void what_names_its_own_controller_is_played(void **state) {
    struct scene *scene = *state;
    apply(scene, "", ",\"managedBy\":\"jobset.sigs.k8s.io/jobset-controller\"");
    pass(scene, CLOCK_MINUTE);
    assert_non_null(json_get(status(scene), "done"));
}

static void what_is_suspended_at_any_moment_sleeps_and_then_goes_on(void **state) {
    struct scene *scene = *state;
    apply(scene, "", "");
    pass(scene, 1500 * CLOCK_MS);
    assert_int_equal(patch(scene, "{\"spec\":{\"suspend\":true}}"), 200);
    pass(scene, CLOCK_MINUTE);
    assert_true(json_bool(json_get(status(scene), "asleep"), false));
    assert_int_equal(patch(scene, "{\"spec\":{\"suspend\":false}}"), 200);
    pass(scene, 1500 * CLOCK_MS);
    assert_false(json_bool(json_get(status(scene), "asleep"), true));
    pass(scene, CLOCK_MINUTE); // that story has no end: its own one has
    assert_non_null(json_get(status(scene), "done"));
}

static void a_story_waits_for_its_user(void **state) {
    struct scene *scene = *state;
    apply(scene, ",\"world.test/story\":\"suspended\"", "");
    pass(scene, CLOCK_MINUTE);
    assert_int_equal(json_int64(json_get(status(scene), "n"), 0), 1);
    assert_int_equal(patch(scene, "{\"spec\":{\"suspend\":true}}"), 200);
    pass(scene, CLOCK_MINUTE);
    assert_true(json_bool(json_get(status(scene), "asleep"), false));
}

static void what_is_over_deletes_itself_if_it_says_so(void **state) {
    struct scene *scene = *state;
    apply(scene, "", ",\"ttlSecondsAfterFinished\":10");
    pass(scene, 11 * CLOCK_SECOND);
    assert_non_null(status(scene));
    pass(scene, 2 * CLOCK_SECOND);
    assert_null(world_object(scene->cluster, GROUP, PLURAL, "default", "x"));
}

static void a_kind_that_comes_again_is_played_again(void **state) {
    struct scene *scene = *state;
    apply(scene, "", "");
    pass(scene, 1500 * CLOCK_MS);
    assert_true(world_unregister(scene->cluster, GROUP, PLURAL));
    assert_false(world_unregister(scene->cluster, GROUP, PLURAL));
    pass(scene, CLOCK_MINUTE);
    assert_true(player_install(scene->cluster, &scene->fixture));
    assert_false(player_install(scene->cluster, &scene->fixture));
    apply(scene, "", "");
    pass(scene, CLOCK_MINUTE);
    assert_non_null(json_get(status(scene), "done"));
}

// Tekton runs the finally tasks of a run that is cancelled gracefully, and then it is over.
static void a_run_that_is_cancelled_gracefully_ends_without_its_user(void **state) {
    (void)state;
    struct fixture *fixture = NULL;
    assert_null(fixture_load("tests/fixtures/pipelineruns", &fixture));
    struct world_cluster *cluster = world_new(&(struct world_options){.seed = 1}, START_NS);
    assert_true(player_install(cluster, fixture));
    AUTO_JSON run = parse("{\"metadata\":{\"name\":\"x\",\"namespace\":\"default\",\"annotations\":{"
                          "\"world.test/step\":\"1s\"}},\"spec\":{}}");
    assert_int_equal(world_apply(cluster, "tekton.dev", "pipelineruns", run, START_NS), 201);
    for (int64_t second = 0; second < 10; second++) {
        world_step(cluster, START_NS + second * CLOCK_SECOND);
        if (second == 1)
            assert_int_equal(world_patch(cluster, "tekton.dev", "pipelineruns", "default", "x", NULL,
                                         "{\"spec\":{\"status\":\"CancelledRunFinally\"}}",
                                         START_NS + second * CLOCK_SECOND),
                             200);
    }
    const struct json *now = world_object(cluster, "tekton.dev", "pipelineruns", "default", "x");
    assert_string_equal(json_string(pointer_find(now, "/status/conditions/0/status")), "False");
    assert_string_equal(json_string(pointer_find(now, "/status/conditions/0/reason")), "Cancelled");
    world_free(cluster);
    fixture_free(fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(statuses_come_one_after_the_other_with_times_of_their_own),
        TEST(an_annotation_chooses_the_story),
        TEST(what_is_delegated_is_left_alone),
        TEST(what_names_its_own_controller_is_played),
        TEST(what_is_suspended_at_any_moment_sleeps_and_then_goes_on),
        TEST(a_story_waits_for_its_user),
        TEST(what_is_over_deletes_itself_if_it_says_so),
        TEST(a_kind_that_comes_again_is_played_again),
        cmocka_unit_test(a_run_that_is_cancelled_gracefully_ends_without_its_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
