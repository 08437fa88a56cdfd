// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/sources.h"

#include "core/base/memory.h"
#include "core/base/namespace_map.h"
#include "core/base/selector.h"
#include "core/base/text.h"
#include "core/json/json.h"
#include "core/json/yaml.h"
#include "core/kube/object/object.h"

#include <inttypes.h>
#include <stdio.h>

#define LABEL_PREFIX "worker.wharf.dev/"
#define EXTENSION "wharf.dev"
#define NUMBER_MAX 1000000
#define KINDS_MAX ((size_t)8192)

static struct error *read_number(const char *text, int64_t *out) {
    if (!text_to_int64(text, out) || *out < 1 || *out > NUMBER_MAX)
        return error_new(ERROR_INVALID, "found \"%.40s\", expected a whole number from 1 to 1000000", text);
    return NULL;
}

// "10,jobs.batch=5": of all kinds, and of some.
static struct error *read_max_active(const char *text, struct worker_spec *out) {
    AUTO_BUFFER(kinds, KINDS_MAX);
    for (const char *at = text; *at; at += *at == ',') {
        size_t len = strcspn(at, ",");
        AUTO_TEXT item = strndup(at, len);
        if (!item)
            return error_no_memory();
        char *equals = strchr(item, '=');
        if (equals)
            *equals = '\0';
        int64_t limit = 0;
        TRY(read_number(equals ? equals + 1 : item, &limit));
        if (equals && !text_is_label_key(item))
            return error_new(ERROR_INVALID, "found \"%.80s\", expected a kind such as Job or jobs.batch", item);
        if (!equals)
            out->settings.max_active = (size_t)limit;
        else if (!labels_add(&kinds, item, equals + 1))
            return error_no_memory();
        at += len;
    }
    out->settings.max_kinds = kinds.len > 0 ? buffer_take(&kinds, NULL) : NULL;
    return NULL;
}

enum { WEIGHT, ORDER, MAX_ACTIVE, NAMESPACE_MAP, PLACEMENTS };
static const struct {
    const char *annotation, *key; // of a Secret or ClusterProfile, and in the extension of a kubeconfig
} placements[PLACEMENTS] = {[WEIGHT] = {"wharf.dev/weight", "weight"},
                            [ORDER] = {"wharf.dev/order", "order"},
                            [MAX_ACTIVE] = {"wharf.dev/max-active", "maxActive"},
                            [NAMESPACE_MAP] = {NAMESPACE_MAP_ANNOTATION, "namespaceMap"}};

// "team-*={origin}-{namespace},a=b": the rules of namespaces.map.
static struct error *read_namespace_map(const char *text, struct worker_spec *out) {
    AUTO_BUFFER(problem, KINDS_MAX);
    out->settings.namespace_map = *text ? namespace_map_read(text, &problem) : NULL;
    if (*text && !out->settings.namespace_map)
        return problem.data ? error_new(ERROR_INVALID, "%s", problem.data) : error_no_memory();
    return NULL;
}

static struct error *set_placement(struct worker_spec *out, size_t which, const char *text) {
    int64_t number = 0;
    if (which == MAX_ACTIVE)
        return read_max_active(text, out);
    if (which == NAMESPACE_MAP)
        return read_namespace_map(text, out);
    TRY(read_number(text, &number));
    *(which == WEIGHT ? &out->settings.weight : &out->settings.order) = (uint32_t)number;
    return NULL;
}

static struct error *read_placement(const struct json *object, struct worker_spec *out) {
    for (size_t i = 0; i < PLACEMENTS; i++) {
        const char *text = object_annotation(object, placements[i].annotation);
        if (text)
            TRY(error_wrap(set_placement(out, i, text), "annotation %s", placements[i].annotation));
    }
    return NULL;
}

static struct error *read_label(const struct json *label, struct worker_spec *out) {
    const char *key = json_key(label), *value = json_string(label);
    if (!text_is_label_key(key) || !value || !text_is_label_value(value))
        return error_new(ERROR_INVALID, "labels: found \"%.80s\", expected a label with a valid key and value", key);
    return worker_spec_add_label(out, key, value) ? NULL : error_no_memory();
}

static struct error *read_member(const struct json *member, struct worker_spec *out) {
    const char *key = json_key(member);
    struct error *error = NULL;
    if (strcmp(key, "labels") == 0) {
        for (const struct json *label = json_first(member); label && !error; label = json_next(label))
            error = read_label(label, out);
        return error;
    }
    char number[32];
    snprintf(number, sizeof number, "%" PRId64, json_int64(member, 0));
    const char *text = json_is(member, JSON_NUMBER) ? number : json_string_or(member, "");
    for (size_t i = 0; i < PLACEMENTS; i++)
        if (strcmp(key, placements[i].key) == 0)
            return error_wrap(set_placement(out, i, text), "%s", key);
    return error_new(ERROR_INVALID,
                     "%.40s: found an unknown key, expected labels, weight, order, maxActive or namespaceMap", key);
}

struct error *worker_placement_of_kubeconfig(const char *text, size_t len, struct worker_spec *out) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml yaml = {.value = NULL};
    TRY(yaml_parse("kubeconfig", text, len, &yaml));
    const struct json *list = json_get(yaml.value, "extensions");
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        bool ours = text_equal(json_string(json_get(item, "name")), EXTENSION);
        const struct json *member = ours ? json_first(json_get(item, "extension")) : NULL;
        for (; member; member = json_next(member))
            TRY(error_wrap(read_member(member, out), "extension " EXTENSION));
    }
    return NULL;
}

char *worker_object_text(const char *kind, const struct json *object) {
    return text_format("%s %s/%s", kind, object_namespace(object), object_name(object));
}

static struct error *read_name(const struct json *object, struct worker_spec *out) {
    const char *given = object_annotation(object, WORKER_NAME_ANNOTATION);
    const char *name = given ? given : object_name(object);
    const char *field = given ? "annotation " WORKER_NAME_ANNOTATION : "metadata.name";
    if (!text_is_dns_label(name))
        return error_new(ERROR_INVALID,
                         "%s: found \"%.80s\", expected at most 63 lower-case letters, digits and '-' (or another name "
                         "in annotation " WORKER_NAME_ANNOTATION ")",
                         field, name);
    if (strcmp(name, "management") == 0)
        return error_new(ERROR_INVALID, "%s: found \"management\", expected another name: this one is reserved", field);
    const char *created = json_string(json_path(object, "metadata", "creationTimestamp", NULL));
    return text_set((char **)&out->settings.name, name) && text_set(&out->created, created) ? NULL : error_no_memory();
}

// The API server has checked their syntax.
static struct error *read_labels(const struct json *object, struct worker_spec *out) {
    const struct json *labels = json_path(object, "metadata", "labels", NULL);
    for (const struct json *label = json_first(labels); label; label = json_next(label))
        if (text_has_prefix(json_key(label), LABEL_PREFIX) &&
            !worker_spec_add_label(out, json_key(label) + strlen(LABEL_PREFIX), json_string_or(label, "")))
            return error_no_memory();
    return NULL;
}

struct error *worker_object_name(const struct json *object, struct worker_spec *out) {
    TRY(read_name(object, out));
    TRY(read_placement(object, out));
    return read_labels(object, out);
}

// ConfigMap and kubeconfigs -------------------------------------------------------------------------------------------

bool blocks_put(struct map *blocks, const void *from, size_t size, size_t n_texts) {
    void *block = struct_copy_with_texts(from, size, n_texts);
    const char *key;
    if (!block)
        return false;
    memcpy(&key, block, sizeof key);
    void *former = map_get(blocks, key);
    bool put = map_put(blocks, key, block);
    free(put ? former : block);
    return put;
}

bool drain_read(const char *text, enum drain *out) {
    bool finish = text_equal(text, "finish"), move = text_equal(text, "move");
    *out = finish ? DRAIN_FINISH : move ? DRAIN_MOVE : DRAIN_NO;
    return finish || move || !text || !*text;
}

static struct error *read_order(const struct json *member, struct worker_override *out) {
    const char *key = json_key(member), *text = json_string(member);
    if (strcmp(key, "cordoned") == 0 && json_is(member, JSON_BOOL)) {
        out->sets_cordoned = true;
        out->cordoned = json_bool(member, false);
        return NULL;
    }
    if (strcmp(key, "drain") == 0 && (json_is(member, JSON_NULL) || text) && drain_read(text, &out->drain)) {
        out->sets_drain = true;
        return NULL;
    }
    return error_new(ERROR_INVALID,
                     "%.40s: found %s, expected cordoned (true or false) or drain (\"finish\", \"move\" or null)", key,
                     strcmp(key, "cordoned") == 0 || strcmp(key, "drain") == 0 ? "another value" : "an unknown key");
}

struct error *worker_override_read(const char *name, const char *text, struct worker_override *out) {
    *out = (struct worker_override){.name = name, .uid = "", .source = "", .names = ""};
    AUTO_JSON value = NULL;
    struct error *error = json_parse(text, strlen(text), &value);
    if (!error && !json_is(value, JSON_OBJECT))
        error = error_new(ERROR_INVALID, "found no JSON object, expected one like {\"cordoned\":true}");
    for (const struct json *member = json_first(value); member && !error; member = json_next(member))
        error = read_order(member, out);
    return error_wrap(error, "key %.80s", name);
}

struct error *worker_spec_check(struct worker_spec *spec, const struct exec_policy *policy, int64_t wall_ns,
                                struct token_life *life, bool *usable) {
    struct endpoint *endpoint = NULL;
    *life = (struct token_life){0};
    *usable = false;
    spec->revision = text_hash(text_hash(TEXT_HASH, spec->kubeconfig_text), spec->context ? spec->context : "");
    struct exec_policy own = policy ? *policy : (struct exec_policy){.allow = NULL};
    own.own_entry = spec->source == SOURCE_CLUSTER_PROFILE; // as connection_load_worker
    TRY(kubeconfig_parse(spec->kubeconfig_text, strlen(spec->kubeconfig_text), "kubeconfig", spec->context, &own,
                         &endpoint));
    *usable = true;
    (void)token_life_read(endpoint->token, life);
    struct error *error = endpoint_check(endpoint, wall_ns);
    endpoint_free(endpoint);
    return error;
}

struct error *kubeconfig_with_token(const char *text, const char *context, const char *token, char **out) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml yaml = {.value = NULL};
    *out = NULL;
    TRY(yaml_parse("kubeconfig", text, strlen(text), &yaml));
    const char *wanted = context && *context ? context : json_string(json_get(yaml.value, "current-context"));
    const struct json *used = json_get(json_find_item(json_get(yaml.value, "contexts"), "name", wanted), "context");
    struct json *user =
        json_get(json_find_item(json_get(yaml.value, "users"), "name", json_string(json_get(used, "user"))), "user");
    if (!json_is(user, JSON_OBJECT))
        return error_new(ERROR_INVALID, "kubeconfig: found no user in context %s, expected one with a token",
                         wanted ? wanted : "\"\"");
    AUTO_BUFFER(printed, (size_t)1 << 20);
    if (!json_set(user, "token", json_new_string(token)) || !yaml_print(yaml.value, &printed))
        return error_no_memory();
    *out = buffer_take(&printed, NULL);
    return *out ? NULL : error_no_memory();
}
