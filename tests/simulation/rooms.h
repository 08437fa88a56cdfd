// SPDX-License-Identifier: Apache-2.0
// Capacity in some trials: workers have nodes and pods, a scheduler binds them, Jobs ask for cpu and GPUs, somebody
// else runs pods there too, and the host, which is restarted at times, watches what is left. Checked by the nodes and
// pods there are: at each placement all pods fit, and what waits is placed once there is room in every worker. In two
// of three of them (trial_plan.rough) there is every other trouble too, nodes are cordoned, removed and come back, and
// users interfere; then it is checked where the host knows what is left.
#pragma once

#include "core/engine/event.h"
#include "tests/simulation/trial.h"

struct rooms;
// In one trial of twelve. SIM_CAPACITY: in all of them; SIM_ROUGH: with all that is wrong.
void rooms_choose(struct trial *trial);

struct rooms *rooms_new(struct trial *trial); // NULL when out of memory; does nothing without plan.capacity
void rooms_free(struct rooms *rooms);
int64_t rooms_due(const struct trial *trial);
void rooms_act(struct trial *trial);
void rooms_end(struct trial *trial); // the others leave

// A new Job gets requests.
void rooms_ask(struct trial *trial, struct json *job);
// An attempt is about to be recorded.
void rooms_check(struct trial *trial, size_t cluster, const struct json *workload, const struct json *body);
// A worker rejected the mirror of a Job: its pods are not to come.
void rooms_rejected(struct trial *trial, size_t cluster, const char *space, const char *name);
// Once the trouble is over, every few seconds.
void rooms_check_waiting(struct trial *trial);

void rooms_told(struct trial *trial, const struct engine_event *event); // EVENT_CAPACITY
