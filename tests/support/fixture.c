// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fixture.h"

#include "core/base/text.h"
#include "core/json/yaml.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)4 << 20)
#define SUFFIX ".yaml"

static const char *const phases[] = {"Pending", "Suspended", "Active", "Succeeded", "Failed"};
static const char *const members[] = {"status", "phase", "reason", "workload", "patch",
                                      "mirror", "event", "lost",   "unplaced"};

struct source {
    const char *path;
    struct yaml yaml;
};

static struct error *wrong(const struct source *source, const struct json *document, const char *what) {
    return error_new(ERROR_INVALID, "%s:%zu: %s", source->path, json_line(document), what);
}

static struct error *read_source(struct source *source) {
    AUTO_BUFFER(text, FILE_MAX);
    struct error *error = text_read_file(source->path, FILE_MAX, &text);
    return error ? error : yaml_parse_all(source->path, text.data ? text.data : "", text.len, &source->yaml);
}

static bool known(const char *word, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

// An optional member of a step, which must be of this type.
static struct error *member(const struct source *source, const struct json *document, const char *key,
                            enum json_type type, const struct json **out) {
    static const char *const names[] = {"null", "true or false", "a number", "a text", "a list", "a mapping"};
    *out = json_get(document, key);
    if (!*out || json_is(*out, type))
        return NULL;
    return error_new(ERROR_INVALID, "%s:%zu: %s: expected %s", source->path, json_line(*out), key, names[type]);
}

// "lost: true" and "unplaced: true" are types of steps.
static struct error *flag(const struct source *source, const struct json *document, const char *key, bool *out) {
    const struct json *value = NULL;
    struct error *error = member(source, document, key, JSON_BOOL, &value);
    *out = json_bool(value, false);
    if (!error && value && !*out)
        error = error_new(ERROR_INVALID, "%s:%zu: %s: expected true, or nothing", source->path, json_line(value), key);
    return error;
}

static struct error *read_type(const struct source *source, const struct json *document, bool first,
                               struct step *step) {
    bool lost = false, unplaced = false;
    struct error *error = member(source, document, "status", JSON_OBJECT, &step->status);
    if (!error)
        error = member(source, document, "patch", JSON_OBJECT, &step->patch);
    if (!error)
        error = flag(source, document, "lost", &lost);
    if (!error)
        error = flag(source, document, "unplaced", &unplaced);
    if (error)
        return error;
    if (!!step->status + !!step->patch + lost + unplaced != 1)
        return wrong(source, document, "a step has one of status, patch, lost: true and unplaced: true");
    if (unplaced && !first)
        return wrong(source, document, "unplaced: expected in the first step only");
    step->type = step->status ? STEP_STATUS : step->patch ? STEP_PATCH : lost ? STEP_LOST : STEP_UNPLACED;
    return NULL;
}

static struct error *read_texts(const struct source *source, const struct json *document, struct step *step) {
    const struct json *phase = NULL, *reason = NULL, *event = NULL;
    struct error *error = member(source, document, "phase", JSON_STRING, &phase);
    if (!error)
        error = member(source, document, "reason", JSON_STRING, &reason);
    if (!error)
        error = member(source, document, "event", JSON_STRING, &event);
    step->phase = json_string(phase);
    step->reason = json_string(reason);
    step->event = json_string(event);
    if (!error && step->phase && !known(step->phase, phases, sizeof phases / sizeof *phases))
        error = wrong(source, phase, "phase: expected Pending, Suspended, Active, Succeeded or Failed");
    if (!error && step->event && !*step->event)
        error = wrong(source, event, "event: expected a part of a sentence");
    return error;
}

static struct error *read_step(const struct source *source, const struct json *document, bool first,
                               struct step *step) {
    if (!json_is(document, JSON_OBJECT))
        return wrong(source, document, "expected a step, a mapping");
    for (const struct json *m = json_first(document); m; m = json_next(m))
        if (!known(json_key(m), members, sizeof members / sizeof *members))
            return error_new(ERROR_INVALID, "%s:%zu: a step has no member \"%s\"", source->path, json_line(m),
                             json_key(m));
    step->line = json_line(document);
    struct error *error = read_type(source, document, first, step);
    if (!error)
        error = member(source, document, "workload", JSON_OBJECT, &step->workload);
    if (!error)
        error = member(source, document, "mirror", JSON_OBJECT, &step->mirror);
    if (!error)
        error = read_texts(source, document, step);
    if (!error && step->mirror && step->type != STEP_PATCH)
        error = wrong(source, step->mirror, "mirror: expected beside patch only");
    return error;
}

static struct error *read_story(const char *path, const char *file, struct story *story) {
    struct source source = {.path = path};
    struct error *error = read_source(&source);
    if (error)
        return error;
    story->documents = source.yaml.value;
    const char *suffix = strrchr(file, '.');
    story->name = strndup(file, suffix ? (size_t)(suffix - file) : strlen(file));
    size_t count = json_size(story->documents);
    if (count == 0)
        return error_new(ERROR_INVALID, "%s:1: expected at least one step", path);
    story->steps = calloc(count, sizeof *story->steps);
    if (!story->name || !story->steps)
        return error_no_memory();
    for (const struct json *d = json_first(story->documents); d && !error; d = json_next(d)) {
        error = read_step(&source, d, story->n_steps == 0, &story->steps[story->n_steps]);
        story->n_steps++;
    }
    return error;
}

// workload.yaml and mirror.yaml: one document, an object of a kind.
static struct error *read_object(const char *path, struct json **out) {
    struct source source = {.path = path};
    struct error *error = read_source(&source);
    if (error)
        return error;
    __attribute__((cleanup(yaml_cleanup))) struct yaml yaml = source.yaml;
    if (json_size(yaml.value) != 1)
        return error_new(ERROR_INVALID, "%s: expected one document, found %zu", path, json_size(yaml.value));
    const struct json *document = json_at(yaml.value, 0);
    if (!json_string(json_get(document, "apiVersion")) || !json_string(json_get(document, "kind")))
        return wrong(&source, document, "expected an object with apiVersion and kind");
    *out = json_copy(document);
    return *out ? NULL : error_no_memory();
}

static struct error *check_objects(const char *folder, const struct fixture *fixture) {
    static const char *const allowed[] = {"name", "namespace", "labels", "annotations"};
    if (!json_string(json_path(fixture->workload, "metadata", "name", NULL)))
        return error_new(ERROR_INVALID, "%s/workload.yaml: expected metadata.name", folder);
    if (json_get(fixture->mirror, "status"))
        return error_new(ERROR_INVALID, "%s/mirror.yaml: expected no status", folder);
    const struct json *metadata = json_get(fixture->mirror, "metadata");
    for (const struct json *m = json_first(metadata); m; m = json_next(m))
        if (!known(json_key(m), allowed, sizeof allowed / sizeof *allowed))
            return error_new(ERROR_INVALID, "%s/mirror.yaml: metadata.%s: a mirror does not have it", folder,
                             json_key(m));
    return NULL;
}

static const char *last_segment(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct error *fixture_add_story(struct fixture *fixture, const char *path) {
    const char *file = last_segment(path);
    struct story *grown = realloc(fixture->stories, (fixture->n_stories + 1) * sizeof *grown);
    if (!grown)
        return error_no_memory();
    fixture->stories = grown;
    grown[fixture->n_stories] = (struct story){.name = NULL};
    return read_story(path, file, &grown[fixture->n_stories++]);
}

static struct error *add_file(const char *folder, const char *file, struct fixture *fixture) {
    AUTO_TEXT path = text_format("%s/%s", folder, file);
    if (!path)
        return error_no_memory();
    if (strcmp(file, "workload.yaml") == 0)
        return read_object(path, &fixture->workload);
    if (strcmp(file, "mirror.yaml") == 0)
        return read_object(path, &fixture->mirror);
    return fixture_add_story(fixture, path);
}

static int is_yaml(const struct dirent *entry) {
    size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);
    return entry->d_name[0] != '.' && len > suffix && strcmp(entry->d_name + len - suffix, SUFFIX) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static struct error *add_files(const char *folder, struct fixture *fixture) {
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_yaml, by_name);
    if (count < 0)
        return error_new(ERROR_IO, "%s: cannot be read as a folder: %m", folder);
    struct error *error = NULL;
    for (int i = 0; i < count; i++) {
        if (!error)
            error = add_file(folder, entries[i]->d_name, fixture);
        free(entries[i]);
    }
    free(entries);
    return error;
}

struct error *fixture_load(const char *folder, struct fixture **out) {
    *out = NULL;
    struct fixture *fixture = calloc(1, sizeof *fixture);
    if (!fixture || !(fixture->plural = strdup(last_segment(folder)))) {
        free(fixture);
        return error_no_memory();
    }
    struct error *error = add_files(folder, fixture);
    if (!error && !fixture->workload)
        error = error_new(ERROR_NOT_FOUND, "%s: expected a file workload.yaml", folder);
    if (!error && !fixture->mirror)
        error = error_new(ERROR_NOT_FOUND, "%s: expected a file mirror.yaml", folder);
    if (!error)
        error = check_objects(folder, fixture);
    if (!error)
        *out = fixture;
    else
        fixture_free(fixture);
    return error;
}

void fixture_free(struct fixture *fixture) {
    if (!fixture)
        return;
    for (size_t i = 0; i < fixture->n_stories; i++) {
        free(fixture->stories[i].name);
        free(fixture->stories[i].steps);
        json_free(fixture->stories[i].documents);
    }
    free(fixture->stories);
    free(fixture->plural);
    json_free(fixture->workload);
    json_free(fixture->mirror);
    free(fixture);
}

const struct story *fixture_story(const struct fixture *fixture, const char *name) {
    for (size_t i = 0; i < fixture->n_stories; i++)
        if (strcmp(fixture->stories[i].name, name) == 0)
            return &fixture->stories[i];
    return NULL;
}
