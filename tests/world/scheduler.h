// SPDX-License-Identifier: Apache-2.0
// The scheduler of a cluster that serves nodes (world_register): binds pods of Jobs to nodes that have their labels and
// room for their requests. Without nodes pods run as they are.
#pragma once

#include "tests/world/model.h"

// False: it has to wait, since no node has room now.
bool scheduler_bind(struct stored *pod);
