// SPDX-License-Identifier: Apache-2.0
// A changed configuration: whether it may replace the one in use, and which keys take effect only after a restart. The
// workers of all sources, which change while the host runs. docs/workers.md has the rules.
#pragma once

#include "core/base/buffer.h"
#include "core/base/problems.h"
#include "core/config/config.h"
#include "core/host/host.h"

// The whole file, free(); NULL if unreadable.
char *reload_text(const char *path);

// Appends the keys that differ between the two texts, in YAML, and that take effect only after a restart: "seal,
// serve". Nothing where one cannot be read. Of `adapters` it says nothing: see adapters_extend.
void reload_compare(const char *path, const char *former, const char *text, struct buffer *out);

struct reload_options {
    struct host *host;
    const struct config *config;   // in use; outlives it
    const char *adapter_directory; // --adapters, or NULL; outlives it
    const char *text;              // reload_text() from before the configuration was read; copied; may be NULL
    // Around each reload; `used`: the new configuration took effect. On a separate thread.
    void (*reloading)(void *ctx);
    void (*reloaded)(void *ctx, bool used);
    void *ctx;
};

struct reload;
// Before host_run.
struct error *reload_start(const struct reload_options *options, struct reload **out);
// Reads the configuration and the directory of workers again, soon. From any thread.
void reload_now(struct reload *reload);
// Nothing is called afterwards. After host_run, before host_free. NULL is allowed.
void reload_stop(struct reload *reload);
