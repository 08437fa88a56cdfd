// SPDX-License-Identifier: Apache-2.0
// Rule 11: in some trials the host's work is divided into shards, and it holds the lease of each for a while only. The
// leases are given and taken as core/host/lease/election.c would; what is written without one is a violation.
#pragma once

#include "tests/simulation/trial.h"

struct leases *leases_new(struct trial *trial); // NULL when out of memory; does nothing without plan.shards
void leases_free(struct leases *leases);
int64_t leases_due(const struct trial *trial);
void leases_act(struct trial *trial);
void leases_end(struct trial *trial);     // from now on all are held
void leases_started(struct trial *trial); // a process of the host: it holds none yet

struct gates *leases_gates(const struct trial *trial); // NULL: none
// Some shard is not held: its workloads wait.
bool leases_missing(const struct trial *trial);
// All are held, and none was renewed late or taken anew for that long: the host has had time to act on them.
bool leases_are_settled(const struct trial *trial, int64_t calm_ns);
// The engine has decided to send a write; the cluster_io sends a request.
void leases_command(struct trial *trial, const struct command *command);
void leases_request(struct trial *trial, const struct http_request *request);
