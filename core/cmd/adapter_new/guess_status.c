// SPDX-License-Identifier: Apache-2.0
// Guesses about the status: the end, the times, and the fields that have a meaning only in the worker.
#include "core/cmd/adapter_new/description.h"

#include "core/base/text.h"
#include "core/cmd/main.h"

#include <strings.h>

#define CONDITIONS "/status/conditions"
#define OWN_DEPTH 4 // deeper fields are those of contained objects

const struct json *conditions_items(const struct schema_place *conditions) {
    return conditions ? json_get(conditions->schema, "items") : NULL;
}

static void guess_finished_at(struct description *d) {
    static const char *const names[] = {"completionTime", "endTime",     "finishedAt",    "finishTime",
                                        "finishedTime",   "completedAt", "completedTime", "terminationTime",
                                        "finished",       NULL};
    for (size_t i = 0; i < d->status.count; i++) {
        const struct schema_place *place = d->status.list[i];
        if (place->in_list || place->depth == 0 || !schema_is(place->schema, "string") ||
            !text_is_one_of(place->name, names))
            continue;
        description_add(d, FINISHED_AT, place->pointer,
                        description_text(d, "From the schema: %s", schema_says(d, place)));
        return;
    }
    description_note(d, FINISHED_AT, "No time of the end was found: that of the condition counts, if there is one.");
}

static void guess_generation(struct description *d) {
    const struct schema_place *place = places_at(&d->status, "/status/observedGeneration");
    if (place && d->has_subresource)
        description_add(d, OBSERVED_GENERATION, place->pointer, "The host writes the workload's own generation.");
}

// A copy of a spec in a status.
static bool is_in_spec(const struct schema_place *place) {
    while (place && strcasecmp(place->name, "spec") != 0 && !text_has_suffix(place->name, "Spec"))
        place = place->up;
    return place;
}

static bool is_of_worker(const struct schema_place *place) {
    static const char *const names[] = {"node",      "nodeName", "nodeNames",     "nodes",  "podIP",   "podIPs",
                                        "hostIP",    "hostIPs",  "uid",           "podUID", "podUIDs", "address",
                                        "addresses", "selector", "labelSelector", NULL};
    if (place->depth == 0 || place->depth > OWN_DEPTH || !text_is_one_of(place->name, names) || place->required ||
        is_in_spec(place))
        return false;
    const struct json *items = json_get(place->schema, "items");
    return schema_is(place->schema, "string") || schema_is(items, "string") ||
           text_has_suffix(place->name, "elector") ||
           text_is_one_of(place->name, (const char *const[]){"addresses", NULL});
}

static void guess_status_removed(struct description *d, const struct schema_place *conditions) {
    if (conditions && schema_property(conditions_items(conditions), "observedGeneration"))
        description_add(d, STATUS_REMOVED, description_text(d, "%s/*/observedGeneration", conditions->pointer),
                        "The generation of the mirror.");
    for (size_t i = 0; i < d->status.count; i++)
        if (is_of_worker(d->status.list[i]))
            description_add(d, STATUS_REMOVED, d->status.list[i]->pointer,
                            "By its name it has a meaning only in the worker.");
}

static void guess_condition_time(struct description *d, const struct schema_place *conditions) {
    static const char *const names[] = {"lastUpdateTime", "lastProbeTime"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (schema_property(conditions_items(conditions), names[i])) {
            description_add(d, CONDITION_TIME, names[i], "From the schema: a member of conditions.");
            return;
        }
}

// If the schema names the condition, the kind's controller writes it.
static void guess_suspension(struct description *d, const struct schema_place *conditions) {
    const struct guess_rows *rules = &d->members[PHASES];
    for (size_t i = 0; conditions && i < rules->count; i++) {
        const struct guess_row *rule = &rules->list[i];
        if (rule->number != WHARF_SUSPENDED || !rule->is_known || strcmp(rule->text, CONDITIONS) != 0)
            continue;
        struct guess_row *on =
            description_add(d, SUSPENDED_STATUS, rule->value, "The host writes this without a mirror.");
        on->status = "True";
        on->reason = "Suspended";
        on->message = "{kind} {name} is suspended";
        struct guess_row *off = description_add(d, RESUMED_STATUS, rule->value, NULL);
        off->status = "False";
        off->reason = "Resumed";
        off->message = "{kind} {name} is resumed";
        return;
    }
    if (description_row(d, SUSPEND))
        description_note(
            d, SUSPENDED_STATUS,
            "The schema does not say whether the kind's controller writes its suspension into the status. The "
            "host would write the same for an object that is not placed yet.");
}

static const struct schema_place *find_conditions(const struct description *d) {
    for (size_t i = 0; i < d->status.count; i++) {
        const struct schema_place *place = d->status.list[i];
        const struct json *items = json_get(place->schema, "items");
        if (strcmp(place->name, "conditions") == 0 && !place->in_list && schema_property(items, "type") &&
            schema_property(items, "status"))
            return place;
    }
    return NULL;
}

void guess_status(struct description *d) {
    const struct schema_place *conditions = find_conditions(d), *state = guess_state(d, false);
    if (conditions && state && state->depth < conditions->depth)
        conditions = NULL; // those of an inner object
    guess_finished_at(d);
    guess_phases(d, conditions);
    guess_generation(d);
    guess_status_removed(d, conditions);
    guess_condition_time(d, conditions);
    guess_suspension(d, conditions);
    if (!description_row(d, FLAGS) || !(description_row(d, FLAGS)->number & WHARF_KIND_NEVER_FINISHES))
        return;
    d->members[FINISHED_AT] = (struct guess_rows){.list = d->members[FINISHED_AT].list};
}
