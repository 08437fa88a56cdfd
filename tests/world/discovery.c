// SPDX-License-Identifier: Apache-2.0
// /version, /api, /apis and what is below them, in the unaggregated form.
#include "tests/world/server.h"

#include <string.h>

#define GIT_VERSION "v1.36.0"

static struct json *object_of(const char *kind, const char *api_version) {
    struct json *value = json_new_object();
    if (!value)
        world_oom();
    world_set_text(value, "kind", kind);
    if (api_version)
        world_set_text(value, "apiVersion", api_version);
    return value;
}

static struct json *add_list(struct json *value, const char *key) {
    world_json_set(value, key, json_new_array());
    return json_get(value, key);
}

static void append(struct json *list, struct json *item) {
    if (!json_append(list, item))
        world_oom();
}

static struct json *version_entry(const char *group, const char *version) {
    struct json *entry = json_new_object();
    if (!entry)
        world_oom();
    AUTO_TEXT both = text_format("%s/%s", group, version);
    world_set_text(entry, "groupVersion", both);
    world_set_text(entry, "version", version);
    return entry;
}

static bool has_version(const struct json *versions, const char *version) {
    for (const struct json *item = json_first(versions); item; item = json_next(item))
        if (strcmp(json_string_or(json_get(item, "version"), ""), version) == 0)
            return true;
    return false;
}

// An APIGroup, or NULL if no kind is in it.
static struct json *make_group(const struct world_cluster *cluster, const char *group, bool top) {
    struct json *value = top ? object_of("APIGroup", "v1") : json_new_object();
    world_set_text(value, "name", group);
    struct json *versions = add_list(value, "versions");
    for (const struct kind *kind = cluster->kinds; kind; kind = kind->next_kind)
        for (size_t i = 0; strcmp(kind->group, group) == 0 && i < kind->version_count; i++)
            if (!has_version(versions, kind->versions[i]))
                append(versions, version_entry(group, kind->versions[i]));
    if (json_size(versions) == 0 && strcmp(group, "authorization.k8s.io") == 0)
        append(versions, version_entry(group, "v1"));
    if (json_size(versions) == 0) {
        json_free(value);
        return NULL;
    }
    world_json_set(value, "preferredVersion", world_json_copy(json_at(versions, 0)));
    return value;
}

static bool has_group(const struct json *groups, const char *name) {
    for (const struct json *item = json_first(groups); item; item = json_next(item))
        if (strcmp(json_string_or(json_get(item, "name"), ""), name) == 0)
            return true;
    return false;
}

static void answer_groups(const struct world_cluster *cluster, struct world_response *response) {
    AUTO_JSON value = object_of("APIGroupList", "v1");
    struct json *groups = add_list(value, "groups");
    for (const struct kind *kind = cluster->kinds; kind; kind = kind->next_kind)
        if (*kind->group && !has_group(groups, kind->group))
            append(groups, make_group(cluster, kind->group, false));
    append(groups, make_group(cluster, "authorization.k8s.io", false));
    answer_json(response, 200, value);
}

static struct json *resource_entry(const struct kind *kind, const char *suffix, const char *const *verbs) {
    struct json *entry = json_new_object();
    if (!entry)
        world_oom();
    AUTO_TEXT name = text_format("%s%s", kind->plural, suffix);
    AUTO_TEXT singular = world_strdup(kind->kind);
    for (char *c = singular; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    world_set_text(entry, "name", name);
    world_set_text(entry, "singularName", *suffix ? "" : singular);
    world_json_set(entry, "namespaced", json_new_bool(!kind->cluster_scoped));
    world_set_text(entry, "kind", kind->kind);
    struct json *list = add_list(entry, "verbs");
    for (; *verbs; verbs++)
        append(list, json_new_string(*verbs));
    return entry;
}

static void add_list_of_one(struct json *entry, const char *key, const char *text) {
    if (text)
        append(add_list(entry, key), json_new_string(text));
}

// Short names and categories, which kubectl resolves: `kubectl get ns`, `kubectl get all`.
static void add_names(struct json *entry, const struct kind *kind) {
    static const struct {
        enum special special;
        const char *short_name, *category;
    } known[] = {
        {SPECIAL_NAMESPACE, "ns", NULL},      {SPECIAL_POD, "po", "all"},   {SPECIAL_JOB, NULL, "all"},
        {SPECIAL_CRONJOB, "cj", "all"},       {SPECIAL_EVENT, "ev", NULL},  {SPECIAL_CONFIGMAP, "cm", NULL},
        {SPECIAL_SERVICEACCOUNT, "sa", NULL}, {SPECIAL_CLAIM, "pvc", NULL}, {SPECIAL_PRIORITYCLASS, "pc", NULL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (kind->special == known[i].special) {
            add_list_of_one(entry, "shortNames", known[i].short_name);
            add_list_of_one(entry, "categories", known[i].category);
        }
    static const char *const copied[] = {"singularName", "shortNames", "categories"};
    static const char *const from[] = {"singular", "shortNames", "categories"};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        const struct json *names = json_path(kind->definition, "spec", "names", from[i], NULL);
        if (names)
            world_json_set(entry, copied[i], world_json_copy(names));
    }
}

static struct json *review_entry(void) {
    struct json *entry = object_of("SelfSubjectAccessReview", NULL);
    world_set_text(entry, "name", "selfsubjectaccessreviews");
    world_set_text(entry, "singularName", "selfsubjectaccessreview");
    world_json_set(entry, "namespaced", json_new_bool(false));
    append(add_list(entry, "verbs"), json_new_string("create"));
    return entry;
}

static void answer_resources(const struct world_cluster *cluster, const char *group, const char *version,
                             struct world_response *response) {
    static const char *const verbs[] = {"create", "delete", "deletecollection", "get", "list", "patch", "update",
                                        "watch",  NULL};
    static const char *const read_verbs[] = {"get", "list", "watch", NULL};
    static const char *const status_verbs[] = {"get", "patch", "update", NULL};
    AUTO_JSON value = object_of("APIResourceList", "v1");
    AUTO_TEXT both = *group ? text_format("%s/%s", group, version) : text_format("%s", version);
    world_set_text(value, "groupVersion", both);
    struct json *list = add_list(value, "resources");
    for (const struct kind *kind = cluster->kinds; kind; kind = kind->next_kind) {
        bool core_event = kind->special == SPECIAL_EVENT && !*group; // which are shown there too
        if ((strcmp(kind->group, group) != 0 && !core_event) || !world_kind_serves(kind, version))
            continue;
        struct json *entry = resource_entry(kind, "", core_event ? read_verbs : verbs);
        add_names(entry, kind);
        append(list, entry);
        if (kind->has_status)
            append(list, resource_entry(kind, "/status", status_verbs));
    }
    if (strcmp(group, "authorization.k8s.io") == 0 && strcmp(version, "v1") == 0)
        append(list, review_entry());
    if (json_size(list) == 0)
        answer_not_served(response);
    else
        answer_json(response, 200, value);
}

static void answer_version(struct world_response *response) {
    AUTO_JSON value = json_new_object();
    if (!value)
        world_oom();
    world_set_text(value, "major", "1");
    world_set_text(value, "minor", "36");
    world_set_text(value, "gitVersion", GIT_VERSION);
    world_set_text(value, "platform", "linux/amd64");
    answer_json(response, 200, value);
}

static void answer_core_versions(struct world_response *response) {
    AUTO_JSON value = object_of("APIVersions", NULL);
    append(add_list(value, "versions"), json_new_string("v1"));
    answer_json(response, 200, value);
}

static void answer_group(const struct world_cluster *cluster, const char *name, struct world_response *response) {
    AUTO_JSON group = make_group(cluster, name, true);
    if (group)
        answer_json(response, 200, group);
    else
        answer_not_served(response);
}

bool world_discover(struct world_cluster *cluster, const struct route *route, struct world_response *response) {
    const char *first = route->segments ? route->segment[0] : "";
    if (strcmp(first, "version") == 0 && route->segments == 1)
        answer_version(response);
    else if ((strcmp(first, "healthz") == 0 || strcmp(first, "readyz") == 0 || strcmp(first, "livez") == 0) &&
             route->segments == 1)
        answer_text(response, 200, "ok");
    else if (strcmp(first, "api") == 0 && route->segments == 1)
        answer_core_versions(response);
    else if (strcmp(first, "api") == 0 && route->segments == 2)
        answer_resources(cluster, "", route->segment[1], response);
    else if (strcmp(first, "apis") == 0 && route->segments == 1)
        answer_groups(cluster, response);
    else if (strcmp(first, "apis") == 0 && route->segments == 2)
        answer_group(cluster, route->segment[1], response);
    else if (strcmp(first, "apis") == 0 && route->segments == 3)
        answer_resources(cluster, route->segment[1], route->segment[2], response);
    else
        return false;
    return true;
}
