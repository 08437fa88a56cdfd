// SPDX-License-Identifier: Apache-2.0
#include "core/host/startup/load_adapters.h"

// Points into the config; the caller frees `wanted` with free().
static struct error *options_of(const struct config *config, struct adapter_wanted **wanted,
                                struct adapters_options *out) {
    *wanted = calloc(config->n_adapters + 1, sizeof **wanted);
    if (!*wanted)
        return error_no_memory();
    for (size_t i = 0; i < config->n_adapters; i++) {
        const struct config_adapter *adapter = &config->adapters[i];
        (*wanted)[i] = (struct adapter_wanted){.name = adapter->name,
                                               .file = adapter->file,
                                               .file_given = adapter->file_given,
                                               .sha256 = adapter->sha256,
                                               .managed_by = adapter->managed_by,
                                               .hybrid = adapter->hybrid,
                                               .settings = adapter->settings,
                                               .line = adapter->line};
    }
    *out = (struct adapters_options){.directory = config->adapter_directory,
                                     .config_path = config->path,
                                     .wanted = *wanted,
                                     .n_wanted = config->n_adapters};
    return NULL;
}

struct error *load_more_adapters(struct adapters *former, const struct config *config, const char *controller_name,
                                 struct problems *problems, struct buffer *later, struct adapters **out) {
    struct adapter_wanted *wanted = NULL;
    struct adapters_options options;
    TRY(options_of(config, &wanted, &options));
    options.controller_name = controller_name;
    struct error *error =
        former ? adapters_extend(former, &options, problems, later, out) : adapters_load(&options, problems, out);
    free(wanted);
    return error;
}

struct error *load_adapters(const struct config *config, struct problems *problems, struct adapters **out) {
    return load_more_adapters(NULL, config, config->controller_name, problems, NULL, out);
}
