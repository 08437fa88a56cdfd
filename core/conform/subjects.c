// SPDX-License-Identifier: Apache-2.0
// Objects to try a kind with: the given ones, and ones generated from the data of the kind.
#include "core/conform/child.h"

#include "core/adapter/phase.h"
#include "core/json/pointer.h"

struct json *parsed(const char *text) {
    struct json *value = NULL;
    error_free(json_parse(text, strlen(text), &value));
    return value;
}

struct json *with_status(const struct json *object, const struct json *status) {
    AUTO_JSON copy = json_copy(object);
    return copy && (!status || json_set(copy, "status", json_copy(status))) ? TAKE(copy) : NULL;
}

const struct json *subject_status(const struct subject *subject, size_t state) {
    return state == NO_STATE ? NULL : subject->states[state].status;
}

struct json *subject_with(const struct subject *subject, size_t state) {
    return with_status(subject->object, subject_status(subject, state));
}

// Takes the object.
static struct subject *add_subject(struct tested *tested, const char *source, struct json *object) {
    struct subject *subject = array_next(&tested->subjects, tested->n_subjects, sizeof *subject);
    if (!subject) {
        json_free(object);
        return NULL;
    }
    tested->n_subjects++;
    *subject = (struct subject){.source = source, .object = object};
    return subject;
}

static bool add_state(struct subject *subject, const char *source, const struct json *status, bool given) {
    if (!json_is(status, JSON_OBJECT) || subject->n_states >= STATES_MAX)
        return true;
    for (size_t i = 0; i < subject->n_states; i++)
        if (json_equal(subject->states[i].status, status))
            return true;
    struct json *copy = json_copy(status);
    subject->states[subject->n_states++] = (struct state){source, copy, given};
    return copy;
}

static bool add_change(struct subject *subject, const struct json *patch) {
    if (!json_is(patch, JSON_OBJECT) || subject->n_changes >= CHANGES_MAX)
        return true;
    subject->changes[subject->n_changes++] = json_copy(patch);
    return subject->changes[subject->n_changes - 1];
}

static bool set_default(struct json *object, const char *pointer, const char *text) {
    const char *found = json_string(pointer_find(object, pointer));
    return (found && found[0] != '\0') || pointer_set(object, pointer, json_new_string(text));
}

// Adds the fields that the server sets, and managedBy.
static bool prepare_object(const struct kind *kind, struct json *object) {
    return set_default(object, "/metadata/name", "object") && set_default(object, "/metadata/namespace", "default") &&
           set_default(object, "/metadata/uid", "01234567-89ab-4cde-8f01-23456789abcd") &&
           set_default(object, "/metadata/resourceVersion", "10") &&
           set_default(object, "/metadata/creationTimestamp", "2026-01-02T03:04:05Z") &&
           (json_is(json_path(object, "metadata", "generation", NULL), JSON_NUMBER) ||
            pointer_set(object, "/metadata/generation", json_new_int64(2))) &&
           pointer_set(object, kind->abi.managed_by, json_new_string(kind->managed_by));
}

// -- generated objects --

#define TIME "2026-01-02T03:05:06Z"

// Sets the field of a pattern, with one item for each "*". An existing value stays. Takes the value.
static bool set_pattern(struct json *root, const char *pattern, const char *key, struct json *value) {
    AUTO_BUFFER(at, 4096);
    while (*pattern == '/') {
        size_t len = 1 + strcspn(pattern + 1, "/");
        bool star = len == 2 && pattern[1] == '*';
        if (star) {
            struct json *array = pointer_find(root, at.data ? at.data : "");
            if (!json_is(array, JSON_ARRAY) && !pointer_set(root, at.data, json_new_array()))
                break;
            array = pointer_find(root, at.data);
            bool last = pattern[len] == '\0';
            if (last && json_size(array) > 0)
                break;
            if (json_size(array) == 0 && !json_append(array, last ? json_copy(value) : json_new_object()))
                break;
            if (!last && !json_get(json_first(array), key) &&
                !json_set(json_first(array), key, json_new_string("first")))
                break;
            buffer_text(&at, "/0");
        } else {
            buffer_append(&at, pattern, len);
        }
        pattern += len;
    }
    if (*pattern != '\0' || at.failed || !at.data || pointer_find(root, at.data)) {
        json_free(value);
        return !at.failed;
    }
    // Where something else is on the way, the object has no such field.
    pointer_set(root, at.data, value);
    return true;
}

static bool set_numbers(struct json *root, const char *const *patterns, int64_t number) {
    bool done = true;
    for (; patterns && *patterns; patterns++)
        done &= set_pattern(root, *patterns, "name", json_new_int64(number));
    return done;
}

static bool set_fields(const wharf_kind *kind, struct json *object) {
    static const char template[] = "{\"metadata\":{\"labels\":{\"app\":\"a\"}},\"spec\":{\"containers\":[{\"name\":"
                                   "\"main\",\"image\":\"example.com/image\"}]}}";
    AUTO_JSON pod = parsed(template);
    bool done = pod;
    for (const wharf_pods *pods = kind->pods; pods && pods->templates; pods++) {
        bool specs = (pods->flags & WHARF_PODS_ARE_SPECS) != 0;
        const struct json *found = specs ? json_get(pod, "spec") : pod;
        done &= set_pattern(object, pods->templates, "name", json_copy(found));
        done &= !pods->fallback || set_pattern(object, pods->fallback, "name", json_copy(found));
        done &= set_numbers(object, pods->counts, 2);
    }
    if (kind->suspend && (kind->suspend_value || phase_suspends_by_mark(kind)))
        done &= set_pattern(object, kind->suspend, "name", phase_suspend_value(kind, NULL));
    else if (kind->suspend)
        done &= set_pattern(object, kind->suspend, "name", json_new_bool(false));
    for (const wharf_carried *carried = kind->carried; carried && carried->pointer; carried++)
        done &= set_pattern(object, carried->pointer, carried->key ? carried->key : "name", json_new_int64(1));
    return done && set_numbers(object, kind->removed, 1);
}

// Of `value` and `values`, the one in place `i`; NULL: there is none.
static const char *rule_value(const wharf_phase_rule *rule, size_t i) {
    const char *const *more = rule->values;
    if (rule->value && i-- == 0)
        return rule->value;
    while (more && *more && i-- > 0)
        more++;
    return more ? *more : NULL;
}

// The array of a rule about conditions, with one condition; or the string of one about a string.
static bool set_rule(const wharf_phase_rule *rule, const char *value, struct json *status) {
    bool condition = value && (rule->status || rule->key || strstr(rule->pointer, "onditions"));
    if (!condition)
        return pointer_set(status, rule->pointer, json_new_string(value ? value : TIME));
    if (!json_is(pointer_find(status, rule->pointer), JSON_ARRAY) &&
        !pointer_set(status, rule->pointer, json_new_array()))
        return false;
    AUTO_JSON item = json_new_object();
    struct json *array = pointer_find(status, rule->pointer);
    return json_set(item, "status", json_new_string(rule->status ? rule->status : "True")) &&
           json_set(item, rule->key ? rule->key : "type", json_new_string(value)) &&
           json_set(item, "reason", json_new_string("Generated")) &&
           json_set(item, "message", json_new_string("made by the conformance kit")) &&
           json_set(item, "lastTransitionTime", json_new_string(TIME)) && json_append(array, json_copy(item));
}

// The rule with its value in place `i`, and those that must match with it.
static bool set_rules(const wharf_phase_rule *rule, size_t i, struct json *status) {
    bool done = set_rule(rule, rule_value(rule, i), status);
    for (; (rule->flags & WHARF_RULE_AND) != 0; rule++)
        done = done && set_rule(rule + 1, rule_value(rule + 1, 0), status);
    return done;
}

static bool set_status_fields(const wharf_kind *kind, struct json *wrapper) {
    bool done = true;
    if (kind->observed_generation)
        done &= set_pattern(wrapper, kind->observed_generation, "name", json_new_int64(1));
    if (kind->finished_at)
        done &= set_pattern(wrapper, kind->finished_at, "name", json_new_string(TIME));
    return done && set_numbers(wrapper, kind->status_removed, 1);
}

// A status for the rule, and for those that must match with it; the same in the status with all.
static bool add_rule_state(const struct kind *kind, struct subject *subject, const wharf_phase_rule *rule, size_t i,
                           struct json *all) {
    AUTO_JSON one = parsed("{\"status\":{}}");
    const char *value = rule_value(rule, i);
    const char *name = text_format("one with %s %s", value ? value : rule->pointer, rule->status ? rule->status : "");
    return one && name && set_rules(rule, i, one) && set_rules(rule, i, all) && set_status_fields(&kind->abi, one) &&
           add_state(subject, name, json_get(one, "status"), false);
}

static bool generate_states(const struct kind *kind, struct subject *subject) {
    AUTO_JSON empty = json_new_object();
    AUTO_JSON all = parsed("{\"status\":{}}");
    bool done = all && add_state(subject, "an empty one", empty, false) && set_status_fields(&kind->abi, all);
    for (const wharf_phase_rule *rule = kind->abi.phases; rule && rule->pointer; rule = phase_rule_last(rule) + 1)
        for (size_t i = 0; i == 0 || rule_value(rule, i); i++)
            done = done && add_rule_state(kind, subject, rule, i, all);
    return done && add_state(subject, "one with all that the kind names", json_get(all, "status"), false);
}

static bool generate_subject(struct tested *tested, const char *source, bool full) {
    const wharf_kind *kind = &tested->kind.abi;
    AUTO_JSON object = json_new_object();
    AUTO_TEXT api_version = text_format("%s%s%s", kind->group, kind->group[0] == '\0' ? "" : "/", kind->versions[0]);
    if (!api_version || !json_set(object, "apiVersion", json_new_string(api_version)) ||
        !json_set(object, "kind", json_new_string(kind->kind)) || !json_set(object, "spec", json_new_object()) ||
        (full && !set_fields(kind, object)) || !prepare_object(&tested->kind, object))
        return false;
    struct subject *subject = add_subject(tested, source, TAKE(object));
    return subject && generate_states(&tested->kind, subject);
}

// -- given objects --

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
        if (json_get(step->value, "kind") || !life_is_of(documents, step, object))
            continue;
        if (!add_state(subject, step->source, json_get(step->value, "status"), true) ||
            !add_change(subject, json_get(step->value, "patch")))
            return false;
    }
    return true;
}

static struct error *make_one(struct tested *tested, const struct document *document,
                              const struct documents *documents) {
    AUTO_JSON object = json_copy(document->value);
    AUTO_JSON status = json_detach(object, "status");
    if (!object || !prepare_object(&tested->kind, object))
        return error_new(ERROR_INVALID, "%s: cannot add metadata to the object, or %s", document->source,
                         tested->kind.abi.managed_by);
    struct subject *subject = add_subject(tested, document->source, TAKE(object));
    if (!subject)
        return error_no_memory();
    subject->document = document;
    bool done = add_state(subject, document->source, status, true) && add_steps(subject, document, documents) &&
                (subject->n_states > 0 || generate_states(&tested->kind, subject));
    return done ? NULL : error_no_memory();
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
    for (size_t i = 0; i < documents->count; i++)
        if (is_workload(&tested->kind.abi, documents, i))
            TRY(make_one(tested, &documents->list[i], documents));
    bool done = generate_subject(tested, "generated: a minimal object", false) &&
                generate_subject(tested, "generated: a full object", true);
    return done ? NULL : error_no_memory();
}
