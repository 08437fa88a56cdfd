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

// The last status of a mirror, final or not, which the host keeps after the deletion of the mirror until the write of
// the status.
//
// The mirror has a status that the host may have to write once the mirror is gone, or the worker has left.
bool final_status_is_due(const struct mirror *mirror);
// Takes the mirror's text.
void final_status_keep(struct engine *engine, struct entry *entry, struct mirror *mirror);
void final_status_read(struct engine *engine, struct entry *entry);  // an unread one
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

// A shorter hash, never 0.
static inline uint32_t repeat_fold(uint64_t hash) {
    uint32_t folded = (uint32_t)(hash ^ hash >> 32);
    return folded ? folded : 1;
}

// Rule 10. A controller of the management cluster that ignores managedBy and runs delegated workloads there too: the
// controller writes the status, and makes objects for the workload.
//
// A workload is over when the mirror has finished. A final status by another writer ends nothing while the mirror runs:
// the status is disputed until managedFields name the writer.

#define RIVAL_OBJECT 200
#define RIVAL_TEXT 300
#define RIVAL_REST_NS (10 * CLOCK_MINUTE) // without a sign, until the controller counts as stopped

// Of a workload with a status that this host seemed not to have written, at least once.
struct rival {
    struct throttle questions; // about the writer
    int64_t seen_ns;           // of the last sign
    bool asking, suspected;
    bool twin;                 // another host may have written the status
    bool runs;                 // the controller was found, and counts in stats_kind.also_run
    bool told;                 // of the run
    bool end_told;             // of the writer of the final status
    char who[96];              // the manager; "": none found
    char object[RIVAL_OBJECT]; // made by the controller, "JobSet a"; "": none seen
};

// A watch of the management cluster shows an object of a kind: the owner may be a delegated workload.
// `resource`: "pods"; NULL: as in the object.
void rival_seen(struct engine *engine, const struct json *object, const char *resource);
// After the workload's new version; `had`: there was an earlier version.
void rival_observed(struct engine *engine, struct entry *entry, bool had);
// The status became final. False while the mirror runs: the host reports the end once certain.
bool rival_believes_end(struct engine *engine, struct entry *entry, wharf_phase_kind end, bool had);
// Before the answer to a write of the status is read.
void rival_status_answered(struct entry *entry, const struct json *object);
void rival_retried(struct engine *engine, struct entry *entry); // an operator has handled the controller
// The writer or the object that shows that a controller runs the workload in the management cluster. False: none.
bool rival_describe(const struct entry *entry, char out[RIVAL_TEXT]);

// hybrid: suspend, see yield.c.
bool yield_is_wanted(const struct engine *engine, const struct entry *entry);
void yield_set(struct engine *engine, struct entry *entry, bool yields);
// The workload that the mirror is to equal, if not `workload` itself: NULL. Out of memory: NULL, too.
struct json *yield_workload(const struct engine *engine, const struct entry *entry, const struct json *workload);

// The last writers of an object by managedFields, which the host does not store and reads on demand: managers and the
// times of the last writes (RFC 3339, comparable as text). The texts live as long as the object; "" and NULL if none.
struct writers {
    const char *other, *other_at;     // the last manager that is not this host; of a workload, for the status
    const char *own_at, *recorded_at; // this host's last write of the status, and of all other fields
};

enum writer_question {
    WRITER_REPEATS, // which writer keeps reverting a write
    WRITER_STATUS,  // which writer wrote the status
    WRITER_OWNED    // not about writers: the objects that a controller made, see probation.c
};
void probation_answered(struct engine *engine, struct entry *entry, const struct response *response);

// `status`: of the status; else of all other fields. `subresource`: the kind has one for the status.
struct writers writer_read(const struct json *object, bool status, bool subresource);
