// SPDX-License-Identifier: Apache-2.0
// A ClusterProfile (multicluster.x-k8s.io/v1alpha1, KEP 4322 and 5339): the status has the address and the CA, the
// credentials come from the exec plugin that the configuration names for the access provider.
#include "core/base/text.h"
#include "core/host/sources/worker_objects.h"
#include "core/host/sources/worker_source.h"
#include "core/kube/object/object.h"

#include <stdlib.h>
#include <string.h>

#define NAME "cluster" // of all entries in the kubeconfig

static const struct json *find_named(const struct json *list, const char *name) {
    for (const struct json *item = json_first(list); item; item = json_next(item))
        if (text_equal(json_string(json_get(item, "name")), name))
            return item;
    return NULL;
}

// credentialProviders is the deprecated name of accessProviders, which wins.
static const struct json *find_access(const struct json *profile, const struct config_access_provider *providers,
                                      size_t n_providers, const struct config_access_provider **provider) {
    static const char *const fields[] = {"accessProviders", "credentialProviders"};
    for (size_t p = 0; p < n_providers; p++)
        for (size_t f = 0; f < 2; f++) {
            const struct json *access = find_named(json_path(profile, "status", fields[f], NULL), providers[p].name);
            if (!access)
                continue;
            *provider = &providers[p];
            return access;
        }
    return NULL;
}

// [{"name": NAME, KEY: VALUE}]; takes the value.
static struct json *named_list(const char *key, struct json *value) {
    struct json *list = json_new_array(), *item = json_new_object();
    bool good = list && item && json_set(item, "name", json_new_string(NAME));
    good = (item ? json_set(item, key, value) : (json_free(value), false)) && good;
    good = (list ? json_append(list, item) : (json_free(item), false)) && good;
    if (good)
        return list;
    json_free(list);
    return NULL;
}

static struct json *make_user(const struct json *exec) {
    struct json *user = json_new_object(), *copy = json_copy(exec);
    bool good =
        copy && (json_get(copy, "interactiveMode") || json_set(copy, "interactiveMode", json_new_string("Never")));
    good = (user ? json_set(user, "exec", copy) : (json_free(copy), false)) && good;
    if (good)
        return user;
    json_free(user);
    return NULL;
}

static struct json *make_context(void) {
    struct json *context = json_new_object();
    if (context && json_set(context, "cluster", json_new_string(NAME)) &&
        json_set(context, "user", json_new_string(NAME)))
        return context;
    json_free(context);
    return NULL;
}

static char *make_kubeconfig(const struct json *cluster, const struct json *exec) {
    AUTO_JSON config = json_new_object();
    bool good = config && json_set(config, "apiVersion", json_new_string("v1")) &&
                json_set(config, "kind", json_new_string("Config")) &&
                json_set(config, "current-context", json_new_string(NAME)) &&
                json_set(config, "clusters", named_list("cluster", json_copy(cluster))) &&
                json_set(config, "users", named_list("user", make_user(exec))) &&
                json_set(config, "contexts", named_list("context", make_context()));
    return good ? json_text(config, NULL) : NULL;
}

static struct error *read_profile(const struct json *profile, const struct config_access_provider *providers,
                                  size_t n_providers, struct worker_spec *out) {
    const struct config_access_provider *provider = NULL;
    const struct json *access = find_access(profile, providers, n_providers, &provider);
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

static struct error *read_checked(const struct json *profile, const struct config_workers_from *from,
                                  struct worker_spec *out) {
    *out = (struct worker_spec){.source = SOURCE_CLUSTER_PROFILE,
                                .origin_text = worker_object_text("ClusterProfile", profile)};
    struct error *error =
        out->origin_text ? read_profile(profile, from->providers, from->n_providers, out) : error_no_memory();
    if (error)
        worker_spec_clear(out);
    return error;
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
                                                       .version = "v1alpha1",
                                                       .plural = "clusterprofiles",
                                                       .part = "status",
                                                       .is_for_others = true,
                                                       .is_on = is_on,
                                                       .namespace_of = namespace_of,
                                                       .read = read_checked};
