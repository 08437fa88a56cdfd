// SPDX-License-Identifier: Apache-2.0
// The host's finalizer on mirrors, MARK_FINALIZER.
#pragma once

#include "core/json/json.h"

#include <stdbool.h>

bool finalizer_is_on(const struct json *mirror);
bool finalizer_put(struct json *mirror); // false: out of memory
// The patch that removes it; NULL: out of memory.
struct json *finalizer_patch_off(const struct json *mirror);
