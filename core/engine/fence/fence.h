// SPDX-License-Identifier: Apache-2.0
// Fencing, as far as the host's decisions are concerned (docs/fencing.md): when what runs in an unreachable worker is
// certain to have been stopped by the guard there, and whether the guard of a reachable one stops what the host starts.
#pragma once

#include "core/engine/fence/fence_types.h"

#include <stddef.h>

struct engine;
struct engine_event;
struct entry;
struct json;
struct mirror;

uint32_t engine_fence_epoch(const struct engine *engine);

// The shards whose Leases for the worker's guard this host renews, if fencing is enabled: it holds them, the worker is
// identified and not refused, and some kind is followed there. Without shards, bit 0.
uint64_t engine_renews(const struct engine *engine, size_t cluster);

// Reads from a mirror whether the guard suspended it.
void fence_read_mirror(struct engine *engine, struct mirror *mirror, const struct json *object);
