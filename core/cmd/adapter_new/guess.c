// SPDX-License-Identifier: Apache-2.0
// Guesses about the names, the manager, suspending, and the fields that a mirror must not have.
#include "core/cmd/adapter_new/description.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/main.h"

#include <ctype.h>
#include <strings.h>

#define MULTIKUEUE "kueue.x-k8s.io/multikueue"
#define LABEL_VALUE "wharf"
#define SETTING_DEPTH 2 // of fields that concern the whole object: /spec/runPolicy/suspend

// -- versions --

// A pointer of the description that the version's schema lacks; NULL: none.
static const char *missing_in(const struct description *d, const struct json *version) {
    static const enum member pointers[] = {MANAGED_BY, SUSPEND};
    for (size_t i = 0; i < COUNT(pointers); i++) {
        const struct guess_row *row = description_row(d, pointers[i]);
        if (row && text_has_prefix(row->text, "/spec/") && !crd_has(version, row->text))
            return row->text;
    }
    return NULL;
}

static void guess_versions(struct description *d) {
    AUTO_BUFFER(left_out, 4096);
    const struct json *versions = json_path(d->document, "spec", "versions", NULL);
    description_add(d, VERSIONS, d->main_version, NULL);
    for (const struct json *v = json_first(versions); v; v = json_next(v)) {
        const char *missing = v != d->version ? missing_in(d, v) : NULL;
        if (v == d->version || !crd_is_served(v))
            continue;
        if (missing)
            buffer_printf(&left_out, "%s%s, without %s", left_out.len > 0 ? "; " : "", crd_version_name(v), missing);
        else
            description_add(d, VERSIONS, crd_version_name(v), NULL);
    }
    if (left_out.len > 0)
        description_note(d, VERSIONS, description_text(d, "Also served, and left out: %s.", left_out.data));
    else if (d->members[VERSIONS].count > 1)
        description_note(d, VERSIONS, "The served versions, the stored one first: each pointer must be valid in all.");
}

static void guess_names(struct description *d) {
    description_add(d, GROUP, d->group, NULL);
    description_add(d, KIND, d->kind, NULL);
    description_add(d, PLURAL, d->plural, NULL);
    guess_versions(d);
}

static void guess_flags(struct description *d) {
    if (!d->has_subresource)
        description_add(d, FLAGS, NULL, "From the schema: the version has no status subresource.")->number |=
            WHARF_KIND_NO_STATUS_SUBRESOURCE;
}

// -- the manager --

// Values for `managedBy` in a text, quoted: domain-prefixed paths. Adds those that are new to `values`.
static void find_values(struct description *d, const char *text, struct guess_rows *values) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_/";
    for (const char *at = strpbrk(text, "'\"`"); at; at = strpbrk(at + 1, "'\"`")) {
        size_t len = strspn(at + 1, letters);
        AUTO_TEXT value = at[len + 1] == *at ? strndup(at + 1, len) : NULL;
        if (!value || !strchr(value, '/') || !text_is_domain_prefixed_path(value))
            continue;
        bool known = false;
        for (size_t i = 0; i < values->count; i++)
            known |= strcmp(values->list[i].text, value) == 0;
        struct guess_row *row = known ? NULL : array_next(&values->list, values->count, sizeof(*row));
        if (row) {
            row->text = description_text(d, "%s", value);
            values->count++;
        }
    }
}

// Finds values in an enum, in a rule like "self in ['a/b', 'c/d']", or in the description. Returns the source of a
// closed set, for a comment; NULL: the set is open.
static const char *find_closed(struct description *d, const struct json *schema, struct guess_rows *values) {
    const struct json *rules = json_get(schema, "x-kubernetes-validations");
    AUTO_BUFFER(words, 65536);
    for (const struct json *e = json_first(json_get(schema, "enum")); e; e = json_next(e))
        buffer_printf(&words, "'%s' ", json_string_or(e, ""));
    find_values(d, words.data ? words.data : "", values);
    if (values->count > 0)
        return "the enum";
    for (const struct json *r = json_first(rules); r; r = json_next(r))
        if (strstr(json_string_or(json_get(r, "rule"), ""), "self in ["))
            find_values(d, json_string_or(json_get(r, "rule"), ""), values);
    if (values->count > 0)
        return "a rule";
    find_values(d, schema_text(schema), values);
    return strstr(schema_text(schema), "must be either") || strstr(schema_text(schema), "must be one of")
               ? "the description"
               : NULL;
}

static const char *find_builtin(const struct json *schema, const struct guess_rows *values) {
    const char *builtin = json_string(json_get(schema, "default"));
    for (size_t i = 0; i < values->count && !builtin; i++)
        builtin = strcmp(values->list[i].text, MULTIKUEUE) != 0 ? values->list[i].text : NULL;
    return builtin;
}

const char *guess_builtin(struct description *d, const struct json *schema) {
    struct guess_rows values = {.list = NULL};
    find_closed(d, schema, &values);
    const char *builtin = find_builtin(schema, &values);
    free(values.list);
    return builtin;
}

static void guess_values(struct description *d, const struct schema_place *place) {
    struct guess_rows values = {.list = NULL};
    const char *closed = find_closed(d, place->schema, &values), *builtin = find_builtin(place->schema, &values);
    const char *why = json_get(place->schema, "default") ? "the default" : closed ? closed : "the description";
    if (builtin)
        description_add(d, MANAGED_BY_BUILTIN, builtin, description_text(d, "From the schema: %s.", why));
    else
        description_note(d, MANAGED_BY_BUILTIN, "No value for the kind's own controller was found.");
    for (size_t i = 0; i < values.count && closed; i++)
        if (!builtin || strcmp(values.list[i].text, builtin) != 0)
            description_add(d, MANAGED_BY_ALLOWED, values.list[i].text,
                            description_text(d, "From the schema: %s, a closed set.", closed));
    free(values.list);
}

static void use_label(struct description *d) {
    description_add(d, MANAGED_BY, description_text(d, "/metadata/labels/%s~1managed-by", d->group),
                    "No field for the manager was found: a label names the manager. The kind's controller ignores "
                    "labels, so the management cluster must not run one, or one that skips objects with this label.");
    description_add(d, MANAGED_BY_ALLOWED, LABEL_VALUE, "The value of a label cannot have a slash.");
}

static void guess_manager(struct description *d) {
    const struct schema_place *own = NULL;
    for (size_t i = 0; i < d->spec.count && !own; i++) {
        const struct schema_place *place = d->spec.list[i];
        if (strcasecmp(place->name, "managedBy") == 0 && schema_is(place->schema, "string") && !place->in_list)
            own = place;
    }
    if (own) {
        description_add(d, MANAGED_BY, own->pointer,
                        description_text(d, "From the schema: %s%s", schema_says(d, own),
                                         own->depth > SETTING_DEPTH
                                             ? ". Is it the manager of the whole object, or of an inner one?"
                                             : ""));
        guess_values(d, own);
    } else
        use_label(d);
}

// -- suspending --

static const char *const suspend_names[] = {"suspend", "suspended", "paused", "pause", "stopped", "stop", "hold", NULL};
static const char *const suspend_values[] = {"Suspended", "Suspend", "Paused", "Pause", "Stopped",
                                             "Stop",      "Halted",  "Halt",   NULL};

// The value that suspends: "true" of a boolean; NULL: the field does not suspend.
static const char *suspending_value(const struct schema_place *place) {
    if (place->in_list || place->depth == 0 || place->depth > SETTING_DEPTH || place->fixed)
        return NULL;
    if (schema_is(place->schema, "boolean"))
        return text_is_one_of(place->name, suspend_names) ? "true" : NULL;
    for (const struct json *e = json_first(json_get(place->schema, "enum")); e; e = json_next(e))
        if (json_string(e) && text_is_one_of(json_string(e), suspend_values))
            return json_string(e);
    return NULL;
}

static void guess_suspend(struct description *d) {
    for (size_t i = 0; i < d->spec.count; i++) {
        const struct schema_place *place = d->spec.list[i];
        const char *value = suspending_value(place);
        if (!value)
            continue;
        description_add(d, SUSPEND, place->pointer, description_text(d, "From the schema: %s", schema_says(d, place)));
        if (strcmp(value, "true") != 0)
            description_add(d, SUSPEND_VALUE, value, "From the schema: the enum.");
        description_add(d, CARRIED, place->pointer, "Suspends and resumes the mirror.");
        return;
    }
    description_note(d, SUSPEND,
                     "No field for suspension was found: without one, wharf cannot suspend a running object. A number "
                     "of pods that may be 0 can be one, with the value \"0\".");
}

// -- fields that a mirror must not have --

static bool is_below_removed(const struct description *d, const struct schema_place *place) {
    for (size_t i = 0; i < d->members[REMOVED].count; i++) {
        const char *removed = d->members[REMOVED].list[i].text;
        if (text_has_prefix(place->pointer, removed) && place->pointer[strlen(removed)] == '/')
            return true;
    }
    return false;
}

static bool deletes_itself(const struct schema_place *place) {
    const char *name = place->name;
    return !place->in_list && place->depth > 0 && place->depth <= SETTING_DEPTH &&
           (strncasecmp(name, "ttl", 3) == 0 || strstr(name, "TTL") || strcasestr(name, "timeToLive") ||
            strcasestr(name, "deleteAfter") || strcasestr(name, "afterFinished") ||
            strcasestr(name, "afterCompletion"));
}

static void guess_removed(struct description *d) {
    const char *own = description_row(d, MANAGED_BY)->text;
    for (size_t i = 0; i < d->spec.count; i++) {
        const struct schema_place *place = d->spec.list[i];
        if (is_below_removed(d, place))
            continue;
        if (deletes_itself(place))
            description_add(d, REMOVED, place->pointer,
                            description_text(d,
                                             "By its name the object deletes itself after the end: the host "
                                             "deletes mirrors. From the schema: %s",
                                             schema_says(d, place)));
        else if (strcasecmp(place->name, "managedBy") == 0 && strcmp(place->pointer, own) != 0)
            description_add(d, REMOVED, place->pointer,
                            "An inner object with a manager: the worker's controller must take it as its own.");
    }
    if (d->members[REMOVED].count == 0)
        description_note(d, REMOVED,
                         "No field that deletes a finished object was found. A mirror must not have one: it could "
                         "vanish before its status is copied.");
}

static void guess_mirror(struct description *d) {
    guess_suspend(d);
    guess_removed(d);
}

struct error *guess_kind(const char *path, const char *kind, struct description *out) {
    void (*const guesses[])(struct description *) = {guess_flags,      guess_manager, guess_mirror,     guess_pods,
                                                     guess_references, guess_status,  guess_continuity, guess_names};
    TRY(crd_read(path, kind, out));
    for (size_t i = 0; i < COUNT(guesses) && !out->failed; i++)
        guesses[i](out);
    return out->failed ? error_no_memory() : NULL;
}
