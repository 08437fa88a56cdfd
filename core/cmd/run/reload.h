// SPDX-License-Identifier: Apache-2.0
// A changed configuration: whether it may replace the one in use, and what of it takes effect only after a restart.
#ifndef WHARF_CMD_RELOAD_H
#define WHARF_CMD_RELOAD_H

#include "core/base/buffer.h"
#include "core/base/problems.h"
#include "core/config/config.h"

// The whole file, free(); NULL if it cannot be read.
char *reload_text(const char *path);

// Reads and checks it as `wharf check` does, up to the files of adapters. *out is NULL if there is any problem.
struct error *reload_read(const char *path, const char *adapter_directory, struct problems *problems,
                          struct config **out);

// Appends the keys that differ between the two texts, in YAML, and that take effect only after a restart: "seal,
// serve". Nothing where one cannot be read. Of `adapters` it says nothing: see adapters_extend.
void reload_compare(const char *path, const char *former, const char *text, struct buffer *out);

#endif
