// SPDX-License-Identifier: Apache-2.0
// Data for the API, on which no decision depends: the attempts of a workload, and the time of its last change.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct entry;

#define ATTEMPTS_MAX 12         // the newest ones
#define ATTEMPT_MESSAGE_MAX 256 // bytes

enum outcome {
    OUTCOME_NONE, // not over
    OUTCOME_SUCCEEDED,
    OUTCOME_FAILED,
    OUTCOME_REJECTED,  // the worker did not accept the mirror
    OUTCOME_DELETED,   // another client deleted the mirror in the worker
    OUTCOME_LOST,      // the worker was given up
    OUTCOME_DRAINED,   // the worker was drained
    OUTCOME_REPLACED,  // another mirror was found
    OUTCOME_WITHDRAWN, // the mirror did not start in time
    OUTCOMES
};
const char *outcome_name(enum outcome outcome); // "Rejected"; NULL for OUTCOME_NONE

struct attempt {
    struct attempt *older;
    // Wall clock; 0: not known, or has not happened.
    int64_t placed_ns, created_ns, started_ns, ended_ns;
    char *message;      // about the end, owned; or NULL
    const char *reason; // for a rejection, static ("QuotaExceeded"); or NULL
    uint32_t number;
    uint8_t outcome;
    bool witnessed; // this process placed it
    char cluster[];
};

struct attempt_history {
    struct attempt *newest;
    uint8_t leaving; // enum outcome: the cause of the next attempt
};

void attempt_history_clear(struct attempt_history *history);
void attempt_history_trim(struct attempt_history *history); // to ATTEMPTS_MAX

// The place in the list of all workloads, see changes.h.
struct last_change {
    struct entry *newer, *older; // only with a sequence
    uint64_t sequence;           // 0: not listed
    int64_t at_ns;               // wall clock
    int64_t until_ns;            // end of the wait without an event (monotonic); CLOCK_NEVER: none
    uint32_t waits_for;          // the cluster that causes the wait; 0: none
    uint32_t shown;              // hash of the visible fields
};
