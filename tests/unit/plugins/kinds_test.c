// SPDX-License-Identifier: Apache-2.0
// Every kind of every adapter with its fixtures and recordings: the mirror of the workload, each story, and each life
// recorded from the kind's real controller. Tests are generated from the kinds and files found: a kind without
// fixtures, and fixtures or recordings without a kind, are failing tests.
#include "tests/unit/plugins/kinds.h"

#include "core/base/text.h"
#include "core/json/yaml.h"
#include "tests/support/shipped.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TESTS_MAX 1024
#define NAMES_MAX 128
#define GAVE_UP KINDS_FIXTURES "/gave-up.yaml"

// One test: of a recording, of a story, of a mirror (both NULL), of a kind that lacks a folder (fixture NULL), or an
// error from before the tests began.
struct trial {
    const struct kind *kind;
    struct fixture *fixture;
    const struct story *story;
    const struct recording *recording;
    const struct json *gave_up; // by the plural of the kind
    char *problem;
};

struct table {
    struct shipped shipped;
    struct json *gave_up;
    struct fixture *fixtures[NAMES_MAX];
    size_t n_fixtures;
    struct recordings recordings;
    struct trial trials[TESTS_MAX];
    struct CMUnitTest tests[TESTS_MAX];
    size_t count;
};

// A workload that no cluster accepts has failed, and says why. A kind that never finishes has no words for that.
static void it_can_be_given_up(struct tale *tale, const struct json *all) {
    const struct json *expected = json_get(all, tale->fixture->plural);
    AUTO_JSON status = kinds_gave_up(tale);
    if ((tale->kind->abi.flags & WHARF_KIND_NEVER_FINISHES) == 0 && !expected)
        kinds_fail(tale, "%s does not say what is written when it is given up", GAVE_UP);
    kinds_expect_same(tale, "the status of one that was given up", status, expected);
}

static void the_mirror_is_made(const struct trial *trial) {
    struct tale tale = {.kind = trial->kind, .fixture = trial->fixture, .attempt = 1, .resource_version = 1};
    tale.workload = kinds_workload(&tale);
    assert_true(json_set(tale.workload, "status", json_new_object()));
    tale.mirror = kinds_create(&tale);
    if (!tale.mirror)
        kinds_fail(&tale, "the workload is refused: %s", tale.event);
    if (tale.event)
        kinds_fail(&tale, "an Event that is not expected: %s", tale.event);
    kinds_check_mirror(&tale, tale.mirror);
    AUTO_JSON found = kinds_bare(tale.mirror);
    AUTO_JSON expected = kinds_bare(trial->fixture->mirror);
    kinds_expect_same(&tale, "the mirror", found, expected);
    it_can_be_given_up(&tale, trial->gave_up);
    json_free(tale.workload);
    json_free(tale.mirror);
}

static void run(void **state) {
    const struct trial *trial = *state;
    if (trial->problem)
        fail_msg("%s", trial->problem);
    if (trial->recording)
        kinds_replay(trial->kind, trial->recording);
    else if (trial->story)
        kinds_tell(trial->kind, trial->fixture, trial->story);
    else
        the_mirror_is_made(trial);
}

static void add(struct table *table, struct trial trial, char *name) {
    assert_true(table->count < TESTS_MAX);
    table->trials[table->count] = trial;
    table->tests[table->count] =
        (struct CMUnitTest){.name = name, .test_func = run, .initial_state = &table->trials[table->count]};
    table->count++;
}

static void add_problem(struct table *table, char *sentence) {
    add(table, (struct trial){.problem = sentence}, sentence);
}

static int is_folder(const struct dirent *entry) {
    AUTO_TEXT path = text_format("%s/%s/workload.yaml", KINDS_FIXTURES, entry->d_name);
    return entry->d_name[0] != '.' && path && access(path, R_OK) == 0;
}

static struct json *read_yaml(struct table *table, const char *path) {
    AUTO_BUFFER(text, 1 << 20);
    struct yaml yaml = {.value = NULL};
    struct error *error = text_read_file(path, 1 << 20, &text);
    if (!error)
        error = yaml_parse(path, text.data, text.len, &yaml);
    if (error)
        add_problem(table, strdup(error->message));
    error_free(error);
    return yaml.value;
}

static void add_fixture(struct table *table, struct fixture *fixture) {
    const struct kind *kind = shipped_kind(&table->shipped, fixture->plural);
    table->fixtures[table->n_fixtures++] = fixture;
    if (!kind) {
        add_problem(table, text_format("no adapter has the kind of %s/%s", KINDS_FIXTURES, fixture->plural));
        return;
    }
    struct trial trial = {.kind = kind, .fixture = fixture, .gave_up = table->gave_up};
    add(table, trial,
        text_format("a mirror of %s has nothing that belongs to the management cluster", fixture->plural));
    for (size_t i = 0; i < fixture->n_stories; i++) {
        trial.story = &fixture->stories[i];
        add(table, trial,
            text_format("the workload of %s tells the story %s as it was", fixture->plural, trial.story->name));
    }
}

static void load_fixtures(struct table *table) {
    struct dirent **entries = NULL;
    int count = scandir(KINDS_FIXTURES, &entries, is_folder, alphasort);
    for (int i = 0; i < count; i++) {
        AUTO_TEXT folder = text_format("%s/%s", KINDS_FIXTURES, entries[i]->d_name);
        struct fixture *fixture = NULL;
        struct error *error = fixture_load(folder, &fixture);
        if (error)
            add_problem(table, strdup(error->message));
        else
            add_fixture(table, fixture);
        error_free(error);
        free(entries[i]);
    }
    free(entries);
}

static void add_recordings(struct table *table) {
    struct error *error = recordings_load(NULL, &table->recordings);
    if (error || table->recordings.count == 0)
        add_problem(table, error ? strdup(error->message) : text_format("there are no recordings"));
    error_free(error);
    for (size_t i = 0; i < table->recordings.count; i++) {
        const struct recording *recording = table->recordings.list[i];
        const struct kind *kind = shipped_kind(&table->shipped, recording->plural);
        if (kind)
            add(table, (struct trial){.kind = kind, .recording = recording},
                text_format("the workload of %s shows its recorded life %s", recording->plural, recording->name));
        else
            add_problem(table, text_format("no adapter has the kind of %s", recording->path));
    }
}

// Every kind has fixtures, with the stories that its phases make possible.
static void require_fixtures(struct table *table) {
    for (size_t i = 0; i < table->shipped.adapters->n_kinds; i++) {
        const struct kind *kind = table->shipped.adapters->kinds[i];
        const char *plural = kind->abi.plural;
        const struct fixture *found = NULL;
        for (size_t j = 0; j < table->n_fixtures; j++)
            if (strcmp(table->fixtures[j]->plural, plural) == 0)
                found = table->fixtures[j];
        if (!found) {
            add_problem(table, text_format("kind %s has no fixtures: expected %s/%s/workload.yaml", kind->plural_group,
                                           KINDS_FIXTURES, plural));
            continue;
        }
        bool ends = (kind->abi.flags & WHARF_KIND_NEVER_FINISHES) == 0;
        const char *const wanted[] = {ends ? "succeeded" : NULL, ends ? "failed" : NULL,
                                      kind->abi.suspend ? "suspended" : NULL, kind->abi.carried ? "carried" : NULL};
        for (size_t j = 0; j < sizeof wanted / sizeof *wanted; j++)
            if (wanted[j] && !fixture_story(found, wanted[j]))
                add_problem(table, text_format("%s has no story %s.yaml", plural, wanted[j]));
    }
}

static void table_free(struct table *table) {
    for (size_t i = 0; i < table->count; i++)
        free((char *)(uintptr_t)table->tests[i].name);
    for (size_t i = 0; i < table->n_fixtures; i++)
        fixture_free(table->fixtures[i]);
    recordings_free(&table->recordings);
    shipped_free(&table->shipped);
    json_free(table->gave_up);
    free(table);
}

// Adapters in this process and in processes of their own have the same results.
static int run_kinds(bool isolated) {
    struct table *table = calloc(1, sizeof *table);
    assert_non_null(table);
    table->gave_up = read_yaml(table, GAVE_UP);
    shipped_load(&table->shipped, isolated);
    for (size_t i = 0; i < table->shipped.problems.count; i++)
        add_problem(table, strdup(table->shipped.problems.list[i]));
    load_fixtures(table);
    add_recordings(table);
    require_fixtures(table);
    int failed = _cmocka_run_group_tests(isolated ? "isolated kinds" : "kinds", table->tests, table->count, NULL, NULL);
    table_free(table);
    return failed;
}

int main(void) {
    cmocka_set_test_filter(getenv("KINDS"));
    return run_kinds(false) + run_kinds(true);
}
