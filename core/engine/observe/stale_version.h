// SPDX-License-Identifier: Apache-2.0
// What is known is no longer newer than what a cluster has: it was restored from a copy of its etcd.
#ifndef WHARF_ENGINE_STALE_VERSION_H
#define WHARF_ENGINE_STALE_VERSION_H

#include "core/engine/engine_internal.h"

// Everything seen from now on counts as newer.
void stale_version_reset_doc(struct doc *doc);
// The same of a workload; another spec may have the same generation.
void stale_version_reset_workload(struct entry *e);

// A list had an older version of the workload than is known, or the same one.
void stale_version_listed(struct engine *engine, struct entry *entry, const struct object *object);
// The last list is not older than what is known of the workload, but what it had of it is: etcd was restored from a
// copy, and its versions have passed the former ones. The workload is to be read.
bool stale_version_must_read(struct engine *engine, struct entry *entry);

#endif
