// SPDX-License-Identifier: Apache-2.0
// Faults of networks, servers and the host's own process, in episodes that the seed determines.
#pragma once

#include "tests/simulation/trial.h"

// Requests take servers time: from a server with room for eight at a time to one that takes 5 s for each, one after the
// other.
void faults_set_costs(struct trial *trial);
struct faults *faults_new(struct trial *trial);
int64_t faults_due(const struct trial *trial);
void faults_act(struct trial *trial);
void faults_free(struct faults *faults);
// The host has noticed that the cluster was restored.
void faults_noticed(struct trial *trial, size_t cluster);
void faults_listed(struct trial *trial, size_t cluster, size_t kind); // by the host
// It was restored, and the host has not noticed yet, or not listed the kind since.
bool faults_is_unnoticed(const struct trial *trial, size_t cluster, size_t kind);
bool faults_is_slow(const struct trial *trial, size_t cluster); // as the plan has it, all the time
// It was wiped, and for this process of the host it is another cluster.
bool faults_is_other(const struct trial *trial, size_t cluster);
// Nothing has been wrong with the cluster, the management cluster and the host for so long.
bool faults_are_over(const struct trial *trial, size_t cluster, int64_t calm_ns);
// Ends all faults.
void faults_end(struct trial *trial);
