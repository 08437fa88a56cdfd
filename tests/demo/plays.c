// SPDX-License-Identifier: Apache-2.0
// One object of every kind that has fixtures (tests/fixtures), run by the simulated workers as its story goes.
#include "core/base/clock.h"
#include "core/json/pointer.h"
#include "core/json/yaml.h"
#include "tests/demo/demo.h"
#include "tests/support/fixture.h"
#include "tests/support/wharf_child.h"
#include "tests/world/custom.h"
#include "tests/world/player.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURES "tests/fixtures"
#define STORY_NS (9 * CLOCK_SECOND) // duration of a story
#define SUSPENDED "suspended as it runs"
#define TEXT_MAX ((size_t)1 << 20)

static const struct play {
    const char *plural, *name, *story, *shape;
    enum phase expected;
} plays[] = {
    {"jobsets", "render", "succeeded", SUSPENDED, PHASE_COMPLETE},
    {"trainjobs", "llm", "succeeded", "succeeds", PHASE_COMPLETE},
    {"pytorchjobs", "resnet", "succeeded", "succeeds", PHASE_COMPLETE},
    {"tfjobs", "mnist", "failed", "fails", PHASE_FAILED},
    {"xgboostjobs", "iris", "succeeded", "succeeds", PHASE_COMPLETE},
    {"jaxjobs", "t5", "succeeded", SUSPENDED, PHASE_COMPLETE},
    {"paddlejobs", "ocr", "succeeded", "succeeds", PHASE_COMPLETE},
    {"mpijobs", "pi", "succeeded", "succeeds", PHASE_COMPLETE},
    {"rayjobs", "tune", "succeeded", "succeeds", PHASE_COMPLETE},
    {"rayclusters", "lab", "running", "runs until deleted", PHASE_RUNNING},
    {"rayservices", "chat", "running", "runs until deleted", PHASE_RUNNING},
    {"appwrappers", "batch", "succeeded", SUSPENDED, PHASE_COMPLETE},
    {"pipelineruns", "build", "succeeded", "succeeds", PHASE_COMPLETE},
    {"taskruns", "checks", "failed", "fails", PHASE_FAILED},
    {"workflows", "etl", "succeeded", "succeeds", PHASE_COMPLETE},
    {"sparkapplications", "logs", "failed", "fails", PHASE_FAILED},
};
#define PLAYS (sizeof plays / sizeof *plays)

// Sets enough time between two statuses to be visible.
static void set_pace(struct json *object, const struct story *story) {
    size_t statuses = 0;
    for (size_t i = 0; i < story->n_steps; i++)
        statuses += story->steps[i].type == STEP_STATUS;
    char text[CLOCK_RFC3339_MAX];
    clock_duration_text(STORY_NS / (int64_t)(statuses ? statuses : 1) / CLOCK_MS * CLOCK_MS, text);
    pointer_set(object, "/metadata/annotations/world.test~1step", json_new_string(text));
}

// Delegated by the value that wharf answers to: where the API lets it choose, the configuration's.
static bool hand_over(struct json *object, const char *plural) {
    const struct custom *custom = custom_by_plural(plural);
    const char *there = json_string(pointer_find(object, custom->managed_by));
    return custom->closed || !there || !text_has_prefix(there, "wharf.dev/") ||
           pointer_set(object, custom->managed_by, json_new_string("wharf.dev/host"));
}

static char *make_text(const struct play *play, const struct fixture *fixture, const struct story *story) {
    AUTO_JSON object = json_copy(fixture->workload);
    bool made = object && pointer_set(object, "/metadata/name", json_new_string(play->name)) &&
                pointer_set(object, "/metadata/namespace", json_new_string("default")) &&
                pointer_set(object, "/metadata/annotations/world.test~1story", json_new_string(story->name));
    if (!made || !hand_over(object, play->plural))
        return NULL;
    set_pace(object, story);
    return json_text(object, NULL);
}

static void add(struct demo *demo, const struct play *play, size_t index) {
    struct job *job = &demo->jobs[demo->n_jobs++];
    const struct custom *custom = custom_by_plural(play->plural);
    bool pauses = strcmp(play->shape, SUSPENDED) == 0;
    *job = (struct job){.name = play->name,
                        .group = custom->kind.group,
                        .plural = custom->kind.plural,
                        .shape = play->shape,
                        .json = demo->texts[index],
                        .submit_ns = (300 + (int64_t)index * 200) * CLOCK_MS,
                        .expected = play->expected,
                        .suspend = pauses ? custom->suspend : NULL,
                        .runs = play->expected == PHASE_RUNNING,
                        .extra_writes = pauses ? 4 : 0};
    int len = snprintf(job->label, sizeof job->label, "%s", custom->kind.kind);
    for (int i = 0; i < len; i++)
        job->label[i] = (char)tolower((unsigned char)job->label[i]);
    snprintf(job->label + len, sizeof job->label - (size_t)len, "/%s", play->name);
}

static struct error *install(struct demo *demo, const struct fixture *fixture) {
    for (size_t i = 0; i < demo->scene->count; i++) {
        struct scene_cluster *at = &demo->scene->clusters[i];
        front_lock(at->front);
        bool installed = player_install(at->cluster, fixture);
        front_unlock(at->front);
        if (!installed)
            return error_new(ERROR_INTERNAL, "the simulated clusters do not support %s", fixture->plural);
    }
    return NULL;
}

struct error *plays_init(struct demo *demo) {
    _Static_assert(PLAYS <= DEMO_PLAYS, "room for all");
    for (size_t i = 0; i < PLAYS; i++) {
        AUTO_TEXT folder = text_format("%s/%s", FIXTURES, plays[i].plural);
        struct error *error = folder ? fixture_load(folder, &demo->fixtures[i]) : error_no_memory();
        if (!error)
            error = install(demo, demo->fixtures[i]);
        if (error)
            return error;
        const struct story *story = fixture_story(demo->fixtures[i], plays[i].story);
        if (!story)
            return error_new(ERROR_NOT_FOUND, "%s has no story %s", folder, plays[i].story);
        demo->texts[i] = make_text(&plays[i], demo->fixtures[i], story);
        if (!demo->texts[i])
            return error_no_memory();
        add(demo, &plays[i], i);
        demo->n_plays++;
    }
    return NULL;
}

void plays_free(struct demo *demo) {
    for (size_t i = 0; i < PLAYS; i++) {
        fixture_free(demo->fixtures[i]);
        free(demo->texts[i]);
    }
}

// JSON is YAML.
static bool add_settings(struct buffer *out) {
    AUTO_BUFFER(text, TEXT_MAX);
    __attribute__((cleanup(yaml_cleanup))) struct yaml yaml = {0};
    struct error *error = text_read_file(FIXTURES "/generic.yaml", TEXT_MAX, &text);
    if (!error)
        error = yaml_parse(FIXTURES "/generic.yaml", text.data ? text.data : "", text.len, &yaml);
    bool read = !error && json_print(yaml.value, out);
    error_free(error);
    return read;
}

char *plays_adapters(void) {
    AUTO_TEXT path = built_path("adapters");
    DIR *folder = path ? opendir(path) : NULL;
    struct buffer out;
    buffer_init(&out, TEXT_MAX);
    buffer_printf(&out, "%s", "");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char *suffix = strstr(entry->d_name, ".so");
        if (!suffix || strcmp(suffix, ".so") != 0 || strcmp(entry->d_name, "job.so") == 0)
            continue;
        buffer_printf(&out, "  - name: %.*s\n", (int)(suffix - entry->d_name), entry->d_name);
        if (strcmp(entry->d_name, "generic.so") == 0) {
            buffer_printf(&out, "    settings: ");
            add_settings(&out);
            buffer_printf(&out, "\n");
        }
    }
    if (folder)
        closedir(folder);
    return buffer_take(&out, NULL);
}
