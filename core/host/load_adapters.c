// SPDX-License-Identifier: Apache-2.0
#include "core/host/load_adapters.h"

#include <stdlib.h>

struct error *load_adapters(const struct config *config, struct problems *problems, struct adapters **out) {
    struct adapter_wanted *wanted = calloc(config->n_adapters + 1, sizeof *wanted);
    if (!wanted)
        return error_no_memory();
    for (size_t i = 0; i < config->n_adapters; i++) {
        const struct config_adapter *adapter = &config->adapters[i];
        wanted[i] = (struct adapter_wanted){.name = adapter->name,
                                            .file = adapter->file,
                                            .file_given = adapter->file_given,
                                            .sha256 = adapter->sha256,
                                            .managed_by = adapter->managed_by,
                                            .settings = adapter->settings,
                                            .line = adapter->line};
    }
    struct adapters_options options = {.directory = config->adapter_directory,
                                       .controller_name = config->controller_name,
                                       .config_path = config->path,
                                       .wanted = wanted,
                                       .n_wanted = config->n_adapters};
    struct error *error = adapters_load(&options, problems, out);
    free(wanted);
    return error;
}
