// SPDX-License-Identifier: Apache-2.0
// Guesses about pod templates, their counts, and the fields that are carried to an existing mirror.
#include "core/cmd/adapter_new/description.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <strings.h>

static const char *const count_names[] = {"replicas", "parallelism", "workers",  "numWorkers", "workerCount",
                                          "numNodes", "nodes",       "machines", "instances",  "numReplicas",
                                          "count",    "size",        NULL};
static const char *const factor_names[] = {"numOfHosts", "numHosts", NULL}; // several pods for each of `count_names`

// -- counts --

// Pointers to the numbers that are multiplied; NULL as the name ends the list.
struct counts {
    const char **list;
    size_t count;
};

static void add_count(struct description *d, struct counts *counts, const struct schema_place *parent,
                      const char *name) {
    const char **slot = array_next(&counts->list, counts->count, sizeof(*slot));
    if (slot && name)
        *slot = description_text(d, "%s/%s", parent->pointer, name);
    counts->count += slot && name;
    d->failed |= !slot;
}

static bool has_number(const struct schema_place *parent, const char *name) {
    return schema_is(schema_property(parent->schema, name), "integer");
}

static const char *first_number(const struct schema_place *parent, const char *const *names) {
    while (*names && !has_number(parent, *names))
        names++;
    return *names;
}

// The length of "worker" in "workerTemplate".
static size_t prefix_length(const char *name) {
    static const char *const ends[] = {"PodTemplateSpec", "PodTemplate", "TemplateSpec", "Template", "PodSpec", "Spec"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (text_has_suffix(name, ends[i]))
            return strlen(name) - strlen(ends[i]);
    return 0;
}

// A number that is named after the template: workerReplicas or numWorkers of workerTemplate. NULL: none.
static const char *number_named_after(const struct schema_place *parent, const char *template_) {
    static const char *const ends[] = {"Replicas", "Count", "s", "Parallelism", "Instances", NULL};
    size_t len = prefix_length(template_);
    for (const struct json *p = schema_properties(parent->schema); p && len > 0; p = json_next(p)) {
        const char *name = json_key(p), *rest = name + (strncasecmp(name, "num", 3) == 0 ? 3 : 0);
        if (strncasecmp(rest, template_, len) == 0 && text_is_one_of(rest + len, ends) && has_number(parent, name))
            return name;
    }
    return NULL;
}

// Each object on the way to the template may have a number of copies of its content.
static const char *const *find_counts(struct description *d, const struct schema_place *template_, bool *shared) {
    struct counts counts = {.list = NULL};
    const char *child = template_->name;
    *shared = false;
    for (const struct schema_place *p = template_->up; p; child = p->name, p = p->up) {
        const char *named = number_named_after(p, child), *plain = first_number(p, count_names);
        const char *factor = first_number(p, factor_names);
        if (factor) // the list is reversed at the end
            add_count(d, &counts, p, factor);
        if (named || plain)
            add_count(d, &counts, p, named ? named : plain);
        for (size_t i = 0; plain && !named && i < d->spec.count; i++)
            *shared |= d->spec.list[i] != template_ && d->spec.list[i]->up == p && d->spec.list[i]->pods != NOT_PODS;
    }
    if (counts.count > 0)
        add_count(d, &counts, template_->up, NULL);
    return counts.list;
}

static void reverse(const char **list) {
    size_t count = 0;
    while (list && list[count])
        count++;
    for (size_t i = 0; i < count / 2; i++) {
        const char *other = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = other;
    }
}

static void guess_one(struct description *d, const struct schema_place *place) {
    static const char *const whys[] = {
        [POD_TEMPLATE] = "From the schema: a PodTemplateSpec.",
        [POD_SPEC] = "From the schema: a PodSpec.",
        [TEMPLATE_BY_NAME] = "By its name a PodTemplateSpec: the schema leaves its content open.",
    };
    bool shared;
    const char *const *counts = find_counts(d, place, &shared);
    reverse((const char **)(void *)counts);
    const char *sentence = !counts  ? " No number of pods was found beside it: one pod."
                           : shared ? " Do all templates beside it have this number of pods?"
                                    : "";
    struct guess_row *row =
        description_add(d, PODS, place->pointer, description_text(d, "%s%s", whys[place->pods], sentence));
    if (d->failed)
        free((void *)(uintptr_t)counts);
    else
        row->counts = counts;
    row->flags = place->pods == POD_SPEC ? WHARF_PODS_ARE_SPECS : 0;
}

// -- carried fields --

// The member that identifies the items of the last list in the pointer; NULL: name.
static const char *list_key(const struct schema_place *place) {
    while (place && strcmp(place->name, "*") != 0)
        place = place->up;
    if (!place || !schema_is(place->up->schema, "array") || schema_property(place->schema, "name"))
        return NULL;
    const struct json *keys = json_get(place->up->schema, "x-kubernetes-list-map-keys");
    if (json_size(keys) == 1)
        return json_string(json_first(keys));
    const struct json *required = json_get(place->schema, "required");
    const char *only = NULL;
    for (const struct json *r = json_first(required); r; r = json_next(r)) {
        const char *name = json_string(r);
        if (!name || !schema_is(schema_property(place->schema, name), "string"))
            continue;
        if (only)
            return NULL;
        only = name;
    }
    return only;
}

static bool is_carried(const struct description *d, const char *pointer) {
    for (size_t i = 0; i < d->members[CARRIED].count; i++)
        if (strcmp(d->members[CARRIED].list[i].text, pointer) == 0)
            return true;
    return false;
}

static void carry(struct description *d, const char *pointer, const char *why) {
    const struct schema_place *place = places_at(&d->spec, pointer);
    if (place && !place->fixed && !is_carried(d, pointer))
        description_add(d, CARRIED, pointer, why)->value = list_key(place);
}

static void carry_counts(struct description *d) {
    static const char *const bounds[] = {"minReplicas", "maxReplicas"};
    for (size_t i = 0; i < d->members[PODS].count; i++) {
        const char *const *count = d->members[PODS].list[i].counts;
        for (; count && *count; count++) {
            carry(d, *count, "A number of pods: may it change during a run?");
            for (size_t j = 0; j < sizeof bounds / sizeof *bounds; j++)
                carry(d, description_text(d, "%.*s/%s", (int)(strrchr(*count, '/') - *count), *count, bounds[j]),
                      "A bound of the number of pods: may it change during a run?");
        }
    }
}

static void carry_settings(struct description *d) {
    static const char *const names[] = {"activeDeadlineSeconds", "backoffLimit", "maxParallelism", NULL};
    for (size_t i = 0; i < d->spec.count; i++) {
        const struct schema_place *place = d->spec.list[i];
        bool whole = place->depth == 1 || (place->depth == 2 && strcasestr(place->up->name, "policy"));
        if (!place->in_list && whole && text_is_one_of(place->name, names))
            carry(d, place->pointer, "By its name: may it change during a run?");
    }
}

// Whether the template's schema has the fields "/metadata/labels" and so on; an open schema has each field.
static bool has_field(const struct json *schema, const char *field) {
    while (schema && *field && !schema_is_open(schema) && schema_properties(schema))
        schema = schema_step(schema, &field);
    return schema;
}

// Kueue sets these fields of a suspended object at the admission.
static void carry_template(struct description *d, const struct schema_place *place) {
    static const char *const why = "The fields that decide where pods run: may they change while the object is "
                                   "suspended? Kueue changes them then.";
    size_t count = 0;
    for (const char *const *field = template_fields; *field; field++)
        count += has_field(place->schema, *field);
    for (const char *const *field = template_fields; *field; field++) {
        bool all = count == TEMPLATE_FIELDS;
        if (!has_field(place->schema, *field))
            continue;
        struct guess_row *row = description_add(
            d, CARRIED, all ? place->pointer : description_text(d, "%s%s", place->pointer, *field), why);
        row->is_template = all;
        row->number = WHARF_CARRY_WHILE_SUSPENDED;
        row->value = list_key(place);
        if (all)
            return;
    }
}

static void carry_templates(struct description *d) {
    for (size_t i = 0; description_row(d, SUSPEND) && i < d->members[PODS].count; i++) {
        const struct schema_place *place = places_at(&d->spec, d->members[PODS].list[i].text);
        if (place && !place->fixed && place->pods != POD_SPEC)
            carry_template(d, place);
    }
}

void guess_pods(struct description *d) {
    for (size_t i = 0; i < d->spec.count; i++)
        if (d->spec.list[i]->pods != NOT_PODS)
            guess_one(d, d->spec.list[i]);
    if (d->members[PODS].count == 0)
        description_note(d, PODS,
                         "No pod template was found: wharf cannot compare the object's requests with the free "
                         "capacity of workers. The function pod_sets can report pods.");
    carry_counts(d);
    carry_settings(d);
    carry_templates(d);
    if (d->members[CARRIED].count == 0)
        description_note(d, CARRIED,
                         "No field that may change during a run was found: the host carries labels and "
                         "annotations only.");
}
