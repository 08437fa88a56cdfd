// SPDX-License-Identifier: Apache-2.0
// The output of `wharf top`.
#pragma once

#include "core/cmd/main.h"

enum top_by { TOP_NAMESPACE, TOP_WORKER, TOP_KIND };

enum top_format { TOP_TABLE, TOP_CSV, TOP_JSON, TOP_YAML };

// Prints the items of the API's accounts (docs/api.md) to stdout.
struct error *top_print(const struct json *items, enum top_by by, enum top_format format);
