// SPDX-License-Identifier: Apache-2.0
// Rule 11 with several replicas of the host (1 to 8 by seed), with the shipped election: one leader, or shards that are
// shared out. Replicas are killed, stopped and go on, end in order, are cut off from the management cluster, see
// clusters late, and their wall clocks differ and jump; all other trouble of a trial meets them as one host. No two may
// write for a workload at a time, nothing is sent without the lease of what it is about, nothing stays in flight
// without it, and afterwards every shard is held, and they are shared out evenly.
#pragma once

#include "tests/simulation/trial.h"

struct crew *crew_new(struct trial *trial); // NULL when out of memory; does nothing without plan.elects
void crew_free(struct trial *trial);
int64_t crew_due(const struct trial *trial);
void crew_act(struct trial *trial); // faults, and processes that start or end
void crew_end(struct trial *trial); // all is well from now on

// Of trial->host.
void crew_started(struct trial *trial); // its process: before anything else of it
void crew_stopped(struct trial *trial);
void crew_deliver(struct trial *trial); // what its connection has received
bool crew_run(struct trial *trial);     // its election; true: there was something to do
int64_t crew_tap_due(const struct trial *trial);
int64_t crew_host_due(const struct trial *trial);
// It may write for the workload. Without plan.elects: always.
bool crew_holds(const struct trial *trial, size_t kind, const char *namespace_, const char *name);

void crew_told(struct trial *trial, const struct engine_event *event); // EVENT_LEASE: the engine is about to be
void crew_command(struct trial *trial, const struct command *command, size_t kind);
void crew_request(struct trial *trial, size_t cluster, const struct http_request *request);
void crew_check(struct trial *trial);
// What is not as it should be in the end; NULL: nothing. Owned by the caller.
char *crew_missing(const struct trial *trial);
