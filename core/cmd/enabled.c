// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/enabled.h"

#include "core/base/text.h"
#include "core/cmd/setup.h"
#include "core/host/check/rights.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void enabled_free(struct enabled *enabled) {
    adapters_free(enabled->adapters);
    config_free(enabled->config);
    *enabled = (struct enabled){0};
}

const char *enabled_namespace(const struct enabled *enabled, const char *given) {
    const char *own = enabled->config->namespace_;
    return given ? given : own ? own : RIGHTS_NAMESPACE;
}

static struct error *enable_names(struct config *config, const char *names) {
    struct error *error = NULL;
    for (const char *at = names; !error && *at != '\0';) {
        size_t len = strcspn(at, ",");
        AUTO_TEXT name = strndup(at, len);
        if (!name)
            return error_no_memory();
        if (!text_is_dns_label(name))
            return error_new(ERROR_USAGE, "--adapters-enabled: found \"%s\", expected names like job,jobset", names);
        error = config_enable(config, name);
        at += len + (at[len] == ',' ? 1 : 0);
    }
    return error;
}

// Without a file.
static struct error *make_config(const char *adapter_directory, const char *names, struct enabled *out) {
    AUTO_TEXT here = getcwd(NULL, 0);
    AUTO_TEXT directory = here && adapter_directory ? text_resolve_path(here, adapter_directory) : NULL;
    if (!here || (adapter_directory && !directory))
        return error_new(ERROR_IO, "cannot read the current directory");
    struct error *error = config_without_file("--adapters-enabled", directory, &out->config);
    return error ? error : enable_names(out->config, names);
}

struct error *enabled_load(const char *config_path, const char *adapter_directory, const char *names,
                           struct enabled *out) {
    *out = (struct enabled){.named = config_path};
    if (config_path && names)
        return error_new(ERROR_USAGE, "found --config and --adapters-enabled, expected one of them");
    if (!config_path && !names && access(ENABLED_DEFAULT_FILE, F_OK) == 0)
        config_path = ENABLED_DEFAULT_FILE;
    out->from_file = config_path;
    out->assumed = !config_path && !names;
    struct problems problems = {.count = 0};
    struct error *error = config_path ? setup_config(config_path, adapter_directory, &problems, &out->config)
                                      : make_config(adapter_directory, names ? names : "job", out);
    if (!error && out->config)
        error = setup_adapters(out->config, &problems, &out->adapters);
    size_t count = main_print_problems(&problems);
    problems_free(&problems);
    if (!error && (count > 0 || !out->adapters))
        error = error_new(ERROR_INVALID, "the adapters could not be loaded");
    if (error)
        enabled_free(out);
    return error;
}
