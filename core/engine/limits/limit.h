// SPDX-License-Identifier: Apache-2.0
// memory.maxWorkloads: how many workloads are taken in. Beyond that a new one is refused, told so once, and taken in
// when there is room again, by listing its kind anew. One that is placed, or has a mirror, is always taken in.
#pragma once

#include "core/engine/engine_internal.h"

#define LIMIT_REMEMBERED ((size_t)10000) // refused ones that are known by uid; the rest is only counted

// A workload that is not known yet; true: it is refused, and is told so.
bool limit_refuses(struct engine *engine, size_t kind, const struct json *object);
// It was deleted, or is no longer delegated.
void limit_forget(struct engine *engine, const char *uid);
// Whether a mirror's workload may be one that was refused.
bool limit_may_have_refused(const struct engine *engine, const char *uid);
