// SPDX-License-Identifier: Apache-2.0
// Guesses about the phase: conditions, or a field with a state.
#include "core/cmd/adapter_new/description.h"

#include "core/adapter/phase.h"
#include "core/base/text.h"
#include "core/cmd/main.h"

#include <strings.h>

#define CONDITIONS "/status/conditions"
#define USUAL "Usual for kinds that can be suspended."

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

static void add_rule(struct description *d, const char *pointer, const char *word, wharf_phase_kind phase,
                     const char *why) {
    if (phase == WHARF_SUSPENDED && !description_row(d, SUSPEND))
        return;
    struct guess_row *row = description_add(d, PHASES, pointer, why);
    row->value = word;
    row->number = phase;
    row->is_known = why && strcmp(why, USUAL) != 0;
    const struct schema_place *place = places_at(&d->status, pointer);
    row->is_condition = place ? schema_is(place->schema, "array") : strcmp(pointer, CONDITIONS) == 0;
    row->flags = phase == WHARF_SUSPENDED ? WHARF_RULE_WHILE_SUSPENDED : 0;
}

// A text that names both a success and a failure lists the words. Final phases first: the first rule that matches
// decides.
static bool add_words(struct description *d, const char *pointer, const char *text, const char *why) {
    bool succeeds = false, fails = false;
    for (size_t i = 0; i < COUNT(words); i++) {
        succeeds |= words[i].phase == WHARF_SUCCEEDED && text_has_word(text, words[i].word);
        fails |= words[i].phase == WHARF_FAILED && text_has_word(text, words[i].word);
    }
    for (size_t i = 0; succeeds && fails && i < COUNT(words); i++)
        if (text_has_word(text, words[i].word))
            add_rule(d, pointer, words[i].word, words[i].phase, why);
        else if (words[i].phase == WHARF_SUSPENDED && words[i].usual)
            add_rule(d, pointer, words[i].word, WHARF_SUSPENDED, USUAL);
    return succeeds && fails;
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
            bool final = at < COUNT(words) && phase_is_final(words[at].phase);
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
static char *words_of_status(const struct description *d, const struct schema_place *conditions) {
    AUTO_BUFFER(text, (size_t)1 << 20);
    const struct json *items = conditions_items(conditions);
    buffer_printf(&text, "%s\n%s\n%s\n", conditions ? schema_text(conditions->schema) : "",
                  items ? schema_text(items) : "", schema_text(schema_property(items, "type")));
    for (size_t i = 0; i < d->status.count; i++)
        if (d->status.list[i]->depth == 1 && schema_is(d->status.list[i]->schema, "string"))
            buffer_printf(&text, "%s\n", schema_text(d->status.list[i]->schema));
    return buffer_take(&text, NULL);
}

static bool is_state(const struct schema_place *place) {
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

const struct schema_place *guess_state(const struct description *d, bool with_enum) {
    for (size_t i = 0; i < d->status.count; i++)
        if (is_state(d->status.list[i]) && (!with_enum || json_get(d->status.list[i]->schema, "enum")))
            return d->status.list[i];
    return NULL;
}

// A state that any word may be.
static const struct schema_place *open_state(const struct description *d) {
    for (size_t i = 0; i < d->status.count; i++)
        if (is_state(d->status.list[i]) && !json_get(d->status.list[i]->schema, "enum"))
            return d->status.list[i];
    return NULL;
}

static const struct json *types_of(const struct schema_place *conditions) {
    return json_get(schema_property(conditions_items(conditions), "type"), "enum");
}

// From what the schema says to what is usual; true once rules are found.
static bool guess_from_words(struct description *d, const struct schema_place *conditions) {
    const struct json *types = types_of(conditions);
    if (types && add_enum(d, conditions->pointer, types) > 0)
        return true;
    d->members[PHASES].count = 0;
    const struct schema_place *state = guess_state(d, true);
    if (state && add_enum(d, state->pointer, json_get(state->schema, "enum")) > 0)
        return true;
    d->members[PHASES].count = 0;
    d->members[PHASES].note = NULL;
    conditions = types ? NULL : conditions;
    AUTO_TEXT text = words_of_status(d, conditions);
    if (conditions && text && strstr(text, "Knative")) {
        add_rule(d, conditions->pointer, "Succeeded", WHARF_SUCCEEDED, "From the schema: a Knative condition.");
        add_rule(d, conditions->pointer, "Succeeded", WHARF_FAILED, NULL);
        d->members[PHASES].list[d->members[PHASES].count - 1].status = "False";
        return true;
    }
    if (conditions && text && add_words(d, conditions->pointer, text, "From the schema: a description has the word."))
        return true;
    state = open_state(d);
    return state && add_words(d, state->pointer, schema_text(state->schema), "From the schema: the description.");
}

// A service: it counts ready replicas and has no end.
static bool is_service(const struct description *d) {
    bool counts = false;
    for (size_t i = 0; i < d->status.count; i++) {
        const char *name = d->status.list[i]->name;
        counts |= d->status.list[i]->depth == 1 && text_has_suffix(name, "Replicas") &&
                  (text_has_prefix(name, "ready") || text_has_prefix(name, "available"));
    }
    return counts && !description_row(d, FINISHED_AT);
}

static void never_finishes(struct description *d, const char *why) {
    struct guess_row *flags =
        d->members[FLAGS].count > 0 ? d->members[FLAGS].list : description_add(d, FLAGS, NULL, NULL);
    flags->number |= WHARF_KIND_NEVER_FINISHES;
    flags->why = description_text(d, "%s%s%s", flags->why ? flags->why : "", flags->why ? " " : "", why);
    description_note(d, PHASES, "Without a rule, an object with a status is active.");
}

// Neither conditions nor a state that may be any word.
static void guess_without_words(struct description *d) {
    const struct guess_row *finished = description_row(d, FINISHED_AT);
    if (!finished) {
        never_finishes(d,
                       "Nothing in the status says that an object is finished: with a rule for that, remove the flag.");
        return;
    }
    struct guess_row *row =
        description_add(d, PHASES, finished->text,
                        "The only sign of the end that was found: which field says that an object has failed?");
    row->number = WHARF_SUCCEEDED;
    row->flags = WHARF_RULE_EXISTS;
}

void guess_phases(struct description *d, const struct schema_place *conditions) {
    const struct schema_place *state = open_state(d);
    if (guess_from_words(d, conditions))
        return;
    if (is_service(d)) {
        never_finishes(d,
                       "The status counts ready replicas and has no time of an end: a service, which never finishes.");
        return;
    }
    bool is_open = !places_at(&d->status, "/status") || !schema_properties(places_at(&d->status, "/status")->schema);
    bool has_conditions = conditions ? !types_of(conditions) : is_open;
    if (!has_conditions && !state) {
        guess_without_words(d);
        return;
    }
    bool by_state = state && (!has_conditions || !conditions ||
                              text_is_one_of(state->name, (const char *const[]){"phase", "state", NULL}));
    add_usual(d, by_state ? state->pointer : conditions ? conditions->pointer : CONDITIONS, NULL);
    description_note(d, PHASES,
                     by_state     ? "The schema does not name the values of the field: these are the usual ones. Keep "
                                    "those that the kind's controller writes."
                     : conditions ? "The schema does not name the types of conditions: these are the usual ones. Keep "
                                    "those that the kind's controller writes."
                                  : "The schema says nothing about the status: conditions of the usual types. Keep "
                                    "those that the kind's controller writes.");
}
