// SPDX-License-Identifier: Apache-2.0
// Small values that a structural schema accepts.
#include "core/cmd/adapter_new/description.h"

#include "core/base/text.h"
#include "core/cmd/main.h"
#include "core/json/pointer.h"

#include <math.h>
#include <regex.h>

#define SAMPLE "sample" // a text where any will do
#define MAP_KEY "main"  // the name of a member of a map

// -- texts --

// By the format, then common forms of text, the first one that fits the pattern.
static const struct {
    const char *format; // NULL: any
    const char *text;
} texts[] = {
    {"date-time", "2026-01-02T03:04:05Z"},
    {"date", "2026-01-02"},
    {"duration", "1h"},
    {"uri", "https://example.com/sample"},
    {"ipv4", "192.0.2.1"},
    {"ipv6", "2001:db8::1"},
    {"cidr", "192.0.2.0/24"},
    {"email", "sample@example.com"},
    {"uuid", "8f14e45f-ceea-467f-a9d5-2f1c3a5c7b10"},
    {"byte", "c2FtcGxl"},
    {NULL, SAMPLE},
    {NULL, "Sample"},
    {NULL, "SAMPLE"},
    {NULL, "1"},
    {NULL, "1h"},
    {NULL, "60s"},
    {NULL, "1Gi"},
    {NULL, "1.0"},
    {NULL, "v1"},
    {NULL, "1.0.0"},
    {NULL, "v1.0.0"},
    {NULL, "sample.example.com"},
    {NULL, "example.com/sample"},
    {NULL, "https://example.com/sample"},
    {NULL, "s3://example/sample"},
    {NULL, "/sample"},
    {NULL, "/sample/"},
    {NULL, "sample-1"},
    {NULL, "50%"},
    {NULL, "192.0.2.1"},
    {NULL, "2026-01-02"},
    {NULL, "2026-01-02T03:04:05Z"},
    {NULL, "true"},
    {NULL, "8f14e45f-ceea-467f-a9d5-2f1c3a5c7b10"},
};

// Patterns are of Go's regexp; those that POSIX does not know fit nothing.
static bool fits(const struct json *schema, const regex_t *pattern, const char *text) {
    int64_t min = json_int64(json_get(schema, "minLength"), 0),
            max = json_int64(json_get(schema, "maxLength"), INT64_MAX);
    int64_t len = (int64_t)strlen(text);
    return len >= min && len <= max && (!pattern || regexec(pattern, text, 0, NULL, 0) == 0);
}

static const char *choose_text(const struct json *schema, const regex_t *pattern) {
    const char *format = json_string_or(json_get(schema, "format"), "");
    for (size_t i = 0; i < COUNT(texts); i++)
        if ((texts[i].format ? strcmp(texts[i].format, format) == 0 : pattern || strcmp(texts[i].text, SAMPLE) == 0) &&
            fits(schema, pattern, texts[i].text))
            return texts[i].text;
    return NULL;
}

static struct json *make_text(const struct json *schema) {
    const char *pattern = json_string(json_get(schema, "pattern"));
    regex_t compiled;
    bool has = pattern && regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) == 0;
    const char *text = choose_text(schema, has ? &compiled : NULL);
    if (has)
        regfree(&compiled);
    int64_t min = json_int64(json_get(schema, "minLength"), 0),
            max = json_int64(json_get(schema, "maxLength"), INT64_MAX);
    if (text || has || min > 4096)
        return json_new_string(text ? text : "sample");
    AUTO_BUFFER(padded, 8192); // any text of a length that the schema accepts
    for (int64_t i = 0; i < (min > 6 ? min : max < 6 ? max : 6); i++)
        buffer_char(&padded, "sample"[i % 6]);
    return json_new_string(padded.data ? padded.data : "");
}

// -- numbers --

static struct json *make_number(const struct json *schema) {
    double least = json_double(json_get(schema, "minimum"), -HUGE_VAL);
    double most = json_double(json_get(schema, "maximum"), HUGE_VAL);
    double step = json_double(json_get(schema, "multipleOf"), 1);
    if (json_bool(json_get(schema, "exclusiveMinimum"), false))
        least += step;
    if (json_bool(json_get(schema, "exclusiveMaximum"), false))
        most -= step;
    double value = least > 1 ? least : most < 1 ? most : 1;
    if (step > 0)
        value = ceil(value / step) * step;
    return value > -1e15 && value < 1e15 ? json_new_int64((int64_t)value) : json_new_int64(1);
}

// -- objects and lists --

static struct json *resource(void) {
    return document_make("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'sample'}}");
}

static struct json *pod_spec(void) {
    return document_make(
        "{'containers':[{'name':'main','image':'registry.example.com/sample:1','resources':{'requests':"
        "{'cpu':'1','memory':'1Gi'}}}]}");
}

struct json *sample_pod_template(void) {
    struct json *made = json_new_object(), *spec = pod_spec();
    if (made && json_set(made, "spec", spec))
        return made;
    json_free(made);
    return NULL;
}

static bool add_required(struct json *object, const struct json *schema, const struct json *names) {
    bool done = true;
    for (const struct json *r = json_first(names); r && done; r = json_next(r)) {
        const char *name = json_string_or(r, "");
        const struct json *property = schema_property(schema, name);
        if (property && !json_get(object, name))
            done = json_set(object, name, sample_value(property));
    }
    return done;
}

static struct json *make_object(const struct json *schema) {
    if (schema_is_pod_spec(schema_property(schema, "spec")))
        return sample_pod_template();
    if (schema_is_pod_spec(schema))
        return pod_spec();
    if (json_bool(json_get(schema, "x-kubernetes-embedded-resource"), false))
        return resource();
    AUTO_JSON object = json_new_object();
    const struct json *members = json_get(schema, "additionalProperties");
    static const char *const alternatives[] = {"allOf", "anyOf", "oneOf"};
    bool done = object && add_required(object, schema, json_get(schema, "required"));
    for (size_t i = 0; i < COUNT(alternatives) && done; i++)
        done = add_required(object, schema, json_get(json_first(json_get(schema, alternatives[i])), "required"));
    int64_t least = json_int64(json_get(schema, "minProperties"), 0);
    for (const struct json *p = schema_properties(schema); p && done && (int64_t)json_size(object) < least;
         p = json_next(p))
        if (!json_get(object, json_key(p)))
            done = json_set(object, json_key(p), sample_value(p));
    if (done && json_is(members, JSON_OBJECT) && (int64_t)json_size(object) < least)
        done = json_set(object, MAP_KEY, sample_value(members));
    return done ? TAKE(object) : NULL;
}

static struct json *make_list(const struct json *schema) {
    AUTO_JSON list = json_new_array();
    bool done = list;
    int64_t least = json_int64(json_get(schema, "minItems"), 0);
    for (int64_t i = 0; i < least && done; i++)
        done = json_append(list, sample_value(json_get(schema, "items")));
    return done ? TAKE(list) : NULL;
}

struct json *sample_value(const struct json *schema) {
    const struct json *first = json_first(json_get(schema, "enum")), *fallback = json_get(schema, "default");
    if (fallback && !json_is_container(fallback))
        return json_copy(fallback);
    if (first)
        return json_copy(first);
    if (schema_is(schema, "string"))
        return make_text(schema);
    if (schema_is(schema, "integer") || schema_is(schema, "number") ||
        json_bool(json_get(schema, "x-kubernetes-int-or-string"), false))
        return make_number(schema);
    if (schema_is(schema, "boolean"))
        return json_new_bool(false);
    return schema_is(schema, "array") ? make_list(schema) : make_object(schema);
}

// -- places --

// One step towards a place: "/name" or "/*". NULL: there is no such place, or out of memory.
static struct json *step(struct json *value, const char *segment, const struct json **schema) {
    bool star = strcmp(segment, "/*") == 0, known = *schema && !schema_is_open(*schema);
    if (star) {
        *schema = json_get(*schema, json_is(value, JSON_ARRAY) ? "items" : "additionalProperties");
        if (json_first(value) || !*schema)
            return json_first(value);
        bool done = json_is(value, JSON_ARRAY) ? json_append(value, sample_value(*schema))
                                               : json_set(value, MAP_KEY, sample_value(*schema));
        return done ? json_first(value) : NULL;
    }
    *schema = pointer_find(json_get(*schema, "properties"), segment);
    struct json *found = pointer_find(value, segment);
    if (found || (known && !*schema))
        return found;
    bool done = pointer_set(value, segment, *schema ? sample_value(*schema) : json_new_object());
    return done ? pointer_find(value, segment) : NULL;
}

struct json *sample_reach(struct json *root, const struct json *schema, const char *pattern) {
    struct json *at = root;
    while (*pattern && at) {
        size_t len = 1 + strcspn(pattern + 1, "/");
        AUTO_TEXT segment = strndup(pattern, len);
        pattern += len;
        at = segment && json_is_container(at) ? step(at, segment, &schema) : NULL;
    }
    return at;
}
