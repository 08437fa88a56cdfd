// SPDX-License-Identifier: Apache-2.0
// Part of decide(): mirrors that do not start, workers already tried, and workloads that no worker accepts.
#pragma once

#include "core/engine/decide/decide.h"

// Facts about a workload with an unstarted or rejected mirror; see unstarted.h.
struct unstarted_facts {
    int64_t timeout_ns;         // placement.pendingTimeout; 0: no timeout
    int64_t give_up_at_ns;      // CLOCK_NEVER: the host does not give up
    int64_t round_at_ns;        // start of the next round over the workers already tried
    int64_t since_ns;           // first try
    int64_t runs_since_ns;      // start of the run of a mirror that succeeded after failures; 0: none runs
    char *pod_report;           // the last one, owned; or NULL
    uint32_t withdrawn_attempt; // attempt of the mirror that was withdrawn, unstarted; 0: none
    uint32_t noted_attempt;     // the last attempt whose worker counts as tried
    uint16_t rounds;            // complete ones
    bool gave_up;               // only workers that join later are tried
};

// `otherwise`, or the withdrawal of an unstarted mirror. Rule 2: the host deletes the mirror only at the
// resourceVersion seen, and places the workload again once the mirror is known to be gone.
struct action decide_waits_to_start(const struct decide_facts *f, const struct mirror_facts *m,
                                    struct action otherwise);
// The mirror is gone: withdrawn.
bool decide_is_withdrawn(const struct decide_facts *f);
// The mirror did not start in the worker in this round, or the worker rejected it before the host gave up.
bool decide_is_tried(const struct decide_facts *f, const struct mirror_facts *m);
// Whether a new round may begin, in which workers already tried are candidates again. If not, lowers *next_ns to its
// start.
bool decide_round_begins(const struct decide_facts *f, int64_t *next_ns);
// Gives the workload up, or waits until `next_ns` for the reason in `nowhere`.
struct action decide_gives_up(const struct decide_facts *f, struct action nowhere);
// giveUpAfter has passed, and each worker was tried at least once.
bool decide_time_is_up(const struct decide_facts *f);
