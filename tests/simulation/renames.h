// SPDX-License-Identifier: Apache-2.0
// Workers where namespaces have other names (SIM_MAPPED=1). The host has the map below for each worker; between its
// cluster_io and the simulated network, the names are changed back in requests, and changed in answers. So the worker's
// objects are in the workloads' namespaces, and all rules hold as they are.
#pragma once

#include "core/kube/transport/transport.h"

#define RENAMES_MAP "*=x-{namespace}\n"

bool renames_are_wanted(void);

struct trial;
// Takes the inner transport. A request for a namespace without a changed name fails the trial. NULL: out of memory.
struct transport *renames_transport(struct trial *trial, struct transport *inner);
