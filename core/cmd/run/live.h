// SPDX-License-Identifier: Apache-2.0
// What changes while the host runs: the workers, from all sources, and the configuration, which is read again when its
// file changes or when that is asked for. docs/workers.md says what takes effect.
#ifndef WHARF_CMD_LIVE_H
#define WHARF_CMD_LIVE_H

#include "core/config/config.h"
#include "core/host/host.h"

struct live_options {
    struct host *host;
    const struct config *config;   // in use; outlives it
    const char *adapter_directory; // --adapters, or NULL; outlives it
    const char *text;              // reload_text() from before the configuration was read; copied; may be NULL
    // Around each reading again; `used`: it took effect. On a thread of their own.
    void (*reloading)(void *ctx);
    void (*reloaded)(void *ctx, bool used);
    void *ctx;
};

struct live_program;
// Before host_run.
struct error *live_start(const struct live_options *options, struct live_program **out);
// Reads the configuration and the directory of workers again, soon. From any thread.
void live_reload(struct live_program *live);
// Nothing is called afterwards. After host_run, before host_free. NULL is allowed.
void live_stop(struct live_program *live);

#endif
