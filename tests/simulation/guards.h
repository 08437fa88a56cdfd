// SPDX-License-Identifier: Apache-2.0
// The shipped guards (core/host/lease/guard_run.h) in the workers, one or two in each, with clocks of their own and
// networks of their own to their API servers; they end and are started again, are stopped, and are cut off. In these
// trials no workload runs twice, unless no guard of its worker can act for longer than docs/fencing.md says.
#pragma once

#include "tests/simulation/trial.h"

struct world_write;

// fenceAfter; 0: without guards.
int64_t guards_after_ns(const struct trial *trial);

bool guards_report(const struct trial *trial); // to the management cluster

struct guards *guards_new(struct trial *trial); // NULL when out of memory; does nothing without plan.guards
void guards_free(struct guards *guards);
int64_t guards_due(const struct trial *trial);
void guards_act(struct trial *trial);
// The cluster was emptied, and is set up again.
void guards_wiped(struct trial *trial, size_t cluster);
void guards_end(struct trial *trial); // no more restarts and outages

// As assign_fences() in core/host/host.c.
void guards_tell_links(struct trial *trial);

// Any write to an object of a trial's kind in a worker was accepted: whether a workload runs twice now.
void guards_written(struct trial *trial, size_t cluster, size_t kind, const struct world_write *write);
