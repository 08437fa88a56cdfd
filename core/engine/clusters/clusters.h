// SPDX-License-Identifier: Apache-2.0
// The identity of a cluster.
#pragma once

#include "core/base/error.h"

#define IDENTITY_ANNOTATION "wharf.dev/cluster-uid" // on a worker's Secret: the uid of the cluster that joined

struct engine;

// A worker's uid, from the Secret and from the host's records (engine_event.worker); NULL: unknown.
void identity_expect(struct engine *engine, size_t cluster, const char *uid, const char *recorded);
void identity_left(struct engine *engine); // a worker left
