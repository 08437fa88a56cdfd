// SPDX-License-Identifier: Apache-2.0
// The Job controller (with the TTL controller), the CronJob controller and those of claims: called by the store when an
// object of theirs changes, and by the cluster's clock.
#pragma once

#include "tests/world/model.h"

void world_controllers_changed(struct stored *object);
void world_controllers_gone(struct stored *object);
void world_controllers_step(struct world_cluster *cluster);

// jobs.c
void world_jobs_sync(struct stored *job);
void world_jobs_forget(struct stored *job);

// The pods of Jobs that lack something may start, since there is a new object.
void world_jobs_wake(struct world_cluster *cluster, int64_t at_ns);

// cronjobs.c
void world_cronjobs_sync(struct stored *cronjob);

// claims.c
void world_claims_sync(struct stored *claim);

// Schedules a sync of the object.
void world_controllers_at(struct stored *object, int64_t at_ns);
// An annotation of the object, or of `template` in its spec; NULL if absent.
const char *world_annotation(const struct json *value, const char *name);

// Writes a status as the object's controller: validated like any other; takes `status`. Rejections are counted: false.
bool world_write_status(struct stored *object, struct json *status);
// Binds a pod to a node, as the scheduler.
void world_bind_pod(struct stored *pod, const char *node);
// Creates an object as a controller. Returns the HTTP status.
int world_create_internal(struct kind *kind, const char *namespace_, struct json *object);
