// SPDX-License-Identifier: Apache-2.0
// Cluster identity: the uid of namespace kube-system.
#pragma once

#include <stddef.h>

#define IDENTITY_ANNOTATION "wharf.dev/cluster-uid" // on a worker's Secret: of the cluster that joined

struct engine;

const char *identity_known(const struct engine *engine, size_t cluster); // see engine_identity
void identity_left(struct engine *engine);                               // a worker has left
// See engine_event.worker; NULL: not known.
void identity_expect(struct engine *engine, size_t cluster, const char *uid, const char *recorded);
