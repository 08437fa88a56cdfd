// SPDX-License-Identifier: Apache-2.0
// A mirror that does not start, workers in which it did not, and a workload that no worker accepts: a part of decide().
#ifndef WHARF_ENGINE_DECIDE_UNSTARTED_H
#define WHARF_ENGINE_DECIDE_UNSTARTED_H

#include "core/engine/decide/decide.h"

// Of a workload whose mirror waits to be started or that was rejected; see unstarted.h.
struct unstarted_facts {
    int64_t timeout_ns;         // placement.pendingTimeout; 0: a mirror may wait as long as it likes
    int64_t give_up_at_ns;      // CLOCK_NEVER: nothing is given up
    int64_t round_at_ns;        // workers that it did not start in are not tried again before that
    int64_t since_ns;           // when it was first tried
    int64_t runs_since_ns;      // since when a mirror that was placed after others had failed runs; 0: none does
    char *pod_report;           // the last about its pods, owned; or NULL
    uint32_t withdrawn_attempt; // its mirror was, or is being, deleted because it did not start; 0: none
    uint32_t noted_attempt;     // the last one whose worker was noted as tried
    uint16_t rounds;            // complete ones
    bool gave_up;               // nothing is tried again but a worker that has joined
};

// The mirror is there, and `otherwise` is to be done: or it is withdrawn. Rule 2: only in the state that was seen; it
// is placed again once it is known to be gone.
struct action decide_waits_to_start(const struct decide_facts *f, const struct mirror_facts *m,
                                    struct action otherwise);
// Its mirror is gone because it was withdrawn.
bool decide_is_withdrawn(const struct decide_facts *f);
// It did not start there in this round, or was rejected before it was given up.
bool decide_is_tried(const struct decide_facts *f, const struct mirror_facts *m);
// Whether a new round may begin: workers that were tried are chosen from again. Otherwise *next_ns is lowered to when.
bool decide_round_begins(const struct decide_facts *f, int64_t *next_ns);
// No worker is tried now, until `next_ns`, for the reason in `nowhere`: or the workload is given up.
struct action decide_gives_up(const struct decide_facts *f, struct action nowhere);
// Time is up, and each worker was tried at least once: nothing more is.
bool decide_time_is_up(const struct decide_facts *f);

#endif
