// SPDX-License-Identifier: Apache-2.0
// The controllers that the world plays follow the recorded ones: in the stories of tests/fixtures, which players play,
// a status has each field that the real controller always writes, and two states follow each other as they were seen
// to do. A state is the conditions with their status, and the words for phases.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "core/base/buffer.h"
#include "core/base/text.h"
#include "tests/support/recording.h"

#include <stdlib.h>
#include <string.h>

#define FIXTURES "tests/fixtures"
#define STATE_MAX 4096
#define PARTS_MAX 32

static const char *const stories[] = {"succeeded", "failed", "suspended", "running"};
static const char *const words[] = {"phase", "state", "jobStatus", "jobDeploymentStatus"};

// What no recorded life has, and why it is played all the same.
static const struct exception {
    const char *plural, *story; // NULL: each
    const char *what;           // a part of what the test finds
    const char *why;
} exceptions[] = {
    {"appwrappers", "failed", "Resetting", "pods run again after a reset, and fail again"},
    {"appwrappers", "succeeded", "ResourcesDeployed=False", "components are deleted once it has succeeded"},
    {"jobsets", "failed", "RestartingJobSet=False", "the restarts of a JobSet are used up"},
    {"paddlejobs", "failed", "Failed=True", "a pod fails while others have run"},
    {"xgboostjobs", "failed", "Running=True", "a pod fails while others have run"},
    {"pipelineruns", NULL, "lacks", "a Pipeline by reference is resolved first"},
    {"rayclusters", NULL, "lacks minWorkerReplicas", "minReplicas is 0, which is left out"},
    {"rayclusters", "failed", "state:failed", "pods cannot be created"},
    {"rayclusters", "running", "RayClusterProvisioned=False", "the head is ready before the workers"},
    {"rayjobs", "succeeded", "jobStatus:PENDING", "the job waits in the cluster"},
    {"rayservices", "failed", "Ready=True", "a service that was ready is not any more"},
    {"rayservices", "suspended", "RollbackInProgress=False", "resumed before a cluster is there"},
    {"taskruns", NULL, "lacks", "a Task by reference is resolved first"},
    {"taskruns", "suspended", "unknown state \"\"", "pending, before it is started"},
    {"workflows", "failed", "PodRunning=True", "fails while a pod is running"},
    {"workflows", "succeeded", "phase:Pending", "waits for its turn"},
};
#define EXCEPTIONS (sizeof exceptions / sizeof *exceptions)

static bool needed[EXCEPTIONS];

struct states {
    char **list;
    size_t count;
};

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *state_of(const struct json *status) {
    char *parts[PARTS_MAX];
    size_t count = 0;
    for (const struct json *c = json_first(json_get(status, "conditions")); c; c = json_next(c)) {
        assert_true(count < PARTS_MAX);
        parts[count++] =
            text_format("%s=%s", json_string_or(json_get(c, "type"), ""), json_string_or(json_get(c, "status"), ""));
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (*json_string_or(json_get(status, words[i]), "") && count < PARTS_MAX)
            parts[count++] = text_format("%s:%s", words[i], json_string(json_get(status, words[i])));
    qsort(parts, count, sizeof *parts, by_text);
    AUTO_BUFFER(text, STATE_MAX);
    buffer_text(&text, "");
    for (size_t i = 0; i < count; i++) {
        buffer_printf(&text, "%s%s", i ? " " : "", parts[i]);
        free(parts[i]);
    }
    return strdup(text.data);
}

static void states_add(struct states *states, const struct json *status) {
    char *state = state_of(status);
    if (states->count > 0 && strcmp(states->list[states->count - 1], state) == 0) {
        free(state);
        return;
    }
    states->list = realloc(states->list, (states->count + 1) * sizeof *states->list);
    assert_non_null(states->list);
    states->list[states->count++] = state;
}

static void states_free(struct states *states) {
    for (size_t i = 0; i < states->count; i++)
        free(states->list[i]);
    free(states->list);
}

// Where the state comes first at or after `from`; the count: it does not.
static size_t states_find(const struct states *states, size_t from, const char *state) {
    while (from < states->count && strcmp(states->list[from], state) != 0)
        from++;
    return from;
}

// Whether a recorded life was in state `a`, and later in state `b` (NULL: any).
static bool is_recorded(const struct states *lives, size_t n_lives, const char *a, const char *b) {
    for (size_t i = 0; i < n_lives; i++) {
        size_t at = states_find(&lives[i], 0, a);
        if (at < lives[i].count && (!b || states_find(&lives[i], at + 1, b) < lives[i].count))
            return true;
    }
    return false;
}

static void find(const char *plural, const char *story, size_t line, const char *what) {
    for (size_t i = 0; i < EXCEPTIONS; i++)
        if (strcmp(exceptions[i].plural, plural) == 0 &&
            (!exceptions[i].story || strcmp(exceptions[i].story, story) == 0) && strstr(what, exceptions[i].what)) {
            needed[i] = true;
            return;
        }
    fail_msg("%s/%s/%s.yaml:%zu: %s", FIXTURES, plural, story, line, what);
}

static void check_fields(const char *plural, const char *story, const struct step *step,
                         const struct recordings *recordings) {
    const struct json *always = NULL; // one of the statuses: its fields that are in all others
    for (size_t i = 0; i < recordings->count && !always; i++)
        for (size_t s = 0; s < recordings->list[i]->n_steps && !always; s++)
            always = recordings->list[i]->steps[s].status;
    for (const struct json *field = json_first(always); field; field = json_next(field)) {
        bool in_all = true;
        for (size_t i = 0; i < recordings->count; i++)
            for (size_t s = 0; s < recordings->list[i]->n_steps; s++)
                in_all &= !recordings->list[i]->steps[s].status ||
                          json_get(recordings->list[i]->steps[s].status, json_key(field));
        AUTO_TEXT what = text_format("lacks %s, which the controller always writes", json_key(field));
        if (in_all && !json_get(step->status, json_key(field)))
            find(plural, story, step->line, what);
    }
}

static void check_order(const char *plural, const struct story *story, const struct states *lives, size_t n_lives) {
    char *last = NULL;
    for (size_t i = 0; i < story->n_steps; i++) {
        const struct step *step = &story->steps[i];
        if (step->type != STEP_STATUS || json_size(step->status) == 0)
            continue;
        char *now = state_of(step->status);
        bool known = is_recorded(lives, n_lives, now, NULL);
        AUTO_TEXT unknown = text_format("unknown state \"%s\"", now);
        AUTO_TEXT order = text_format("after \"%s\" never came \"%s\"", last ? last : "", now);
        if (!known)
            find(plural, story->name, step->line, unknown);
        else if (last && strcmp(last, now) != 0 && is_recorded(lives, n_lives, last, NULL) &&
                 !is_recorded(lives, n_lives, last, now))
            find(plural, story->name, step->line, order);
        free(last);
        last = now;
    }
    free(last);
}

static bool is_active(const struct step *step) {
    return step->type == STEP_STATUS && json_size(step->status) > 0 && step->phase &&
           strcmp(step->phase, "Pending") != 0 && strcmp(step->phase, "Suspended") != 0;
}

static void compare(const struct fixture *fixture, const struct recordings *recordings) {
    struct states *lives = calloc(recordings->count, sizeof *lives);
    assert_non_null(lives);
    for (size_t i = 0; i < recordings->count; i++)
        for (size_t s = 0; s < recordings->list[i]->n_steps; s++)
            if (recordings->list[i]->steps[s].status)
                states_add(&lives[i], recordings->list[i]->steps[s].status);
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
        const struct story *story = fixture_story(fixture, stories[i]);
        for (size_t s = 0; story && s < story->n_steps; s++)
            if (is_active(&story->steps[s]))
                check_fields(fixture->plural, story->name, &story->steps[s], recordings);
        if (story)
            check_order(fixture->plural, story, lives, recordings->count);
    }
    for (size_t i = 0; i < recordings->count; i++)
        states_free(&lives[i]);
    free(lives);
}

static void played_controllers_follow_the_recorded_ones(void **state) {
    struct recordings all = {0}, own = {0};
    const char *plural = "";
    size_t kinds = 0;
    (void)state;
    assert_null(recordings_load(NULL, &all));
    for (size_t i = 0; i < all.count; i++) {
        if (strcmp(all.list[i]->plural, plural) == 0)
            continue;
        plural = all.list[i]->plural;
        AUTO_TEXT folder = text_format("%s/%s", FIXTURES, plural);
        struct fixture *fixture = NULL;
        assert_null(fixture_load(folder, &fixture));
        assert_null(recordings_load(plural, &own));
        compare(fixture, &own);
        recordings_free(&own);
        fixture_free(fixture);
        kinds++;
    }
    recordings_free(&all);
    assert_true(kinds > 10);
    for (size_t i = 0; i < EXCEPTIONS; i++)
        if (!needed[i])
            fail_msg("%s/%s: \"%s\" is recorded now, and no exception any more", exceptions[i].plural,
                     exceptions[i].story ? exceptions[i].story : "*", exceptions[i].what);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(played_controllers_follow_the_recorded_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
