// SPDX-License-Identifier: Apache-2.0
// workersFrom: {directory, secrets, clusterProfiles: {namespace, accessProviders}}.
#include "core/base/text.h"
#include "core/config/config_reader.h"

#include <stdlib.h>
#include <string.h>

static void provider_clear(struct config_access_provider *provider) {
    free(provider->name);
    json_free(provider->exec);
    *provider = (struct config_access_provider){.name = NULL};
}

void config_workers_from_clear(struct config_workers_from *from) {
    for (size_t i = 0; i < from->n_providers; i++)
        provider_clear(&from->providers[i]);
    free(from->providers);
    free(from->directory);
    free(from->profile_namespace);
    *from = (struct config_workers_from){.directory = NULL};
}

// The credentials code reads the rest like the exec entry of a kubeconfig.
static void read_exec(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    if (!json_is(value, JSON_OBJECT)) {
        config_wrong(reader, place, value, "a mapping, as `exec` in a kubeconfig");
        return;
    }
    static const char *const keys[] = {"apiVersion", "command"};
    for (size_t i = 0; i < CONFIG_COUNT(keys); i++) {
        struct config_place at = {.up = place, .key = keys[i]};
        const struct json *member = json_get(value, keys[i]);
        if (!member)
            config_problem(reader, place, "%s: found nothing, expected a value: it is required", keys[i]);
        else
            (void)config_text(reader, &at, member, "a string");
    }
    struct json **exec = target;
    json_free(*exec);
    *exec = json_copy(value);
    reader->no_memory |= !*exec;
}

static void read_provider(struct config_reader *reader, const struct config_place *place, const struct json *value) {
    static const struct config_field fields[] = {
        {"name", config_read_text, offsetof(struct config_access_provider, name), true,
         .help = "As in ClusterProfiles."},
        {"execConfig", read_exec, offsetof(struct config_access_provider, exec), true,
         .help = "As exec in a kubeconfig; credentialPlugins must allow the command."},
    };
    struct config_workers_from *from = &reader->config->workers_from;
    struct config_access_provider *provider =
        config_grow(reader, &from->providers, from->n_providers, sizeof(*provider));
    if (!provider)
        return;
    provider->line = config_line(reader, place);
    config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), provider);
    if (!provider->name || !provider->exec) {
        provider_clear(provider);
        return;
    }
    for (size_t i = 0; i < from->n_providers; i++)
        if (strcmp(from->providers[i].name, provider->name) == 0)
            config_problem(reader, place, "duplicate name \"%s\": line %zu has it already", provider->name,
                           from->providers[i].line);
    from->n_providers++;
}

static void read_providers(struct config_reader *reader, const struct config_place *place, const struct json *value,
                           void *target) {
    (void)target;
    config_each(reader, place, value, "access provider", read_provider);
}

static void read_cluster_profiles(struct config_reader *reader, const struct config_place *place,
                                  const struct json *value, void *target) {
    static const struct config_field fields[] = {
        {"namespace", config_read_text, offsetof(struct config_workers_from, profile_namespace), true,
         .help =
             "Namespace of the ClusterProfiles. The right to create ClusterProfiles there is the right to add workers.",
         CONFIG_LABEL},
        {"accessProviders", read_providers, 0, true,
         .help = "Where credentials come from; the first one that a ClusterProfile offers is used."},
    };
    struct config_workers_from *from = target;
    from->cluster_profiles = config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), from);
}

void config_read_workers_from(struct config_reader *reader, const struct config_place *place, const struct json *value,
                              void *target) {
    static const struct config_field fields[] = {
        {"directory", config_read_path, offsetof(struct config_workers_from, directory), false,
         .help = "Each NAME.kubeconfig or NAME.yaml there is a worker."},
        {"secrets", config_read_bool, offsetof(struct config_workers_from, secrets), false,
         .help = "Default false. Secrets labelled wharf.dev/worker=true in the host's namespace."},
        {"clusterProfiles", read_cluster_profiles, 0, false,
         .help = "ClusterProfile objects (multicluster.x-k8s.io) of the management cluster."},
    };
    struct config_workers_from *from = target;
    size_t known = reader->problems->count;
    if (config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), from) && known == reader->problems->count &&
        !from->directory && !from->secrets && !from->cluster_profiles)
        config_problem(reader, place,
                       "found no source of workers, expected a directory, secrets: true or clusterProfiles");
}

void config_check_workers_from(struct config_reader *reader, const struct config_place *place) {
    const struct json *workers = json_get(reader->yaml.value, "workers");
    if (reader->config->workers_from.line == 0 && (!workers || json_is(workers, JSON_NULL)))
        config_problem(reader, place,
                       "workers: found nothing, expected a value: it is required where there is no workersFrom");
}
