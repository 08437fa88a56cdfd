// SPDX-License-Identifier: Apache-2.0
// Guesses about the status: the phase, the end, and the fields that have a meaning only in the worker.
#include "core/cmd/adapter_new/description.h"

#include "core/base/text.h"
#include "core/cmd/main.h"

#include <ctype.h>
#include <strings.h>

#define CONDITIONS "/status/conditions"

// Words for phases, as controllers write them.
static const struct {
    const char *word;
    wharf_phase_kind phase;
    bool usual; // the rule is written when the schema names no words
} words[] = {
    {"Complete", WHARF_SUCCEEDED, true},
    {"Completed", WHARF_SUCCEEDED, true},
    {"Succeeded", WHARF_SUCCEEDED, true},
    {"Success", WHARF_SUCCEEDED, false},
    {"Finished", WHARF_SUCCEEDED, false},
    {"Done", WHARF_SUCCEEDED, false},
    {"Failed", WHARF_FAILED, true},
    {"Failure", WHARF_FAILED, false},
    {"Error", WHARF_FAILED, false},
    {"Aborted", WHARF_FAILED, false},
    {"Cancelled", WHARF_FAILED, false},
    {"Canceled", WHARF_FAILED, false},
    {"ValidationFailed", WHARF_FAILED, false},
    {"Suspended", WHARF_SUSPENDED, true},
    {"Paused", WHARF_SUSPENDED, false},
    {"Running", WHARF_ACTIVE, false},
    {"Active", WHARF_ACTIVE, false},
    {"Suspending", WHARF_ACTIVE, false},
    {"Restarting", WHARF_ACTIVE, false},
    {"Retrying", WHARF_ACTIVE, false},
    {"Terminating", WHARF_ACTIVE, false},
    {"Pending", WHARF_PENDING, false},
    {"Created", WHARF_PENDING, false},
    {"Queued", WHARF_PENDING, false},
    {"New", WHARF_PENDING, false},
    {"Initializing", WHARF_PENDING, false},
};

static bool is_final(wharf_phase_kind phase) {
    return phase == WHARF_SUCCEEDED || phase == WHARF_FAILED;
}

static const struct json *items_of(const struct place *conditions) {
    return conditions ? json_get(conditions->schema, "items") : NULL;
}

// -- where the phase is --

static void add_rule(struct description *d, const char *pointer, const char *word, wharf_phase_kind phase,
                     const char *why) {
    if (phase == WHARF_SUSPENDED && !description_row(d, SUSPEND))
        return;
    struct row *row = description_add(d, PHASES, pointer, why);
    row->value = word;
    row->number = phase;
    const struct place *place = places_at(&d->status, pointer);
    row->is_condition = place ? schema_is(place->schema, "array") : strcmp(pointer, CONDITIONS) == 0;
    row->flags = phase == WHARF_SUSPENDED ? WHARF_RULE_WHILE_SUSPENDED : 0;
}

// Final phases first: the first rule that matches decides.
static size_t add_words(struct description *d, const char *pointer, const char *text, const char *why) {
    size_t n_final = 0;
    for (size_t i = 0; i < COUNT(words); i++)
        n_final += is_final(words[i].phase) && text_has_word(text, words[i].word);
    for (size_t i = 0; n_final > 0 && i < COUNT(words); i++)
        if (text_has_word(text, words[i].word))
            add_rule(d, pointer, words[i].word, words[i].phase, why);
    return n_final;
}

static void add_usual(struct description *d, const char *pointer, const char *why) {
    for (size_t i = 0; i < COUNT(words); i++)
        if (words[i].usual)
            add_rule(d, pointer, words[i].word, words[i].phase, why);
}

// The enum: each value in its own spelling; other values are in the note.
static size_t add_enum(struct description *d, const char *pointer, const struct json *values) {
    AUTO_BUFFER(others, 65536);
    size_t n_final = 0;
    for (size_t pass = 0; pass < 2; pass++) // final phases first
        for (const struct json *e = json_first(values); e; e = json_next(e)) {
            size_t at = 0;
            while (at < COUNT(words) && strcasecmp(words[at].word, json_string_or(e, "")) != 0)
                at++;
            bool final = at < COUNT(words) && is_final(words[at].phase);
            if (at < COUNT(words) && final == (pass == 0))
                add_rule(d, pointer, json_string(e), words[at].phase, "From the schema: the enum.");
            else if (at == COUNT(words) && pass == 1)
                buffer_printf(&others, "%s%s", others.len > 0 ? ", " : "", json_string_or(e, "?"));
            n_final += final && pass == 0;
        }
    if (others.len > 0)
        description_note(
            d, PHASES,
            description_text(d, "The enum has other values, which mean active without a rule: %s.", others.data));
    return n_final;
}

// Descriptions of the conditions, and of the texts beside them: "terminalState: Completed or Failed".
static char *words_of_status(const struct description *d, const struct place *conditions) {
    AUTO_BUFFER(text, (size_t)1 << 20);
    const struct json *items = items_of(conditions);
    buffer_printf(&text, "%s\n%s\n%s\n", conditions ? schema_text(conditions->schema) : "",
                  items ? schema_text(items) : "", schema_text(schema_property(items, "type")));
    for (size_t i = 0; i < d->status.count; i++)
        if (d->status.list[i]->depth == 1 && schema_is(d->status.list[i]->schema, "string"))
            buffer_printf(&text, "%s\n", schema_text(d->status.list[i]->schema));
    return buffer_take(&text, NULL);
}

static bool is_state(const struct place *place) {
    static const char *const ends[] = {"phase", "state", "status"};
    if (place->depth == 0 || place->in_list || !schema_is(place->schema, "string"))
        return false;
    for (size_t i = 0; i < COUNT(ends); i++) {
        size_t len = strlen(place->name), end = strlen(ends[i]);
        if (len >= end && strcasecmp(place->name + len - end, ends[i]) == 0)
            return true;
    }
    return false;
}

static const struct place *find_state(const struct description *d, bool with_enum) {
    for (size_t i = 0; i < d->status.count; i++)
        if (is_state(d->status.list[i]) && (!with_enum || json_get(d->status.list[i]->schema, "enum")))
            return d->status.list[i];
    return NULL;
}

// From what the schema says to what is usual; true once rules are found.
static bool guess_from_words(struct description *d, const struct place *conditions) {
    const struct json *types = json_get(schema_property(items_of(conditions), "type"), "enum");
    if (types && add_enum(d, conditions->pointer, types) > 0)
        return true;
    d->members[PHASES].count = 0;
    const struct place *state = find_state(d, true);
    if (state && add_enum(d, state->pointer, json_get(state->schema, "enum")) > 0)
        return true;
    d->members[PHASES].count = 0;
    d->members[PHASES].note = NULL;
    AUTO_TEXT text = words_of_status(d, conditions);
    if (conditions && text && strstr(text, "Knative")) {
        add_rule(d, conditions->pointer, "Succeeded", WHARF_SUCCEEDED, "From the schema: a Knative condition.");
        add_rule(d, conditions->pointer, "Succeeded", WHARF_FAILED, NULL);
        d->members[PHASES].list[d->members[PHASES].count - 1].status = "False";
        return true;
    }
    if (conditions && text &&
        add_words(d, conditions->pointer, text, "From the schema: a description has the word.") > 0)
        return true;
    state = find_state(d, false);
    return state && add_words(d, state->pointer, schema_text(state->schema), "From the schema: the description.") > 0;
}

// A service: it counts ready replicas and has no end.
static bool is_service(const struct description *d) {
    static const char *const counts[] = {"readyReplicas", "availableReplicas", "updatedReplicas"};
    for (size_t i = 0; i < COUNT(counts); i++) {
        AUTO_TEXT pointer = text_format("/status/%s", counts[i]);
        if (pointer && places_at(&d->status, pointer) && !description_row(d, FINISHED_AT))
            return true;
    }
    return false;
}

static void guess_phases(struct description *d, const struct place *conditions) {
    const struct place *state = find_state(d, false);
    if (guess_from_words(d, conditions))
        return;
    if (is_service(d)) {
        struct row *flags =
            d->members[FLAGS].count > 0 ? d->members[FLAGS].list : description_add(d, FLAGS, NULL, NULL);
        flags->number |= WHARF_KIND_NEVER_FINISHES;
        flags->why = description_text(d,
                                      "%s%sThe status counts ready replicas and has no time of an end: a service, "
                                      "which never finishes.",
                                      flags->why ? flags->why : "", flags->why ? " " : "");
        description_note(d, PHASES, "Without a rule, an object with a status is active.");
        return;
    }
    bool by_state =
        state && (!conditions || text_is_one_of(state->name, (const char *const[]){"phase", "state", NULL}) ||
                  text_has_suffix(state->name, "DeploymentStatus"));
    if (by_state)
        add_usual(d, state->pointer, NULL);
    else
        add_usual(d, conditions ? conditions->pointer : CONDITIONS, NULL);
    description_note(
        d, PHASES,
        by_state     ? "The schema does not name the values of the field: these are the usual ones. Keep those "
                       "that the kind's controller writes."
        : conditions ? "The schema does not name the types of conditions: these are the usual ones. Keep those that "
                       "the kind's controller writes."
                     : "Neither conditions nor a field with a state were found in the status: these rules are the "
                       "usual ones, and have to be replaced by the kind's.");
}

// -- the rest of the status --

static void guess_finished_at(struct description *d) {
    static const char *const names[] = {"completionTime", "endTime",         "finishedAt",
                                        "finishTime",     "finishedTime",    "completedAt",
                                        "completedTime",  "terminationTime", NULL};
    for (size_t i = 0; i < d->status.count; i++) {
        const struct place *place = d->status.list[i];
        if (place->in_list || place->depth == 0 || !schema_is(place->schema, "string") ||
            !text_is_one_of(place->name, names))
            continue;
        description_add(d, FINISHED_AT, place->pointer,
                        description_text(d, "From the schema: %s", schema_says(d, place)));
        return;
    }
    description_note(d, FINISHED_AT, "No time of the end was found: the lastTransitionTime of the condition counts.");
}

static void guess_generation(struct description *d) {
    const struct place *place = places_at(&d->status, "/status/observedGeneration");
    if (place && d->has_subresource)
        description_add(d, OBSERVED_GENERATION, place->pointer, "The host writes the workload's own generation.");
}

static bool is_of_worker(const struct place *place) {
    static const char *const names[] = {"node",      "nodeName", "nodeNames",     "nodes",  "podIP",   "podIPs",
                                        "hostIP",    "hostIPs",  "uid",           "podUID", "podUIDs", "address",
                                        "addresses", "selector", "labelSelector", NULL};
    if (place->depth == 0 || !text_is_one_of(place->name, names) || place->required)
        return false;
    const struct json *items = json_get(place->schema, "items");
    return schema_is(place->schema, "string") || schema_is(items, "string") ||
           text_has_suffix(place->name, "elector") ||
           text_is_one_of(place->name, (const char *const[]){"addresses", NULL});
}

static void guess_status_removed(struct description *d, const struct place *conditions) {
    if (conditions && schema_property(items_of(conditions), "observedGeneration"))
        description_add(d, STATUS_REMOVED, description_text(d, "%s/*/observedGeneration", conditions->pointer),
                        "The generation of the mirror.");
    for (size_t i = 0; i < d->status.count; i++)
        if (is_of_worker(d->status.list[i]))
            description_add(d, STATUS_REMOVED, d->status.list[i]->pointer,
                            "By its name it has a meaning only in the worker.");
}

static void guess_condition_time(struct description *d, const struct place *conditions) {
    static const char *const names[] = {"lastUpdateTime", "lastProbeTime"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (schema_property(items_of(conditions), names[i])) {
            description_add(d, CONDITION_TIME, names[i], "From the schema: a member of conditions.");
            return;
        }
}

// If the schema names the condition, the kind's controller writes it.
static void guess_suspension(struct description *d, const struct place *conditions) {
    const struct rows *rules = &d->members[PHASES];
    for (size_t i = 0; conditions && i < rules->count; i++) {
        const struct row *rule = &rules->list[i];
        if (rule->number != WHARF_SUSPENDED || !rule->why || strcmp(rule->text, CONDITIONS) != 0)
            continue;
        struct row *on = description_add(d, SUSPENDED_STATUS, rule->value, "The host writes this without a mirror.");
        on->status = "True";
        on->reason = "Suspended";
        on->message = "{kind} {name} is suspended";
        struct row *off = description_add(d, RESUMED_STATUS, rule->value, NULL);
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

static const struct place *find_conditions(const struct description *d) {
    for (size_t i = 0; i < d->status.count; i++) {
        const struct place *place = d->status.list[i];
        const struct json *items = json_get(place->schema, "items");
        if (strcmp(place->name, "conditions") == 0 && !place->in_list && schema_property(items, "type") &&
            schema_property(items, "status"))
            return place;
    }
    return NULL;
}

void guess_status(struct description *d) {
    const struct place *conditions = find_conditions(d);
    guess_finished_at(d);
    guess_phases(d, conditions);
    guess_generation(d);
    guess_status_removed(d, conditions);
    guess_condition_time(d, conditions);
    guess_suspension(d, conditions);
    if (!description_row(d, FLAGS) || !(description_row(d, FLAGS)->number & WHARF_KIND_NEVER_FINISHES))
        return;
    d->members[FINISHED_AT] = (struct rows){.list = d->members[FINISHED_AT].list};
}
