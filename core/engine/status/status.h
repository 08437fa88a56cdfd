// SPDX-License-Identifier: Apache-2.0
// The status of a workload: writes, bounds, repeats, the final status of a deleted mirror, and the owner of the
// annotations.
#pragma once

#include "core/engine/engine_internal.h"

struct request_in_flight;
struct response;

// Forgets earlier writes of the status.
void status_forget_writes(struct workload *workload);
// The mirror changed: the API server may accept a status after an earlier rejection.
void status_mirror_changed(struct workload *workload);
// The API server rejected the status: the host may send a different one sooner.
void status_denied(struct engine *engine, struct entry *entry, uint64_t patch_hash);
// After an accepted status patch; takes the object. If the status is as intended and nothing else changed, the status
// is no longer due; otherwise the next comparison shows whether the server keeps the status.
void status_accepted(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                     struct object *object);

// The host bounds the writes that a worker can cause in the management cluster: for each workload the number, and for
// each worker the bytes, which etcd keeps until the next compaction. Nothing is lost: the host writes the newest status
// once there is a token. The first status of an attempt and the final one do not wait.
//
// A status, or a further attempt, was sent.
void status_budget_sent(struct engine *engine, struct entry *entry);
// The API server stored the write, as far as the host knows, as an object of `size` bytes.
void status_budget_stored(struct engine *engine, const struct entry *entry, size_t size);
void status_budget_copied(struct entry *entry, uint32_t attempt, bool is_final); // after an accepted status
void status_budget_facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts);

// The final status of a mirror, which the host keeps after the deletion of the mirror until the write of the status.
//
// Whether a mirror's status is final. `phase` (may be NULL) is the adapter's, without texts.
bool final_status_reached(const struct engine *engine, const struct entry *entry, const struct json *mirror,
                          wharf_phase *phase);
void final_status_keep(struct engine *engine, struct entry *entry, struct mirror *mirror); // takes the mirror's text
void final_status_put(struct entry *entry, struct shared_text text); // takes the text of the former workload
void final_status_drop(struct entry *entry);

// The owner of a workload's annotations. Authors can write annotations too, so annotations that this process has
// neither written nor checked prove nothing: the host follows a mirror that such annotations name, but creates none
// where it would not place a new workload (decide_placed.c), and the workload makes no worker full.
//
// This process wrote the annotations, or has sent a create for the placement.
bool own_record(const struct entry *entry);
// The host accepts the worker and the attempt that the annotations name. The workload counts as active there.
void own_record_accept(struct engine *engine, struct entry *entry);

#define RETRY_REST_NS CLOCK_SECOND // between two retries of a workload

// Ends all delays of the mirror, as annotation wharf.dev/retry does for the mirrors and the workload.
void retry_mirror(struct mirror *mirror);

// Writes repeated although their input has not changed wait longer each time (throttle.h).
//
// The earliest time to send the same update again, and whether the host may write the same status now.
int64_t repeat_update_at_ns(struct engine *engine, struct entry *entry, struct mirror *mirror);
bool repeat_may_write(struct engine *engine, struct entry *entry, uint32_t source);
uint32_t repeat_source(const struct entry *entry, const struct json *mirror); // hash of the inputs of a status
// The host has sent a further attempt. True: such attempts are too frequent, which the host has reported.
bool repeat_placed(struct engine *engine, struct entry *entry);
void repeat_conflict(struct entry *entry, const struct request_in_flight *request);
void repeat_nothing_to_write(struct entry *entry, uint64_t wanted);
void repeat_other_host(struct engine *engine, struct entry *entry); // another host wrote the status of the workload
void repeat_writer_answered(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                            const struct response *response);

// A shorter hash, never 0.
static inline uint32_t repeat_fold(uint64_t hash) {
    uint32_t folded = (uint32_t)(hash ^ hash >> 32);
    return folded ? folded : 1;
}
