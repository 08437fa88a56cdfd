// SPDX-License-Identifier: Apache-2.0
// The scores that adapters give the eligible workers of a workload (wharf_module.score).
#pragma once

#include "core/adapter/adapters.h"

// Whether the adapter is asked for workloads of the kind.
bool scorer_rates(const struct scorer *scorer, const struct kind *kind);

// {"name": ..., "labels": {...}}; `labels` is "key=value,key=value", or NULL. NULL: out of memory.
struct json *scores_worker(const char *name, const char *labels);

// Asks one adapter, in a call that was begun for the workload's kind. Returns the scores, owned by the caller, and
// appends "data-locality: w2 100, w1 20"; without an answer NULL, and "data-locality: none (signal 11)".
struct json *scores_ask(struct adapter_call *call, const struct scorer *scorer, const struct json *workload,
                        const struct json *pod_sets, const struct json *workers, struct buffer *out);
