// SPDX-License-Identifier: Apache-2.0
// Workers that join, are cordoned and drained, leave by each policy and come back, and get another connection, as
// core/host/host_clusters.c and io/host_threads.c do it.
#pragma once

#include "tests/simulation/trial.h"

struct members *members_like(const struct members *first); // NULL when out of memory; before anything has happened
struct members *members_new(struct trial *trial);
int64_t members_due(const struct trial *trial);
void members_act(struct trial *trial);
// All workers are there, and get new work.
void members_end(struct trial *trial);

// A process of the host starts with the workers that are configured, or ends.
void members_started(struct trial *trial);

// Commands for it are delivered.
bool members_has_wire(const struct trial *trial, size_t cluster);

// The engine is about to be told.
void members_told(struct trial *trial, size_t cluster, enum worker_policy policy);
// It has been told that the worker is there; the management cluster always is.
bool members_knows(const struct trial *trial, size_t cluster);
enum worker_policy members_policy(const struct trial *trial, size_t cluster); // as it was told

// The settings of a worker in the configuration have changed.
void members_tell_again(struct trial *trial, size_t cluster);
