// SPDX-License-Identifier: Apache-2.0
// Failures that are the worker's (retryElsewhere).
#include "core/engine/decide/decide_parts.h"

#include "core/engine/placement/placement.h"

// The best other worker: the present one has the mirror, and is no candidate. DECIDE_UNPLACED: none, or only workers
// in which the workload failed before; or a need is missing.
static size_t choose_other(const struct decide_facts *f, size_t *candidates) {
    int64_t next_ns = CLOCK_NEVER;
    if (f->needs != NEEDS_MET)
        return DECIDE_UNPLACED;
    size_t best = placement_choose(f, &next_ns, candidates);
    return placement_is_avoided(f, best) ? DECIDE_UNPLACED : best;
}

bool decide_is_stuck(const struct decide_facts *f) {
    return f->elsewhere == ELSEWHERE_STUCK && choose_other(f, &(size_t){0}) != DECIDE_UNPLACED;
}

// Rule 2: the failed mirror does not run any more. Once the placement is written, that mirror is one of an earlier
// attempt, and must be gone before the next one is created.
bool decide_retries(const struct decide_facts *f, const struct mirror_facts *m, struct action *action) {
    size_t candidates = 0;
    bool moves = f->elsewhere == ELSEWHERE_MOVES, lacks = moves && f->needs != NEEDS_MET;
    if (f->elsewhere == ELSEWHERE_ASKED || lacks || (moves && !decide_is_usable(f, m->cluster))) {
        *action = lacks ? action_wait_until(f->elsewhere_until_ns, WAITING_DEPENDENCY, 0)
                        : action_wait_until(f->elsewhere_until_ns, WAITING_CAUSE, m->cluster);
        return f->elsewhere_until_ns > f->now_ns;
    }
    if (!moves || namespaces_judge(f->namespaces, &f->namespace_) != NAMESPACES_PERMITTED)
        return false;
    if (!f->placing || placement_in_startup_grace(f)) {
        *action = action_blocked(f->placing ? WAITING_STARTUP_GRACE : WAITING_STOPPING, 0);
        return true;
    }
    size_t best = choose_other(f, &candidates);
    if (best != DECIDE_UNPLACED && f->elsewhere_keeps && decide_owes_status(f, m)) { // without the failure
        *action = decide_status(f, "the worker failed");
        action->leaves = true;
        return true;
    }
    *action = decide_place(f, best, f->workload->attempt + 1, "the worker failed");
    action->had_choice = candidates > 1;
    return best != DECIDE_UNPLACED;
}
