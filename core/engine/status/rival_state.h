// SPDX-License-Identifier: Apache-2.0
// What is known of a controller that runs a workload in the management cluster; rival.h finds it out.
#pragma once

#include "core/engine/engine_internal.h"

#define RIVAL_OBJECT 200
#define RIVAL_TEXT 300
#define RIVAL_REST_NS (10 * CLOCK_MINUTE) // without a sign, until the controller counts as stopped

// Of a workload whose status this host did not write, as it seemed at least once.
struct rival {
    struct throttle questions; // for the writer
    int64_t seen_ns;           // its last sign
    bool asking, suspected;
    bool twin;                 // another host may have written the status
    bool runs;                 // it was found, and counts in stats_kind.also_run
    bool told;                 // that it runs
    bool end_told;             // whose final status that is
    char who[96];              // the manager; "": none was found
    char object[RIVAL_OBJECT]; // that it made, "JobSet a"; "": none was seen
};

// Of the workload, made if there is none. NULL: out of memory.
struct rival *rival_make(struct entry *entry);
// Exactly the status that was about to be written is there: another host's, or a rival's.
void rival_suspect_twin(struct entry *entry);
// The writer or the object that shows that it is run in the management cluster too. False: none.
bool rival_describe(const struct entry *entry, char out[RIVAL_TEXT]);
// The controller was seen to run the workload: new ones of its kind wait for a while, in its namespace; once there were
// such signs in two namespaces, in all, so that one author alone cannot hold up the others.
void rival_sign(const struct engine *engine, const struct entry *entry);
// Until when it is not placed, if it is new; 0: now.
int64_t rival_until_ns(const struct engine *engine, const struct entry *entry);
