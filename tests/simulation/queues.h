// SPDX-License-Identifier: Apache-2.0
// A second controller in some workers, like a Kueue: Jobs are suspended at creation, resumed within a quota, with a
// node selector and possibly fewer pods, and evicted occasionally. The host resumes nothing that the queue has
// suspended. Each Job has a Workload; the queue resumes whatever is suspended otherwise than by its spec.active.
#pragma once

#include "tests/simulation/trial.h"

struct world_write;

struct queues *queues_new(struct trial *trial); // NULL when out of memory; does nothing without plan.queues
int64_t queues_due(const struct trial *trial);
void queues_act(struct trial *trial);
void queues_end(struct trial *trial); // from now on the quota is unlimited, and nothing is evicted

bool queues_has(const struct trial *trial, size_t cluster);
// The webhook, when a Job is created.
void queues_admit(const struct trial *trial, size_t cluster, struct json *job);
// The host wrote a Job of a worker.
void queues_written(struct trial *trial, size_t cluster, const struct world_write *write);
// The same of a Workload.
void queues_activated(struct trial *trial, const struct world_write *write);
