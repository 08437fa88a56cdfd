// SPDX-License-Identifier: Apache-2.0
#include "tests/support/recording.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "core/json/yaml.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)4 << 20)
#define FOLDER "tests/recordings"

static const char *const members[] = {"at",      "cluster",    "created", "deleted", "lost",  "unplaced", "object",
                                      "carried", "generation", "status",  "ending",  "patch", "shown",    "phase"};

static struct error *wrong(const struct recording *recording, const struct json *at, const char *what) {
    return error_new(ERROR_INVALID, "%s:%zu: %s", recording->path, json_line(at), what);
}

static bool is_member(const char *key) {
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i], key) == 0)
            return true;
    return false;
}

static bool are_objects(const struct json *document) {
    static const char *const objects[] = {"object", "carried", "status", "ending", "patch", "shown"};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        const struct json *value = json_get(document, objects[i]);
        if (value && !json_is(value, JSON_OBJECT))
            return false;
    }
    return true;
}

static struct error *read_step(const struct recording *recording, const struct json *document, struct recorded *step) {
    for (const struct json *m = json_first(document); m; m = json_next(m))
        if (!is_member(json_key(m)))
            return error_new(ERROR_INVALID, "%s:%zu: a recorded step has no member \"%s\"", recording->path,
                             json_line(m), json_key(m));
    const char *created = json_string(json_get(document, "created"));
    *step = (struct recorded){.at_ns = json_int64(json_get(document, "at"), -1) * CLOCK_MS,
                              .cluster = created ? created : json_string(json_get(document, "cluster")),
                              .created = created,
                              .deleted = json_bool(json_get(document, "deleted"), false),
                              .lost = json_bool(json_get(document, "lost"), false),
                              .unplaced = json_bool(json_get(document, "unplaced"), false),
                              .object = json_get(document, "object"),
                              .carried = json_get(document, "carried"),
                              .generation = json_int64(json_get(document, "generation"), 0),
                              .status = json_get(document, "status"),
                              .ending = json_get(document, "ending"),
                              .patch = json_get(document, "patch"),
                              .shown = json_get(document, "shown"),
                              .phase = json_string(json_get(document, "phase")),
                              .line = json_line(document)};
    if (step->at_ns < 0)
        return wrong(recording, document, "at: expected milliseconds since the workload was created");
    return are_objects(document) ? NULL : wrong(recording, document, "expected a mapping");
}

// A mirror that is made again, the same as before, is not repeated.
static struct error *know_objects(const struct recording *recording) {
    const struct json *made = NULL;
    int64_t at_ns = 0;
    for (size_t i = 0; i < recording->n_steps; i++) {
        struct recorded *step = &recording->steps[i];
        if (step->created)
            made = step->object = step->object ? step->object : made;
        if ((step->created && !made) || step->at_ns < at_ns)
            return error_new(ERROR_INVALID, "%s:%zu: expected %s", recording->path, step->line,
                             step->created && !made ? "the object of the first mirror" : "steps in order of time");
        at_ns = step->at_ns;
    }
    return NULL;
}

static struct error *read_documents(struct recording *recording) {
    recording->versions = json_get(json_at(recording->documents, 0), "recorded");
    recording->workload = json_at(recording->documents, 1);
    if (!json_is(recording->versions, JSON_OBJECT))
        return error_new(ERROR_INVALID, "%s:1: expected the versions, \"recorded\"", recording->path);
    if (!json_string(json_get(recording->workload, "kind")))
        return error_new(ERROR_INVALID, "%s: expected the workload in the second document", recording->path);
    recording->steps = calloc(json_size(recording->documents), sizeof *recording->steps);
    if (!recording->steps)
        return error_no_memory();
    const struct json *document = json_next(recording->workload);
    for (; document && !json_get(document, "children"); document = json_next(document))
        TRY(read_step(recording, document, &recording->steps[recording->n_steps++]));
    return know_objects(recording);
}

static struct error *name(struct recording *recording, const char *path) {
    const char *file = strrchr(path, '/');
    const char *folder = file;
    while (folder && folder > path && folder[-1] != '/')
        folder--;
    if (!file || !text_has_suffix(file, ".yaml"))
        return error_new(ERROR_INVALID, "%s: expected KIND/CASE.yaml", path);
    recording->path = strdup(path);
    recording->plural = strndup(folder, (size_t)(file - folder));
    recording->name = strndup(file + 1, strlen(file + 1) - strlen(".yaml"));
    return recording->path && recording->plural && recording->name ? NULL : error_no_memory();
}

static struct error *read_file(struct recording *recording, const char *path) {
    AUTO_BUFFER(text, FILE_MAX);
    struct yaml yaml = {.value = NULL};
    TRY(name(recording, path));
    TRY(text_read_file(path, FILE_MAX, &text));
    TRY(yaml_parse_all(path, text.data ? text.data : "", text.len, &yaml));
    recording->documents = yaml.value;
    return read_documents(recording);
}

struct error *recording_load(const char *path, struct recording **out) {
    *out = calloc(1, sizeof **out);
    struct error *error = *out ? read_file(*out, path) : error_no_memory();
    if (error) {
        recording_free(*out);
        *out = NULL;
    }
    return error;
}

void recording_free(struct recording *recording) {
    if (!recording)
        return;
    free(recording->path);
    free(recording->plural);
    free(recording->name);
    free(recording->steps);
    json_free(recording->documents);
    free(recording);
}

struct error *recordings_load(const char *plural, struct recordings *out) {
    AUTO_TEXT pattern = text_format("%s/%s/*.yaml", FOLDER, plural ? plural : "*");
    glob_t found = {0};
    *out = (struct recordings){.list = NULL};
    if (!pattern)
        return error_no_memory();
    int result = glob(pattern, 0, NULL, &found);
    struct error *error = NULL;
    if (result == 0)
        out->list = calloc(found.gl_pathc, sizeof(struct recording *));
    if ((result != 0 && result != GLOB_NOMATCH) || (result == 0 && !out->list))
        error = error_no_memory();
    for (size_t i = 0; i < found.gl_pathc && !error; i++)
        error = recording_load(found.gl_pathv[i], &out->list[out->count++]);
    globfree(&found);
    if (error)
        recordings_free(out);
    return error;
}

void recordings_free(struct recordings *recordings) {
    for (size_t i = 0; i < recordings->count; i++)
        recording_free(recordings->list[i]);
    free(recordings->list);
    *recordings = (struct recordings){.list = NULL};
}

bool recording_is_shared(const struct recording *recording) {
    return json_bool(json_get(recording->versions, "shared"), false);
}

static bool only_suspends(const struct json *patch, const char *suspend) {
    const struct json *value = patch;
    while (json_is(value, JSON_OBJECT) && json_size(value) == 1)
        value = json_first(value);
    return suspend && value && value == pointer_find(patch, suspend);
}

bool recording_is_plain(const struct recording *recording, const char *suspend) {
    for (size_t i = 0; i < recording->n_steps; i++)
        if (recording->steps[i].lost ||
            (recording->steps[i].patch && !only_suspends(recording->steps[i].patch, suspend)))
            return false;
    return !recording_is_shared(recording);
}

void written_add(struct written *written, struct json *status) {
    if (written->count > 0 && json_equal(written->list[written->count - 1], status)) {
        json_free(status);
        return;
    }
    struct json **place = array_next(&written->list, written->count, sizeof *place);
    if (!place)
        abort();
    *place = status;
    written->count++;
}

bool written_shows(struct written *written, const struct json *status) {
    for (size_t i = written->shown; i < written->count; i++)
        if (json_equal(written->list[i], status)) {
            written->shown = i;
            return true;
        }
    return false;
}

void written_free(struct written *written) {
    for (size_t i = 0; i < written->count; i++)
        json_free(written->list[i]);
    free(written->list);
    *written = (struct written){.list = NULL};
}

struct json *recorded_comparable(const struct json *status, const char *rewritten) {
    struct json *whole = json_new_object();
    if (!whole || !json_set(whole, "status", status ? json_copy(status) : json_new_object()))
        abort();
    if (rewritten)
        pointer_remove(whole, rewritten);
    struct json *result = json_detach(whole, "status");
    json_free(whole);
    return result;
}

struct json *recorded_shown(const struct recorded *step, const struct json *status, const char *rewritten) {
    AUTO_JSON whole = status ? json_copy(status) : json_new_object();
    if (!whole || !patch_apply(&whole, step->shown))
        abort();
    return recorded_comparable(whole, rewritten);
}

static struct step story_step(const struct recorded *step) {
    enum step_type type = step->unplaced ? STEP_UNPLACED
                          : step->lost   ? STEP_LOST
                          : step->patch  ? STEP_PATCH
                                         : STEP_STATUS;
    return (struct step){
        .type = type, .status = step->status, .patch = step->patch, .phase = step->phase, .line = step->line};
}

struct error *recording_add_story(const struct recording *recording, struct fixture *fixture) {
    struct story *grown = realloc(fixture->stories, (fixture->n_stories + 1) * sizeof *grown);
    if (!grown)
        return error_no_memory();
    fixture->stories = grown;
    struct story *story = &grown[fixture->n_stories++];
    *story = (struct story){.name = text_format("recorded-%s", recording->name),
                            .steps = calloc(recording->n_steps, sizeof *story->steps)};
    if (!story->name || !story->steps)
        return error_no_memory();
    for (size_t i = 0; i < recording->n_steps; i++) {
        const struct recorded *step = &recording->steps[i];
        if (step->unplaced || step->lost || step->patch || step->status)
            story->steps[story->n_steps++] = story_step(step);
    }
    return NULL;
}
