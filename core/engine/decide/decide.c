// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide/decide.h"

#include "core/engine/decide/decide_parts.h"
#include "core/engine/placement/placement.h"

uint32_t decide_name_hash(const char *name) {
    uint64_t wide = text_hash(TEXT_HASH, name);
    uint32_t hash = (uint32_t)(wide ^ wide >> 32);
    return hash ? hash : 1;
}

static bool is_unwanted(const struct decide_facts *f, const struct mirror_facts *m) {
    const struct workload_facts *w = f->workload;
    if (!w->exists || w->being_deleted || !m->of_workload || m->marks_stripped)
        return true;
    if (m->attempt < w->attempt)
        return true;
    const struct mirror_facts *current = decide_placed(f);
    if (!current || current == m || f->workers[w->cluster].frozen)
        return false;
    // Rule 2: the annotated mirror stays, even against a newer attempt.
    return m->attempt == w->attempt || (m->proven && decide_is_there(f, current) && !current->being_deleted);
}

bool decide_is_quarantined(const struct decide_facts *f, const struct mirror_facts *m) {
    return f->workload->exists && m->present && m->of_workload && !m->proven && m != decide_placed(f) &&
           !is_unwanted(f, m);
}

// Whether the host has not given up the mirror in an unreachable cluster yet; lowers *waiting_ns to that time.
static bool is_waited_for(const struct decide_facts *f, const struct mirror_facts *m, int64_t *waiting_ns) {
    const struct worker_facts *worker = &f->workers[m->cluster];
    int64_t until_ns = decide_given_up_ns(f, worker, worker->lost_since_ns);
    if (!f->workload->exists || !m->of_workload || until_ns <= f->now_ns)
        return false;
    *waiting_ns = clock_earlier(*waiting_ns, until_ns);
    return true;
}

// The same for a mirror that may be the workload's.
static bool may_run(const struct decide_facts *f, const struct mirror_facts *m, int64_t *waiting_ns) {
    return !decide_is_there(f, m) && !decide_placed(f) && is_waited_for(f, m, waiting_ns);
}

// Deletes unwanted mirrors (rules 2 and 7). Lowers *waiting_ns to the next try. Sets *pending to the cluster of
// another mirror that may still run: unwanted, or newer and being deleted, and not given up.
static struct action remove_unwanted(const struct decide_facts *f, int64_t *waiting_ns, size_t *pending,
                                     bool *is_blocked) {
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next) {
        if (!m->present)
            continue;
        if (!is_unwanted(f, m)) {
            if (m != decide_placed(f) && (decide_is_there(f, m) || may_run(f, m, waiting_ns)))
                *pending = m->cluster;
            // As Event MirrorHeld requests.
            if (!decide_is_quarantined(f, m) || !m->being_deleted || !m->finalizer || m->busy)
                continue;
            if (!decide_is_usable(f, m->cluster) || !f->management_listed)
                *is_blocked = true;
            else if (decide_request_at_ns(m) <= f->now_ns)
                return decide_release(m, "another client deleted the unproven mirror");
            else
                *waiting_ns = clock_earlier(*waiting_ns, decide_request_at_ns(m));
            continue;
        }
        // Rule 7: the host keeps orphans until both lists are complete.
        if (!decide_is_usable(f, m->cluster) || !f->management_listed) {
            *is_blocked = true;
            bool away = !f->workers[m->cluster].connected, frozen = !away && f->workers[m->cluster].frozen;
            if ((away && is_waited_for(f, m, waiting_ns)) || (frozen && m->of_workload))
                *pending = m->cluster;
            continue;
        }
        // A mirror of another workload blocks that cluster only.
        if (m->of_workload)
            *pending = m->cluster;
        if (m->busy || (m->being_deleted && !m->unsure && !m->finalizer))
            continue;
        if (decide_deletion_at_ns(f, m) > f->now_ns) {
            *waiting_ns = clock_earlier(*waiting_ns, decide_deletion_at_ns(f, m));
            continue;
        }
        if (m->finalizer)
            return decide_release(m, "the host no longer needs the status");
        if (m->being_deleted)
            return action_on_mirror(ACTION_VERIFY, m, "no watch shows the deletion");
        return action_on_mirror(ACTION_DELETE, m, f->workload->exists ? "stale mirror" : "orphan");
    }
    return action_none(NULL);
}

// The mirror for corrected annotations: one with a newer attempt, or the only one. NULL while the annotated mirror is
// reachable.
static const struct mirror_facts *find_adoptable(const struct decide_facts *f) {
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
    if (!m) // the host adopts or deletes another mirror after identifying the worker
        return (struct action){.type = ACTION_NONE, .blocked = has_frozen(f), .why = "finished"};
    struct action copy = decide_status(f, "finished");
    // A status that the management cluster rejects again and again does not keep a mirror forever.
    bool refused = copy.type == ACTION_WAIT && f->workload->status_refusals >= DECIDE_STATUS_REFUSALS;
    bool due = copy.type != ACTION_NONE || copy.waiting;
    if (due && !refused && copy.waiting != WAITING_REPEATED)
        return copy;
    if (f->busy) // perhaps a status, which the mirror has to outlive
        return action_in_flight("a write to the workload is in flight");
    if (f->workload->foreign_end || f->workload->end_untold)
        return copy.type == ACTION_WAIT ? copy : action_none("the host reports the end of the mirror first");
    if (decide_may_release(f, m))
        return decide_release(m, "the host has written the status");
    if (m->busy || (m->being_deleted && !m->finalizer))
        return action_none("the mirror is being deleted");
    int64_t at_ns = clock_later(f->workload->retain_until_ns, decide_deletion_at_ns(f, m));
    if (at_ns > f->now_ns)
        return (struct action){.type = ACTION_WAIT,
                               .at_ns = refused ? clock_earlier(at_ns, copy.at_ns) : at_ns,
                               .why = "the host retains the mirror"};
    if (!decide_is_usable(f, m->cluster))
        return (struct action){.type = ACTION_NONE, .blocked = true, .why = "the host cannot use the worker"};
    return m->unsure ? action_on_mirror(ACTION_VERIFY, m, "the mirror may have changed")
                     : action_on_mirror(ACTION_DELETE, m, "finished");
}

// An unproven mirror that blocks the workload, since the mirror may be the workload's; or NULL.
static const struct mirror_facts *find_quarantined(const struct decide_facts *f) {
    if (decide_placed(f))
        return NULL;
    int64_t waiting_ns = CLOCK_NEVER;
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next)
        if (decide_is_quarantined(f, m) && (decide_is_there(f, m) || may_run(f, m, &waiting_ns)))
            return m;
    return NULL;
}

static struct action for_workload(const struct decide_facts *f, size_t stale_pending) {
    const struct workload_facts *w = f->workload;
    if (w->being_deleted)
        return action_none("being deleted");
    if (w->too_large)
        return action_blocked(WAITING_SIZE, 0);
    if (decide_is_unread(f))
        return action_blocked(WAITING_ADAPTER, 0);
    const struct mirror_facts *other = find_adoptable(f);
    if (other)
        return decide_place(f, other->cluster, other->attempt, "the host found the mirror");
    const struct mirror_facts *current = decide_placed(f);
    bool disputed = decide_is_disputed(w, current);
    if (w->finished && !disputed)
        return finished(f);
    if (w->misplaced && w->restores.at_ns <= f->now_ns)
        return decide_place(f, w->cluster, w->attempt, "another writer changed the annotations");
    if (disputed)
        return decide_for_disputed(f, current);
    const struct mirror_facts *held = find_quarantined(f);
    if (held)
        return decide_status_or_blocked(f, waiting_text(WAITING_PROOF), WAITING_PROOF, held->cluster);
    if (w->attempt != 0)
        return decide_for_placed(f, stale_pending);
    if (decide_has_final_status(w))
        return decide_final_status(f);
    if (w->suspended)
        return decide_queued(f, decide_status(f, "suspended"));
    struct action result;
    if (!decide_waits_for_rival(f, &result))
        result = placement_move(f, "new");
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
    struct action result = remove_unwanted(f, &waiting_ns, &pending, &is_blocked);
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
