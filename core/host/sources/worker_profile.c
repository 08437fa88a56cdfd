// SPDX-License-Identifier: Apache-2.0
// A ClusterProfile (multicluster.x-k8s.io/v1alpha1, KEP 4322 and 5339): the status has the address and the CA, the
// credentials come from the exec plugin that the configuration names for the access provider.
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/sources/sources.h"
#include "core/json/json.h"
#include "core/kube/object/object.h"

#define NAME "cluster" // of all entries in the kubeconfig

// credentialProviders is the deprecated name of accessProviders, which wins.
static const struct json *find_access(const struct json *profile, const struct config_workers_from *from,
                                      const struct config_access_provider **provider) {
    static const char *const fields[] = {"accessProviders", "credentialProviders"};
    for (size_t p = 0; p < from->n_providers; p++)
        for (size_t f = 0; f < 2; f++) {
            const struct json *access =
                json_find_item(json_path(profile, "status", fields[f], NULL), "name", from->providers[p].name);
            if (!access)
                continue;
            *provider = &from->providers[p];
            return access;
        }
    return NULL;
}

// {KEY: VALUE, and another pair if given}; takes the values. NULL: out of memory.
static struct json *make_object(const char *key, struct json *value, const char *key2, struct json *value2) {
    AUTO_JSON object = json_new_object();
    bool good = json_set(object, key, value);
    good = (!key2 || json_set(object, key2, value2)) && good;
    return good ? TAKE(object) : NULL;
}

// [{"name": NAME, KEY: VALUE}]; takes the value.
static struct json *named_list(const char *key, struct json *value) {
    AUTO_JSON list = json_new_array();
    return json_append(list, make_object("name", json_new_string(NAME), key, value)) ? TAKE(list) : NULL;
}

static char *make_kubeconfig(const struct json *cluster, const struct json *exec) {
    AUTO_JSON config = make_object("apiVersion", json_new_string("v1"), "kind", json_new_string("Config"));
    struct json *plugin = json_copy(exec);
    bool good = json_get(plugin, "interactiveMode") || json_set(plugin, "interactiveMode", json_new_string("Never"));
    struct json *context = make_object("cluster", json_new_string(NAME), "user", json_new_string(NAME));
    good = json_set(config, "current-context", json_new_string(NAME)) && good;
    good = json_set(config, "clusters", named_list("cluster", json_copy(cluster))) && good;
    good = json_set(config, "users", named_list("user", make_object("exec", plugin, NULL, NULL))) && good;
    good = json_set(config, "contexts", named_list("context", context)) && good;
    return good ? json_text(config, NULL) : NULL;
}

static struct error *read_profile(const struct json *profile, const struct config_workers_from *from,
                                  struct worker_spec *out) {
    const struct config_access_provider *provider = NULL;
    const struct json *access = find_access(profile, from, &provider);
    if (!access)
        return error_new(ERROR_NOT_FOUND, "status.accessProviders: found none of the configured access providers");
    const struct json *cluster = json_get(access, "cluster");
    const char *server = json_string(json_get(cluster, "server"));
    if (!server || !*server)
        return error_new(ERROR_INVALID,
                         "status.accessProviders: %s: cluster.server: found nothing, expected the address of the API "
                         "server",
                         provider->name);
    TRY(worker_object_name(profile, out));
    out->kubeconfig_text = make_kubeconfig(cluster, provider->exec);
    return out->kubeconfig_text ? NULL : error_no_memory();
}

static bool is_on(const struct config_workers_from *from) {
    return from->cluster_profiles;
}

static const char *namespace_of(const struct config_workers_from *from) {
    return from->profile_namespace;
}

const struct worker_source_kind worker_profile_kind = {.name = "ClusterProfile",
                                                       .title = "ClusterProfiles",
                                                       .group = CLUSTER_PROFILE_GROUP,
                                                       .versions = (const char *const[]){"v1alpha1", NULL},
                                                       .plural = "clusterprofiles",
                                                       .part = "status",
                                                       .is_for_others = true,
                                                       .is_on = is_on,
                                                       .namespace_of = namespace_of,
                                                       .read = read_profile};
