// SPDX-License-Identifier: Apache-2.0
// Structural schemas (apiextensions.k8s.io/v1 JSONSchemaProps).
#include "core/cmd/adapter_new/description.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#include <ctype.h>
#include <strings.h>

#define SHOWN_MAX 180 // bytes of a description in a comment

const struct json *schema_properties(const struct json *schema) {
    const struct json *properties = json_get(schema, "properties");
    return json_is(properties, JSON_OBJECT) ? json_first(properties) : NULL;
}

const struct json *schema_property(const struct json *schema, const char *name) {
    return json_get(json_get(schema, "properties"), name);
}

const struct json *schema_step(const struct json *schema, const char **pointer) {
    size_t len = 1 + strcspn(*pointer + 1, "/");
    AUTO_TEXT segment = strndup(*pointer, len);
    *pointer += len;
    return segment ? pointer_find(json_get(schema, "properties"), segment) : NULL;
}

bool schema_is(const struct json *schema, const char *type) {
    return json_is_scalar(json_get(schema, "type"), type);
}

const char *schema_text(const struct json *schema) {
    return json_string_or(json_get(schema, "description"), "");
}

static bool is_preserved(const struct json *schema) {
    return json_bool(json_get(schema, "x-kubernetes-preserve-unknown-fields"), false);
}

bool schema_is_open(const struct json *schema) {
    return is_preserved(schema) && !schema_properties(schema) &&
           !json_bool(json_get(schema, "x-kubernetes-embedded-resource"), false);
}

static bool requires(const struct json *schema, const char *name) {
    for (const struct json *r = json_first(json_get(schema, "required")); r; r = json_next(r))
        if (json_is_scalar(r, name))
            return true;
    return false;
}

// core/v1 PodSpec: containers are required.
bool schema_is_pod_spec(const struct json *schema) {
    return schema_is(schema_property(schema, "containers"), "array") && requires(schema, "containers");
}

static bool is_named_template(const char *name) {
    static const char *const others[] = {"volume", "claim", "service", "ingress", "secret", "config"};
    size_t len = strlen(name);
    if (len < strlen("template") || strcasecmp(name + len - strlen("template"), "template") != 0)
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasestr(name, others[i]))
            return false;
    return true;
}

static void classify(struct schema_place *place) {
    const struct json *spec = schema_property(place->schema, "spec");
    if (schema_is_pod_spec(spec))
        place->pods = POD_TEMPLATE;
    else if (schema_is_pod_spec(place->schema) && schema_property(place->schema, "nodeSelector"))
        place->pods = POD_SPEC;
    else if (schema_is_open(place->schema) &&
             (is_named_template(place->name) || text_has_word(schema_text(place->schema), "PodTemplateSpec")))
        place->pods = TEMPLATE_BY_NAME;
}

// A transition rule "self == oldSelf" (x-kubernetes-validations).
static bool is_fixed(const struct json *schema) {
    const struct json *rules = json_get(schema, "x-kubernetes-validations");
    for (const struct json *r = json_first(rules); r; r = json_next(r))
        if (json_is_scalar(json_get(r, "rule"), "self == oldSelf") ||
            json_is_scalar(json_get(r, "rule"), "oldSelf == self"))
            return true;
    return false;
}

static bool add(struct description *d, struct schema_places *places, const struct schema_place *up, const char *name,
                const struct json *schema) {
    bool is_star = json_is(schema, JSON_OBJECT) && strcmp(name, "*") == 0 && json_key(schema) &&
                   (strcmp(json_key(schema), "items") == 0 || strcmp(json_key(schema), "additionalProperties") == 0);
    AUTO_BUFFER(segment, 65536);
    // Pointers and patterns appear in source text: names that neither can have are left out.
    bool is_odd = text_visible(name, strlen(name)) != strlen(name) || (strcmp(name, "*") == 0 && !is_star);
    if (!json_is(schema, JSON_OBJECT) || is_odd)
        return true;
    struct schema_place **slot = array_next(&places->list, places->count, sizeof(struct schema_place *));
    struct schema_place *place = slot ? calloc(1, sizeof(*place)) : NULL;
    if (!place || !(is_star ? buffer_text(&segment, "/*") : pointer_append(&segment, name))) {
        free(place);
        return false;
    }
    *slot = place;
    places->count++;
    *place = (struct schema_place){.up = up,
                                   .schema = schema,
                                   .name = name,
                                   .pointer = description_text(d, "%s%s", up ? up->pointer : "", segment.data),
                                   .depth = up ? up->depth + 1 : 0,
                                   .in_list = is_star || (up && up->in_list),
                                   .required = up && !is_star && requires(up->schema, name),
                                   .fixed = is_fixed(schema) || (up && up->fixed)};
    classify(place);
    return true;
}

static bool add_children(struct description *d, struct schema_places *places, const struct schema_place *up) {
    bool done = true;
    if (up->pods != NOT_PODS)
        return true;
    for (const struct json *p = schema_properties(up->schema); p && done; p = json_next(p))
        done = add(d, places, up, json_key(p), p);
    const struct json *items = json_get(up->schema, "items"), *members = json_get(up->schema, "additionalProperties");
    return done && add(d, places, up, "*", items) && add(d, places, up, "*", members);
}

struct error *places_find(struct description *d, const char *root, struct schema_places *out) {
    const struct json *schema = schema_property(d->schema, root);
    bool done = !schema || add(d, out, NULL, root, schema);
    for (size_t i = 0; done && i < out->count; i++)
        done = add_children(d, out, out->list[i]);
    return done && !d->failed ? NULL : error_no_memory();
}

void places_free(struct schema_places *places) {
    for (size_t i = 0; i < places->count; i++)
        free(places->list[i]);
    free(places->list);
}

const struct schema_place *places_at(const struct schema_places *places, const char *pointer) {
    for (size_t i = 0; i < places->count; i++)
        if (strcmp(places->list[i]->pointer, pointer) == 0)
            return places->list[i];
    return NULL;
}

static const char *type_name(const struct json *schema) {
    static const char *const names[][2] = {{"boolean", "a boolean"}, {"integer", "an integer"}, {"number", "a number"},
                                           {"string", "a string"},   {"array", "a list"},       {"object", "an object"},
                                           {"date-time", "a time"}};
    const char *type = json_string_or(json_get(schema, "type"), "");
    if (json_is_scalar(json_get(schema, "format"), "date-time"))
        type = "date-time";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(type, names[i][0]) == 0)
            return names[i][1];
    return "a field";
}

// The end of the first sentence.
static size_t sentence_length(const char *text) {
    for (const char *at = text; *at; at++)
        if (*at == '.' && isspace((unsigned char)at[1]) && (isupper((unsigned char)at[2]) || at[1] == '\n'))
            return (size_t)(at - text) + 1;
    return strlen(text);
}

const char *schema_says(struct description *d, const struct schema_place *place) {
    const char *text = schema_text(place->schema), *type = type_name(place->schema);
    AUTO_TEXT first = strndup(text, sentence_length(text));
    AUTO_BUFFER(shown, 65536);
    char brief[SHOWN_MAX];
    if (!first || !text_show(&shown, first))
        d->failed = true;
    text_shorten(brief, sizeof brief, shown.data ? shown.data : "");
    for (char *c = brief; *c; c++) // neither the end of a quotation nor that of a comment's line
        *c = *c == '"' || *c == '\\' ? '\'' : *c;
    return *brief ? description_text(d, "%s, \"%s\"", type, brief) : description_text(d, "%s of this name.", type);
}

bool text_has_word(const char *text, const char *word) {
    size_t len = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[len]))
            return true;
    return false;
}

bool text_is_one_of(const char *text, const char *const *list) {
    while (*list && strcasecmp(text, *list) != 0)
        list++;
    return *list;
}
