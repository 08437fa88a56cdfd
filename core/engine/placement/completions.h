// SPDX-License-Identifier: Apache-2.0
// How fast workers finish workloads. A worker that ends every workload at once, by a false status or a failure, never
// has active ones, and a policy that counts active workloads alone would choose that worker always: so each workload
// counts for at least a minute. A worker that is far faster than the others with workloads of one kind and namespace is
// suspect: the host reports the worker, and each of its workloads counts for as long as one takes in the others. Only
// workloads with a choice of workers matter. The host measures the times, from the create or the start to the end.
#pragma once

#include <stddef.h>

struct engine;
struct entry;

// The host sends the create; the mirror runs; the workload has finished and still counts as active.
void completions_created(const struct engine *engine, struct entry *entry);
void completions_started(const struct engine *engine, struct entry *entry, size_t cluster);
void completions_finished(struct engine *engine, struct entry *entry);
