// SPDX-License-Identifier: Apache-2.0
// The section `credentialPlugins`: the commands that kubeconfigs may run.
#include "core/base/text.h"
#include "core/config/config_reader.h"

#include <string.h>

// Searches PATH for a name at each use; a path is below the configuration's folder unless absolute.
static void read_command(struct config_reader *reader, const struct config_place *place, const struct json *value) {
    struct exec_policy *policy = &reader->config->credential_plugins;
    const char *text = config_text(reader, place, value, "the name of a program, or its path");
    if (!text || !config_is_path(reader, place, text))
        return;
    char **command = config_grow(reader, &policy->allow, policy->n_allow, sizeof *command);
    if (!command)
        return;
    if (strchr(text, '/'))
        *command = config_absolute(reader, reader->directory, text);
    else
        config_keep(reader, command, text);
    policy->n_allow += *command ? 1 : 0;
}

static void read_allow(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    (void)target;
    if (json_is(value, JSON_ARRAY) && json_size(value) == 0)
        return; // none, as without the section
    config_each(reader, place, value, "credential plugin", read_command);
}

static void read_variable(struct config_reader *reader, const struct config_place *place, const struct json *value) {
    struct exec_policy *policy = &reader->config->credential_plugins;
    static const char expected[] = "the name of an environment variable";
    const char *text = config_text(reader, place, value, expected);
    if (text && strchr(text, '='))
        config_problem(reader, place, "found \"%s\", expected %s", text, expected);
    char **name = text ? config_grow(reader, &policy->env, policy->n_env, sizeof *name) : NULL;
    if (!name)
        return;
    config_keep(reader, name, text);
    policy->n_env += *name ? 1 : 0;
}

static void read_env(struct config_reader *reader, const struct config_place *place, const struct json *value,
                     void *target) {
    (void)target;
    reader->config->credential_plugins.env_is_given = true;
    if (!json_is(value, JSON_ARRAY) || json_size(value) > 0)
        config_each(reader, place, value, "environment variable", read_variable);
}

void config_read_credential_plugins(struct config_reader *reader, const struct config_place *place,
                                    const struct json *value, void *target) {
    static const struct config_field fields[] = {
        {"allow", read_allow, 0, true,
         .help = "Names, which are searched in PATH, or absolute paths. A kubeconfig may run nothing else."},
        {"env", read_env, 0, false,
         .help =
             "Environment variables that a kubeconfig in a Secret may set for them. Default: the profile, region and "
             "credentials of AWS and Azure (docs/credentials.md)."},
    };
    config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), target);
}
