// SPDX-License-Identifier: Apache-2.0
// Objects beyond maxObjectSize or maxObjectNodes.
#pragma once

#include <stddef.h>

struct engine;
struct object;

// Records the existence of such an object; `object` is taken.
void oversized_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object);
