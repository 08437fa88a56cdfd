// SPDX-License-Identifier: Apache-2.0
// Stored versions that count as stale: the cluster was restored from a copy of its etcd.
#pragma once

#include "core/engine/engine_internal.h"

// All later objects count as newer.
void stale_version_reset_doc(struct doc *doc);
// The same for a workload; another spec may have the same generation.
void stale_version_reset_workload(struct entry *e);

// A list had an older version of the workload than is known, or the same one.
void stale_version_listed(struct engine *engine, struct entry *entry, const struct object *object);
// The last list is at least as new as the stored workload but had an older version of that workload: etcd was
// restored from a copy, and its versions have passed the former ones. The host has to read the workload.
bool stale_version_must_read(struct engine *engine, struct entry *entry);
