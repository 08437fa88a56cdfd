// SPDX-License-Identifier: Apache-2.0
// Mirrors as other parts of the engine see them: updates and checks of workloads, lost marks, dropped fields, and
// suspended mirrors.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror.h"

static inline const char *mirror_cluster(const struct engine *engine, const struct mirror *mirror) {
    return engine->clusters[mirror->facts.cluster].name;
}

// The mirror has this record, which the function takes.
static inline void mirror_keep_record(struct mirror *mirror, char *record) {
    free(mirror->record);
    mirror->record = record;
    mirror->record_unsure = false;
}

bool act_update(struct engine *engine, struct entry *entry, struct mirror *mirror);
// Checks a workload with the adapter, and the size of the mirror, before the host writes anything. False: rejected, and
// reported.
bool act_accepts(struct engine *engine, struct entry *entry);

// The first mark that the stored mirror lacks; NULL: none. `sealed`: the seal is valid.
const char *marks_lost(struct engine *engine, const struct entry *entry, struct mirror *mirror, uint32_t attempt,
                       bool sealed);
// Treats the object as the workload's mirror, to delete.
void marks_adopt(struct entry *entry, struct mirror *mirror, uint32_t attempt);

// Dropped fields: the worker does not keep all fields of the mirror, because of the API server (an older version of the
// kind, a feature that is off) or of a policy. The host compares the sent object with the answer to the create: only
// absent fields count, not added or changed ones. No mirror runs without a field that placement.requireFields names:
// the host tries the create first without storing (dryRun). By default these are the fields that change the scheduling,
// and the host tries each combination of them once, until the watch ends.

// The number of fields that the server drops if it has stored, or would store, the mirror like this. Makes the mirror
// anew only if the server may have dropped some. DROPPED_UNKNOWN: the adapter has no result yet.
#define DROPPED_UNKNOWN SIZE_MAX
size_t dropped_of(struct engine *engine, struct entry *entry, const struct json *stored, bool only_scheduling,
                  struct buffer *out);

enum require_fields dropped_required(const struct engine *engine, const struct entry *entry);
// The host tries the create before: the worker may drop required fields.
bool dropped_must_try(struct engine *engine, const struct entry *entry, const struct mirror *mirror);
// The worker has stored the mirror, with all required fields or without `some`.
void dropped_note(struct engine *engine, const struct entry *entry, const struct mirror *mirror, bool some);

// A suspended mirror of a workload that is to run, if the worker did not suspend the mirror: the host did, or fails to
// resume the mirror. The workload waits for that (WAITING_RESUME): `wharf explain` says so, and an Event if the wait
// takes longer than a minute. docs/events.md has SuspendedInWorker and QueuedInWorker for the other mirrors.
void unresumed_read(const struct engine *engine, const struct entry *entry, struct mirror *mirror,
                    const struct json *object);

// The cause of the wait, as a sentence without an end.
void unresumed_put(const struct engine *engine, const struct entry *entry, struct buffer *out);
