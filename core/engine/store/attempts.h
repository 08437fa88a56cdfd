// SPDX-License-Identifier: Apache-2.0
// What an entry keeps for people who ask: the attempts of its workload, and when it last changed. No decision uses it.
#ifndef WHARF_ENGINE_ATTEMPTS_H
#define WHARF_ENGINE_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

struct entry;

#define ATTEMPTS_MAX 12         // kept of a workload: the newest ones
#define ATTEMPT_MESSAGE_MAX 256 // bytes kept of a message

enum outcome {
    OUTCOME_NONE, // not over
    OUTCOME_SUCCEEDED,
    OUTCOME_FAILED,
    OUTCOME_REJECTED,  // the worker did not accept the mirror
    OUTCOME_DELETED,   // the mirror was deleted in the worker, by somebody else
    OUTCOME_LOST,      // the worker was given up
    OUTCOME_DRAINED,   // the worker was drained
    OUTCOME_REPLACED,  // another mirror was found
    OUTCOME_WITHDRAWN, // it did not start in time
    OUTCOMES
};
const char *outcome_name(enum outcome outcome); // "Rejected"; NULL for OUTCOME_NONE

struct attempt {
    struct attempt *older;
    // Wall clock; 0: not known, or has not happened.
    int64_t placed_ns, created_ns, started_ns, ended_ns;
    char *message;      // of its end, owned; or NULL
    const char *reason; // of a rejection, static ("QuotaExceeded"); or NULL
    uint32_t number;
    uint8_t outcome;
    bool witnessed; // this process placed it
    char cluster[];
};

struct attempt_history {
    struct attempt *newest;
    uint8_t leaving; // enum outcome: why a next attempt was asked for
};

void attempt_history_clear(struct attempt_history *history);
void attempt_history_trim(struct attempt_history *history); // to ATTEMPTS_MAX

// Its place among all workloads, see changes.h.
struct last_change {
    struct entry *newer, *older; // only with a sequence
    uint64_t sequence;           // 0: not listed
    int64_t at_ns;               // wall clock
    int64_t until_ns;            // what is waited for ends by itself then (monotonic); CLOCK_NEVER: it does not
    uint32_t waits_for;          // the cluster whose object or connection is waited for; 0: none
    uint32_t shown;              // hash of what people see
};

#endif
