// SPDX-License-Identifier: Apache-2.0
// /openapi/v3 and below, as far as kubectl needs it: the resources, fieldValidation of PATCH, and the schemas of custom
// kinds for `kubectl explain`. Built-in kinds are described as objects of any content.
#include "core/json/pointer.h"
#include "tests/world/crd.h"
#include "tests/world/server.h"

#include <string.h>

static struct json *new_object(void) {
    struct json *value = json_new_object();
    if (!value)
        world_oom();
    return value;
}

static void set(struct json *root, const char *pointer, struct json *value) {
    if (!pointer_set(root, pointer, value))
        world_oom();
}

static void append(struct json *list, struct json *item) {
    if (!json_append(list, item))
        world_oom();
}

static struct json *group_version_kind(const struct kind *kind, const char *version) {
    struct json *value = new_object();
    world_set_text(value, "group", kind->group);
    world_set_text(value, "version", version);
    world_set_text(value, "kind", kind->kind);
    return value;
}

static void add_group_version(struct json *paths, const char *group, const char *version) {
    AUTO_TEXT name = *group ? text_format("apis/%s/%s", group, version) : text_format("api/%s", version);
    AUTO_TEXT url = name ? text_format("/openapi/v3/%s", name) : NULL;
    if (!url)
        world_oom();
    world_set_text(world_json_child(paths, name), "serverRelativeURL", url);
}

static void answer_index(const struct world_cluster *cluster, struct world_response *response) {
    AUTO_JSON value = new_object();
    struct json *paths = world_json_child(value, "paths");
    for (const struct kind *kind = cluster->kinds; kind; kind = kind->next_kind)
        for (size_t i = 0; i < kind->version_count; i++)
            add_group_version(paths, kind->group, kind->versions[i]);
    answer_json(response, 200, value);
}

static struct json *query_parameter(const char *name) {
    struct json *value = new_object();
    world_set_text(value, "name", name);
    world_set_text(value, "in", "query");
    world_set_text(world_json_child(value, "schema"), "type", "string");
    return value;
}

static void add_operation(struct json *item, const char *method, const char *action, const struct kind *kind,
                          const char *version) {
    static const char *const names[] = {"dryRun", "fieldManager", "fieldValidation"};
    struct json *operation = world_json_child(item, method);
    world_set_text(operation, "x-kubernetes-action", action);
    world_json_set(operation, "x-kubernetes-group-version-kind", group_version_kind(kind, version));
    set(operation, "/responses/200/description", json_new_string("OK"));
    if (strcmp(action, "get") == 0 || strcmp(action, "list") == 0)
        return;
    struct json *parameters = json_new_array();
    if (!parameters)
        world_oom();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        append(parameters, query_parameter(names[i]));
    world_json_set(operation, "parameters", parameters);
}

static void add_paths(struct json *paths, const struct kind *kind, const char *version) {
    AUTO_TEXT root = *kind->group ? text_format("/apis/%s/%s", kind->group, version) : text_format("/api/%s", version);
    AUTO_TEXT all =
        root ? text_format("%s%s/%s", root, kind->cluster_scoped ? "" : "/namespaces/{namespace}", kind->plural) : NULL;
    AUTO_TEXT one = all ? text_format("%s/{name}", all) : NULL;
    if (!one)
        world_oom();
    struct json *item = world_json_child(paths, all);
    add_operation(item, "get", "list", kind, version);
    add_operation(item, "post", "post", kind, version);
    item = world_json_child(paths, one);
    add_operation(item, "get", "get", kind, version);
    add_operation(item, "put", "put", kind, version);
    add_operation(item, "patch", "patch", kind, version);
}

static struct json *schema_of(const struct kind *kind, const char *version) {
    static const char *const texts[] = {"/properties/apiVersion/type", "/properties/kind/type"};
    const struct json *given = json_path(crd_version(kind->definition, version), "schema", "openAPIV3Schema", NULL);
    struct json *schema = given ? world_json_copy(given) : new_object();
    if (!json_is(schema, JSON_OBJECT)) {
        json_free(schema);
        schema = new_object();
    }
    if (!given)
        set(schema, "/x-kubernetes-preserve-unknown-fields", json_new_bool(true));
    set(schema, "/type", json_new_string("object"));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        set(schema, texts[i], json_new_string("string"));
    set(schema, "/properties/metadata/type", json_new_string("object"));
    struct json *kinds = json_new_array();
    if (!kinds)
        world_oom();
    append(kinds, group_version_kind(kind, version));
    world_json_set(schema, "x-kubernetes-group-version-kind", kinds);
    return schema;
}

static void answer_group_version(const struct world_cluster *cluster, const char *group, const char *version,
                                 struct world_response *response) {
    AUTO_JSON value = new_object();
    size_t count = 0;
    world_set_text(value, "openapi", "3.0.0");
    set(value, "/info/title", json_new_string("Kubernetes"));
    set(value, "/info/version", json_new_string("unversioned"));
    struct json *paths = world_json_child(value, "paths");
    struct json *schemas = world_json_child(world_json_child(value, "components"), "schemas");
    for (const struct kind *kind = cluster->kinds; kind; kind = kind->next_kind) {
        if (strcmp(kind->group, group) != 0 || !world_kind_serves(kind, version))
            continue;
        AUTO_TEXT name = text_format("%s%s%s.%s", group, *group ? "." : "", version, kind->kind);
        if (!name)
            world_oom();
        add_paths(paths, kind, version);
        world_json_set(schemas, name, schema_of(kind, version));
        count++;
    }
    if (count)
        answer_json(response, 200, value);
    else
        answer_not_served(response);
}

bool world_openapi(const struct world_cluster *cluster, const struct route *route, struct world_response *response) {
    if (route->segments < 2 || strcmp(route->segment[0], "openapi") != 0 || strcmp(route->segment[1], "v3") != 0)
        return false;
    if (route->segments == 2)
        answer_index(cluster, response);
    else if (route->segments == 4 && strcmp(route->segment[2], "api") == 0)
        answer_group_version(cluster, "", route->segment[3], response);
    else if (route->segments == 5 && strcmp(route->segment[2], "apis") == 0)
        answer_group_version(cluster, route->segment[3], route->segment[4], response);
    else
        return false;
    return true;
}
