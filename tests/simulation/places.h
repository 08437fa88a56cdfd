// SPDX-License-Identifier: Apache-2.0
// Placement in some trials: a policy, labels and limits of workers, and Jobs that say where they may go. Checks at each
// placement that it was permitted, that no limit is exceeded, and that the policy's own choice was made.
#pragma once

#include "core/engine/event.h"
#include "core/engine/placement/placement.h"
#include "tests/simulation/trial.h"

// In a third of the trials. SIM_PLACES: in all of them.
bool places_wanted(const struct trial *trial);
struct placement_options places_options(const struct trial *trial); // of every trial
// Labels, weight, order and limits of a worker; at the end of the trouble there are no limits.
void places_worker(const struct trial *trial, size_t cluster, struct engine_event *event);
// A new Job may get annotations that say where it may go.
void places_annotate(struct trial *trial, struct json *job);
// What the configuration and, unless `job` is NULL, these annotations of a Job of that name permit.
bool places_permit(const struct trial *trial, size_t cluster, const char *job);
// How often a workload runs elsewhere after a failure, whatever the reason (retryElsewhere); 0: never.
int64_t places_retries(const struct trial *trial);
// The placement `body` names the worker as one that failed the workload. Also checks the names (rules E2 and E4).
bool places_was_retried(struct trial *trial, size_t cluster, const struct json *body);
// onWorkerLost: wait applies there.
bool places_wait(const struct trial *trial, const char *namespace_);
bool places_are_limited(const struct trial *trial); // some worker has maxActive until the end of the trouble

// An attempt is about to be recorded.
void places_check(struct trial *trial, size_t cluster, const struct json *workload, const struct json *body);
