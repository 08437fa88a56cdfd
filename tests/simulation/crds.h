// SPDX-License-Identifier: Apache-2.0
// CRDs that a cluster does not have yet, or loses temporarily with all objects of the kind.
#pragma once

#include "tests/simulation/trial.h"

struct crds *crds_new(struct trial *trial);
int64_t crds_due(const struct trial *trial);
void crds_act(struct trial *trial);
// Installs all of them everywhere.
void crds_end(struct trial *trial);
// Since when the management cluster has this kind.
int64_t crds_from_ns(const struct trial *trial, size_t kind);
