// SPDX-License-Identifier: Apache-2.0
#include "core/base/memory.h"
#include "core/conform/child.h"

#include "core/base/text.h"
#include "core/json/pointer.h"

#include <stdlib.h>
#include <string.h>

#define STATES_MAX 48 // of one object; trials pair each with each
#define CHANGES_MAX 16

struct subject *subject_add(struct tested *tested, const char *source, struct json *object) {
    struct subject *subject = array_next(&tested->subjects, tested->n_subjects, sizeof *subject);
    char *name = strdup(source);
    if (!subject || !name) {
        json_free(object);
        free(name);
        return NULL;
    }
    tested->n_subjects++;
    *subject = (struct subject){.source = name, .object = object};
    return subject;
}

static bool has_state(const struct subject *subject, const struct json *status) {
    for (size_t i = 0; i < subject->n_states; i++)
        if (json_equal(subject->states[i], status))
            return true;
    return false;
}

// Grows a list by one.
static bool state_room(struct subject *subject) {
    if (!subject->states)
        subject->states = calloc(STATES_MAX, sizeof(struct json *));
    if (!subject->state_sources)
        subject->state_sources = calloc(STATES_MAX, sizeof(char *));
    if (!subject->given)
        subject->given = calloc(STATES_MAX, sizeof(bool));
    return subject->states && subject->state_sources && subject->given;
}

bool subject_add_state(struct subject *subject, const char *source, const struct json *status, bool given) {
    if (!json_is(status, JSON_OBJECT) || subject->n_states >= STATES_MAX || has_state(subject, status))
        return true;
    if (!state_room(subject))
        return false;
    size_t at = subject->n_states;
    subject->states[at] = json_copy(status);
    subject->state_sources[at] = strdup(source);
    subject->given[at] = given;
    subject->n_states++;
    return subject->states[at] && subject->state_sources[at];
}

static bool add_change(struct subject *subject, const struct json *patch) {
    if (!json_is(patch, JSON_OBJECT) || subject->n_changes >= CHANGES_MAX)
        return true;
    if (!subject->changes)
        subject->changes = calloc(CHANGES_MAX, sizeof(struct json *));
    if (!subject->changes)
        return false;
    subject->changes[subject->n_changes++] = json_copy(patch);
    return subject->changes[subject->n_changes - 1];
}

static bool set_default(struct json *object, const char *pointer, const char *text) {
    const char *found = json_string(pointer_find(object, pointer));
    return (found && found[0] != '\0') || pointer_set(object, pointer, json_new_string(text));
}

// Adds the fields that the server sets, and managedBy.
bool subject_prepare(const struct kind *kind, struct json *object) {
    return set_default(object, "/metadata/name", "object") && set_default(object, "/metadata/namespace", "default") &&
           set_default(object, "/metadata/uid", "01234567-89ab-4cde-8f01-23456789abcd") &&
           set_default(object, "/metadata/resourceVersion", "10") &&
           set_default(object, "/metadata/creationTimestamp", "2026-01-02T03:04:05Z") &&
           (json_is(json_path(object, "metadata", "generation", NULL), JSON_NUMBER) ||
            pointer_set(object, "/metadata/generation", json_new_int64(2))) &&
           pointer_set(object, kind->abi.managed_by, json_new_string(kind->managed_by));
}

static bool is_of_kind(const wharf_kind *kind, const struct json *value) {
    const char *api_version = json_string(json_get(value, "apiVersion"));
    const char *name = json_string(json_get(value, "kind"));
    if (!api_version || !name || strcmp(name, kind->kind) != 0)
        return false;
    size_t len = strlen(kind->group);
    if (len == 0)
        return !strchr(api_version, '/');
    return strncmp(api_version, kind->group, len) == 0 && api_version[len] == '/';
}

// Documents beside the object that are no objects: statuses of the mirror and changes by users, as in stories.
static bool add_steps(struct subject *subject, const struct document *object, const struct documents *documents) {
    for (size_t i = 0; i < documents->count; i++) {
        const struct document *step = &documents->list[i];
        if (strcmp(step->folder, object->folder) != 0 || json_get(step->value, "kind"))
            continue;
        if (!subject_add_state(subject, step->source, json_get(step->value, "status"), true) ||
            !add_change(subject, json_get(step->value, "patch")))
            return false;
    }
    return true;
}

static struct error *make_one(struct tested *tested, const struct document *document,
                              const struct documents *documents) {
    struct json *object = json_copy(document->value);
    AUTO_JSON status = json_detach(object, "status");
    if (!object || !subject_prepare(&tested->kind, object)) {
        json_free(object);
        return error_new(ERROR_INVALID, "%s: cannot add metadata to the object, or %s", document->source,
                         tested->kind.abi.managed_by);
    }
    struct subject *subject = subject_add(tested, document->source, object);
    if (subject)
        subject->document = document;
    if (!subject || !subject_add_state(subject, document->source, status, true) ||
        !add_steps(subject, document, documents))
        return error_no_memory();
    if (subject->n_states == 0 && !states_generate(&tested->kind, subject))
        return error_no_memory();
    return NULL;
}

static bool has_name(const struct document *document) {
    return json_string(json_path(document->value, "metadata", "name", NULL));
}

// An object without a name beside one that has one is no workload (but a template, or an expected mirror).
static bool is_workload(const wharf_kind *kind, const struct documents *documents, size_t index) {
    const struct document *document = &documents->list[index];
    if (!is_of_kind(kind, document->value))
        return false;
    for (size_t i = 0; i < documents->count && !has_name(document); i++)
        if (strcmp(documents->list[i].folder, document->folder) == 0 && is_of_kind(kind, documents->list[i].value) &&
            has_name(&documents->list[i]))
            return false;
    return true;
}

struct error *subjects_make(struct tested *tested, const struct documents *documents) {
    for (size_t i = 0; i < documents->count; i++) {
        if (!is_workload(&tested->kind.abi, documents, i))
            continue;
        struct error *error = make_one(tested, &documents->list[i], documents);
        if (error)
            return error;
    }
    return subjects_generate(tested);
}

struct json *parsed(const char *text) {
    struct json *value = NULL;
    error_free(json_parse(text, strlen(text), &value));
    return value;
}

struct json *with_status(const struct json *object, const struct json *status) {
    AUTO_JSON copy = json_copy(object);
    return copy && (!status || json_set(copy, "status", json_copy(status))) ? TAKE(copy) : NULL;
}

struct json *subject_with(const struct subject *subject, size_t state) {
    return with_status(subject->object, state == NO_STATE ? NULL : subject->states[state]);
}
