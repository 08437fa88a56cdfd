// SPDX-License-Identifier: Apache-2.0
// A sample object of the kind, and lives of it.
#include "core/cmd/adapter_new/description.h"

#include "core/adapter/phase.h"
#include "core/base/text.h"
#include "core/cmd/main.h"
#include "core/json/pointer.h"

#include <strings.h>

#define TIME "2026-01-02T03:04:05Z"
#define MANAGER "wharf.dev/host" // the default of controllerName

static const char *manager(const struct description *d) {
    const struct guess_row *allowed = description_row(d, MANAGED_BY_ALLOWED);
    return allowed ? allowed->text : MANAGER;
}

static bool is_manager(const char *pointer) {
    const char *name = strrchr(pointer, '/');
    return name && strcasecmp(name, "/managedBy") == 0;
}

// The field of an inner manager gets the value that the inner kind accepts; without one the field stays out.
static bool add_removed(struct description *d, struct json *object, const struct guess_row *row) {
    const struct schema_place *place = places_at(&d->spec, row->text);
    const char *value = is_manager(row->text) && place ? guess_builtin(d, place->schema) : NULL;
    if (is_manager(row->text) && !value)
        return true;
    struct json *field = sample_reach(object, d->schema, row->text);
    if (!field || !value)
        return true;
    struct json *text = json_new_string(value);
    AUTO_TEXT parent = strndup(row->text, (size_t)(strrchr(row->text, '/') - row->text));
    struct json *holder = parent ? sample_reach(object, d->schema, parent) : NULL;
    if (holder)
        return json_set(holder, place->name, text);
    json_free(text);
    return false;
}

static bool add_pods(struct description *d, struct json *object) {
    for (size_t i = 0; i < d->members[PODS].count; i++) {
        const struct guess_row *row = &d->members[PODS].list[i];
        struct json *at = sample_reach(object, d->schema, row->text);
        if (at && json_size(at) == 0) {
            struct json *template_ = sample_pod_template();
            bool done = template_ && json_take_content(at, template_);
            json_free(template_);
            if (!done)
                return false;
        }
        for (const char *const *count = row->counts; count && *count; count++)
            sample_reach(object, d->schema, *count);
    }
    return true;
}

// Another value of the enum, or none, where the first one suspends the object.
static bool not_suspended(struct description *d, struct json *object) {
    const struct guess_row *suspend = description_row(d, SUSPEND), *value = description_row(d, SUSPEND_VALUE);
    if (!value || !json_is_scalar(pointer_find(object, suspend->text), value->text))
        return true;
    const struct json *other = json_first(json_get(places_at(&d->spec, suspend->text)->schema, "enum"));
    while (other && json_is_scalar(other, value->text))
        other = json_next(other);
    return other ? pointer_set(object, suspend->text, json_copy(other)) : pointer_remove(object, suspend->text);
}

struct json *sample_object(struct description *d) {
    const struct json *spec = schema_property(d->schema, "spec");
    AUTO_TEXT version = text_format("%s/%s", d->group, d->main_version);
    AUTO_JSON object = version ? document_make("{'apiVersion':%s,'kind':%s,'metadata':{'name':'sample','namespace':"
                                               "'default'}}",
                                               version, d->kind)
                               : NULL;
    bool done = object && json_set(object, "spec", sample_value(spec));
    for (size_t i = 0; i < d->members[CARRIED].count && done; i++)
        if (!d->members[CARRIED].list[i].is_template)
            sample_reach(object, d->schema, d->members[CARRIED].list[i].text);
    done = done && not_suspended(d, object) && add_pods(d, object);
    for (size_t i = 0; i < d->members[REMOVED].count && done; i++)
        done = add_removed(d, object, &d->members[REMOVED].list[i]);
    done = done && pointer_set(object, description_row(d, MANAGED_BY)->text, json_new_string(manager(d)));
    return done ? TAKE(object) : NULL;
}

// -- lives --

static bool add_condition(struct description *d, struct json *status, const struct guess_row *rule) {
    const struct json *items =
        json_get(places_at(&d->status, rule->text) ? places_at(&d->status, rule->text)->schema : NULL, "items");
    const struct guess_row *time = description_row(d, CONDITION_TIME);
    const char *const members[][2] = {{"type", rule->value},        {"status", rule->status ? rule->status : "True"},
                                      {"reason", "Sample"},         {"message", "from the sample"},
                                      {"lastTransitionTime", TIME}, {time ? time->text : "lastTransitionTime", TIME}};
    AUTO_JSON condition = items ? sample_value(items) : json_new_object();
    AUTO_JSON list = json_new_array();
    bool done = condition && list;
    for (size_t i = 0; i < COUNT(members) && done; i++)
        if (!items || schema_property(items, members[i][0]))
            done = json_set(condition, members[i][0], json_new_string(members[i][1]));
    if (done && schema_property(items, "observedGeneration"))
        done = json_set(condition, "observedGeneration", json_new_int64(1));
    return done && json_append(list, TAKE(condition)) && pointer_set(status, rule->text, TAKE(list));
}

static struct json *make_status(struct description *d, const struct guess_row *rule) {
    AUTO_JSON object = json_new_object();
    const struct json *schema = schema_property(d->schema, "status");
    const struct guess_row *finished = description_row(d, FINISHED_AT),
                           *generation = description_row(d, OBSERVED_GENERATION);
    bool final = phase_is_final(rule->number);
    bool done = object && json_set(object, "status", schema ? sample_value(schema) : json_new_object());
    for (size_t i = 0; i < d->members[STATUS_REMOVED].count && done; i++)
        if (!rule->is_condition || !text_has_prefix(d->members[STATUS_REMOVED].list[i].text, rule->text))
            sample_reach(object, d->schema, d->members[STATUS_REMOVED].list[i].text);
    const struct json *first = schema_properties(schema);
    if (done && !rule->text && first && json_size(json_get(object, "status")) == 0)
        done = json_set(json_get(object, "status"), json_key(first), sample_value(first));
    if (rule->text)
        sample_reach(object, d->schema, rule->text); // with what its parents require
    if (done && generation)
        done = pointer_set(object, generation->text, json_new_int64(1));
    if (done && finished && final)
        done = pointer_set(object, finished->text, json_new_string(TIME));
    if (done && rule->value)
        done = rule->is_condition ? add_condition(d, object, rule)
                                  : pointer_set(object, rule->text, json_new_string(rule->value));
    return done ? json_detach(object, "status") : NULL;
}

// A user suspends the object.
static bool add_suspension(const struct description *d, struct json *steps) {
    const struct guess_row *suspend = description_row(d, SUSPEND), *value = description_row(d, SUSPEND_VALUE);
    AUTO_JSON patch = json_new_object();
    AUTO_JSON one = json_new_object();
    bool done = patch && one && suspend &&
                pointer_set(patch, suspend->text, value ? json_new_string(value->text) : json_new_bool(true));
    return done && json_set(one, "patch", TAKE(patch)) && json_append(steps, TAKE(one));
}

struct json *sample_life(struct description *d, const struct guess_row *rule) {
    AUTO_JSON steps = json_new_array();
    AUTO_JSON one = json_new_object();
    bool done = steps && one && (rule->number != WHARF_SUSPENDED || add_suspension(d, steps));
    if (done && (rule->text || rule->number != WHARF_SUSPENDED))
        done = json_set(one, "status", make_status(d, rule)) && json_append(steps, TAKE(one));
    struct json *last = json_at(steps, json_size(steps) - 1);
    if (done && (rule->text || rule->number == WHARF_SUSPENDED))
        done = json_set(last, "phase", json_new_string(phase_word(rule->number)));
    return done ? TAKE(steps) : NULL;
}
