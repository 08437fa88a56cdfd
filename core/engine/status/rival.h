// SPDX-License-Identifier: Apache-2.0
// Rule 10. A controller of the management cluster that ignores managedBy and runs delegated workloads there too: the
// controller writes the status, and makes objects for the workload.
//
// A workload is over when the mirror has finished. A final status by another writer ends nothing while the mirror runs:
// the status is disputed until managedFields name the writer.
#pragma once

#include "core/engine/engine_internal.h"

struct request_in_flight;

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
void rival_seen(struct engine *engine, const struct json *object);
// After the workload's new version; `had`: there was an earlier version.
void rival_observed(struct engine *engine, struct entry *entry, bool had);
// The status became final. False while the mirror runs: the host reports the end once certain.
bool rival_believes_end(struct engine *engine, struct entry *entry, wharf_phase_kind end, bool had);
// Before the answer to a write of the status is read.
void rival_status_answered(struct entry *entry, const struct json *object);
void rival_retried(struct engine *engine, struct entry *entry); // an operator has handled the controller
// Exactly the intended status is there, by another host or a rival.
void rival_suspect_twin(struct entry *entry);
// The writer or the object that shows that a controller runs the workload in the management cluster. False: none.
bool rival_describe(const struct entry *entry, char out[RIVAL_TEXT]);

// The last writers of an object by managedFields, which the host does not store and reads on demand: managers and the
// times of the last writes (RFC 3339, comparable as text). The texts live as long as the object; "" and NULL if none.
struct writers {
    const char *other, *other_at;     // the last manager that is not this host; of a workload, for the status
    const char *own_at, *recorded_at; // this host's last write of the status, and of all other fields
};

enum writer_question {
    WRITER_REPEATS, // which writer keeps reverting a write: repeat.c
    WRITER_STATUS   // which writer wrote the status: rival.c
};

// Sends a GET, answered as REQUEST_WRITER with the question in `source`. False: not sent.
bool writer_ask(struct engine *engine, struct entry *entry, uint32_t cluster, enum writer_question question);
// `status`: of the status; else of all other fields. `subresource`: the kind has one for the status.
struct writers writer_read(const struct json *object, bool status, bool subresource);
