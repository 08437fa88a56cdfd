// SPDX-License-Identifier: Apache-2.0
// Bounds: the number of workloads, orphans (mirrors without a workload), large and oversized mirrors. And
// kinds that the host pauses in one cluster, with the reason in the log and a metric: in the management cluster,
// because of a sudden lack of delegated workloads or of failed writes of the status; in a worker, because of too many
// orphans.
#pragma once

#include "core/engine/engine_internal.h"

// Workloads: memory.maxWorkloads. Beyond the limit the host refuses a new workload, reports the refusal once, and lists
// the kind again when other workloads are gone. The host always accepts a workload with a placement or a mirror.

#define LIMIT_REMEMBERED ((size_t)10000) // refused workloads known by uid; the host only counts the rest

// For a new workload; true: refused, and reported.
bool limit_refuses(struct engine *engine, size_t kind, const struct json *object);
// The workload is gone, or no longer delegated.
void limit_forget(struct engine *engine, const char *uid);
// Whether the workload of a mirror may be a refused one.
bool limit_may_have_refused(const struct engine *engine, const char *uid);

// Orphans.

// The form of an orphan for the store: a stub with the name and the marks, or `object` itself. Takes `object`.
struct object *orphans_by_name(const struct engine *engine, size_t cluster, size_t kind, struct object *object,
                               bool *name_only);
void orphans_forget(struct engine *engine, struct mirror *mirror); // the worker left
// An event showed the deletion or the replacement of the workload with this uid.
void orphans_seen_deleted(struct engine *engine, struct entry *entry, const char *uid);
// Whether this uid is the last one of the name with such an event.
bool orphans_was_deleted(const struct entry *entry, const char *uid);

// Large mirrors: the worker decides how large a status is, and the engine stores the status. The mirrors of one worker
// share a limit. Beyond the limit a mirror counts as oversized until other mirrors shrink.

#define LARGE_MIRRORS_ALLOWED ((size_t)32 << 10) // bytes by which a mirror may exceed its workload without counting
#define LARGE_MIRRORS_SHARE ((size_t)6 << 10)    // bytes of the limit for each of max_orphans, which is a memory budget

// Replaces an object of a worker by a stub if the object exceeds the limit.
void large_mirrors_bound(struct engine *engine, size_t cluster, size_t kind, struct object **object);

// Pauses.

// Whether the host keeps one more orphan of the cluster.
bool pause_has_room(struct engine *engine, size_t cluster, size_t kind);
// One orphan less: lists the ignored orphans once the number has fallen far enough.
void pause_orphan_gone(struct engine *engine, size_t cluster);
void pause_limit_grew(struct engine *engine); // the limit of orphans is higher from now on; in a step
// A workload is no longer delegated (`manager` NULL: the field is unset). Called before the host forgets the workload.
void pause_disowned(struct engine *engine, struct entry *entry, const char *manager);
void pause_owned(struct engine *engine, size_t kind);                  // an event showed a delegated workload
void pause_listed(struct engine *engine, size_t cluster, size_t kind); // a list is complete
void pause_set_field(struct engine *engine, size_t kind, bool lacks);  // EVENT_FIELD
void pause_status_sent(struct engine *engine, size_t kind);
void pause_status_answered(struct engine *engine, size_t kind, enum reason reason);
void pause_adapter(struct engine *engine, size_t kind, bool on); // see aside.h

size_t limits_count_workloads(const struct engine *engine, size_t kind);
