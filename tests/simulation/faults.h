// SPDX-License-Identifier: Apache-2.0
// Trouble: networks, servers and the host's own process, in episodes that the seed decides.
#ifndef WHARF_SIMULATION_FAULTS_H
#define WHARF_SIMULATION_FAULTS_H

#include "tests/simulation/trial.h"

struct faults *faults_new(struct trial *trial);
int64_t faults_due(const struct trial *trial);
void faults_act(struct trial *trial);
void faults_free(struct faults *faults);
// The host noticed that the cluster went back.
void faults_noticed(struct trial *trial, size_t cluster);
// It went back, and the host did not notice yet.
bool faults_is_unnoticed(const struct trial *trial, size_t cluster);
// No trouble any more.
void faults_end(struct trial *trial);

#endif
