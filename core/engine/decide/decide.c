// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide/decide.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/engine/decide/decide_parts.h"
#include "core/engine/placement/placement.h"

uint32_t decide_name_hash(const char *name) {
    uint64_t wide = text_hash(TEXT_HASH, name);
    uint32_t hash = (uint32_t)(wide ^ wide >> 32);
    return hash ? hash : 1;
}

// The mirror that the corrected annotations shall name: one with a newer attempt, or the only one. None while the
// annotated mirror is reachable.
static const struct mirror_facts *adoptable(const struct decide_facts *f) {
    const struct mirror_facts *best = NULL, *current = decide_placed(f);
    uint32_t least = f->workload->attempt;
    if (decide_is_there(f, current))
        return NULL;
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next) {
        if (!m->present || !m->of_workload || !m->proven || m->being_deleted || m->marks_stripped || m->attempt == 0 ||
            f->workers[m->cluster].frozen)
            continue;
        if (m->attempt > least || (m->attempt == least && !current && m->cluster != f->workload->cluster && !best)) {
            best = m;
            least = m->attempt;
        }
    }
    return best;
}

static bool has_frozen(const struct decide_facts *f) {
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next)
        if (m->present && m->of_workload && f->workers[m->cluster].frozen)
            return true;
    return false;
}

static struct action finished(const struct decide_facts *f) {
    const struct mirror_facts *m = decide_placed(f);
    if (!m) // the host adopts or deletes another mirror once its worker is identified
        return (struct action){.type = ACTION_NONE, .blocked = has_frozen(f), .why = "finished"};
    struct action copy = decide_status(f, "finished");
    // A status that the management cluster rejects again and again does not keep a mirror forever.
    bool refused = copy.type == ACTION_WAIT && f->workload->status_refusals >= DECIDE_STATUS_REFUSALS;
    if (copy.type != ACTION_NONE && !refused && copy.waiting != WAITING_REPEATED)
        return copy;
    if (f->workload->foreign_end || f->workload->end_untold)
        return copy.type == ACTION_WAIT ? copy : action_none("the end of the mirror is reported first");
    if (decide_may_release(f, m))
        return decide_release(m, "the status is written");
    if (m->busy || (m->being_deleted && !m->finalizer))
        return action_none("the mirror is being deleted");
    int64_t at_ns = clock_later(f->workload->retain_until_ns, decide_request_at_ns(m));
    if (at_ns > f->now_ns)
        return (struct action){.type = ACTION_WAIT,
                               .at_ns = refused ? clock_earlier(at_ns, copy.at_ns) : at_ns,
                               .why = "the mirror is retained"};
    if (!decide_is_usable(f, m->cluster))
        return (struct action){.type = ACTION_NONE, .blocked = true, .why = "the worker cannot be used"};
    return action_on_mirror(ACTION_DELETE, m, "finished");
}

// A quarantined mirror that blocks the workload; or NULL.
static const struct mirror_facts *quarantined(const struct decide_facts *f) {
    if (decide_placed(f))
        return NULL;
    int64_t waiting_ns = CLOCK_NEVER;
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next)
        if (decide_is_quarantined(f, m) && (decide_is_there(f, m) || decide_may_run(f, m, &waiting_ns)))
            return m;
    return NULL;
}

static struct action for_workload(const struct decide_facts *f, size_t stale_pending) {
    const struct workload_facts *w = f->workload;
    if (w->being_deleted)
        return action_none("being deleted");
    if (w->too_large)
        return action_blocked(WAITING_SIZE, 0);
    const struct mirror_facts *other = adoptable(f);
    if (other)
        return decide_place(f, other->cluster, other->attempt, "the mirror was found");
    const struct mirror_facts *current = decide_placed(f);
    bool disputed = decide_is_disputed(w, current);
    if (w->finished && !disputed)
        return finished(f);
    if (w->misplaced && w->restores.at_ns <= f->now_ns)
        return decide_place(f, w->cluster, w->attempt, "another writer changed the annotations");
    if (disputed)
        return decide_for_disputed(f, current);
    const struct mirror_facts *blocking = quarantined(f);
    if (blocking) {
        struct action copy = decide_status(f, waiting_text(WAITING_PROOF));
        return copy.type == ACTION_NONE && !copy.waiting ? action_blocked(WAITING_PROOF, blocking->cluster) : copy;
    }
    if (w->attempt != 0)
        return decide_for_placed(f, stale_pending);
    if (decide_has_final_status(w))
        return decide_final_status(f);
    if (w->suspended)
        return decide_queued(f, decide_status(f, "suspended"));
    struct action result = f->also_run_until_ns > f->now_ns
                               ? action_wait_until(f->also_run_until_ns, WAITING_ALSO_RUN, 0)
                               : placement_move(f, "new");
    // A workload without a placement may still need a status.
    if (result.type != ACTION_PLACE && result.type != ACTION_GIVE_UP && decide_status_is_due(f)) {
        struct action copy = decide_status(f, result.why);
        if (copy.type == ACTION_STATUS)
            return copy;
    }
    return result;
}

struct action decide(const struct decide_facts *f) {
    int64_t waiting_ns = CLOCK_NEVER;
    size_t pending = 0;
    bool is_blocked = false;
    struct action result = decide_remove_unwanted(f, &waiting_ns, &pending, &is_blocked);
    if (result.type != ACTION_NONE)
        return result;
    if (f->workload->exists && f->management_listed)
        result = for_workload(f, pending);
    else if (f->workload->exists)
        result = action_blocked(WAITING_MANAGEMENT, 0);
    else if (!f->mirrors)
        result = (struct action){.type = ACTION_FORGET};
    if (f->workload->misplaced && f->workload->restores.at_ns > f->now_ns)
        waiting_ns = clock_earlier(waiting_ns, f->workload->restores.at_ns);
    if (waiting_ns != CLOCK_NEVER && result.type == ACTION_NONE)
        result = action_wait_until(waiting_ns, result.waiting ? result.waiting : WAITING_BACKOFF, result.cluster);
    else if (result.type == ACTION_WAIT)
        result.at_ns = clock_earlier(result.at_ns, waiting_ns);
    result.blocked |= is_blocked;
    return result;
}
