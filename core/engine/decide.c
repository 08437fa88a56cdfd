// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide.h"

#include "core/base/clock.h"
#include "core/base/text.h"

#include <string.h>

static struct action none(const char *why) {
    return (struct action){.type = ACTION_NONE, .why = why};
}

static struct action in_flight(const char *why) {
    return (struct action){.type = ACTION_NONE, .waiting = WAITING_ANSWER, .why = why};
}

static struct action blocked(enum waiting waiting, size_t cluster) {
    return (struct action){
        .type = ACTION_NONE, .cluster = cluster, .blocked = true, .waiting = waiting, .why = waiting_text(waiting)};
}

static struct action wait_until(int64_t at_ns, enum waiting waiting, size_t cluster) {
    struct action action = blocked(waiting, cluster);
    action.type = ACTION_WAIT;
    action.at_ns = at_ns;
    return action;
}

static struct action on_mirror(enum action_type type, const struct mirror_facts *mirror, const char *why) {
    return (struct action){.type = type, .cluster = mirror->cluster, .attempt = mirror->attempt, .why = why};
}

// Writes are allowed there.
static bool is_usable(const struct decide_facts *f, size_t cluster) {
    return f->workers[cluster].connected && !f->workers[cluster].frozen;
}

static const struct mirror_facts *mirror_in(const struct decide_facts *f, size_t cluster) {
    const struct mirror_facts *m = f->mirrors;
    while (m && m->cluster != cluster)
        m = m->next;
    return m;
}

const struct mirror_facts *decide_placed(const struct decide_facts *f) {
    const struct workload_facts *w = f->workload;
    if (w->attempt == 0 || w->cluster == DECIDE_UNKNOWN_CLUSTER)
        return NULL;
    const struct mirror_facts *m = mirror_in(f, w->cluster);
    return m && m->present && m->of_workload && !m->marks_stripped && m->attempt == w->attempt ? m : NULL;
}

const struct mirror_facts *decide_followed(const struct decide_facts *f) {
    const struct mirror_facts *m = decide_placed(f);
    if (!m || m->finished || f->workers[m->cluster].connected)
        return m;
    return f->now_ns - f->workers[m->cluster].lost_since_ns >= f->lost_timeout_ns ? NULL : m;
}

bool decide_has_final_status(const struct workload_facts *w) {
    return w->has_final_status && w->final_attempt == w->attempt && !w->finished;
}

// When the next request about it may be sent.
static int64_t request_at_ns(const struct mirror_facts *m) {
    return clock_later(m->not_before_ns, m->held_until_ns);
}

static bool update_is_due(const struct mirror_facts *m) {
    return m->update_due && !m->too_large;
}

static bool is_there(const struct decide_facts *f, const struct mirror_facts *m) {
    return m && f->workers[m->cluster].connected;
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
    // Rule 2: the annotated mirror stays, whatever the other one's attempt.
    return m->attempt == w->attempt || (m->proven && is_there(f, current) && !current->being_deleted);
}

bool decide_is_held(const struct decide_facts *f, const struct mirror_facts *m) {
    return f->workload->exists && m->present && m->of_workload && !m->proven && m != decide_placed(f) &&
           !is_unwanted(f, m);
}

// True while a mirror in an unreachable cluster is not given up yet; lowers *waiting_ns to when it will be.
static bool is_waited_for(const struct decide_facts *f, const struct mirror_facts *m, int64_t *waiting_ns) {
    int64_t since_ns = f->workers[m->cluster].lost_since_ns;
    if (!f->workload->exists || !m->of_workload || since_ns > CLOCK_NEVER - f->lost_timeout_ns ||
        since_ns + f->lost_timeout_ns <= f->now_ns)
        return false;
    *waiting_ns = clock_earlier(*waiting_ns, since_ns + f->lost_timeout_ns);
    return true;
}

// A mirror in an unreachable cluster that may be the workload's, and is not given up yet.
static bool may_run(const struct decide_facts *f, const struct mirror_facts *m, int64_t *waiting_ns) {
    return !is_there(f, m) && !decide_placed(f) && is_waited_for(f, m, waiting_ns);
}

// Removes the host's finalizer, with the resourceVersion that was seen.
static struct action release(const struct mirror_facts *m, const char *why) {
    return m->unsure ? on_mirror(ACTION_VERIFY, m, "its finalizers may have changed")
                     : on_mirror(ACTION_RELEASE, m, why);
}

// Held, and deleted as the Event MirrorHeld asks.
static bool is_held_and_deleted(const struct decide_facts *f, const struct mirror_facts *m) {
    return decide_is_held(f, m) && m->being_deleted && m->finalizer && !m->busy;
}

// Deletes unwanted mirrors (rules 2 and 7). Lowers *waiting_ns to when to try again; sets *pending to the cluster of a
// mirror that is not the current one and may still run: unwanted, or newer and being deleted, and not given up.
static struct action remove_unwanted(const struct decide_facts *f, int64_t *waiting_ns, size_t *pending,
                                     bool *is_blocked) {
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next) {
        if (!m->present)
            continue;
        if (!is_unwanted(f, m)) {
            if (m != decide_placed(f) && (is_there(f, m) || may_run(f, m, waiting_ns)))
                *pending = m->cluster;
            if (!is_held_and_deleted(f, m))
                continue;
            if (!is_usable(f, m->cluster) || !f->management_listed)
                *is_blocked = true;
            else if (request_at_ns(m) <= f->now_ns)
                return release(m, "it is held and was deleted in the worker");
            else
                *waiting_ns = clock_earlier(*waiting_ns, request_at_ns(m));
            continue;
        }
        // Rule 7: no orphan is deleted before both lists are complete.
        if (!is_usable(f, m->cluster) || !f->management_listed) {
            *is_blocked = true;
            bool away = !f->workers[m->cluster].connected, frozen = !away && f->workers[m->cluster].frozen;
            if ((away && is_waited_for(f, m, waiting_ns)) || (frozen && m->of_workload))
                *pending = m->cluster;
            continue;
        }
        // A mirror of another workload blocks its own cluster only.
        if (m->of_workload)
            *pending = m->cluster;
        if (m->busy || (m->being_deleted && !m->unsure && !m->finalizer))
            continue;
        if (request_at_ns(m) > f->now_ns) {
            *waiting_ns = clock_earlier(*waiting_ns, request_at_ns(m));
            continue;
        }
        if (m->finalizer)
            return release(m, "its status is no longer needed");
        if (m->being_deleted)
            return on_mirror(ACTION_VERIFY, m, "no watch shows its deletion");
        return on_mirror(ACTION_DELETE, m, f->workload->exists ? "stale mirror" : "orphan");
    }
    return none(NULL);
}

// The worker to place a workload in: eligible, not excluded; fewest active workloads first, then by name.
// DECIDE_UNPLACED: none. `next_ns` is lowered to the end of the earliest exclusion.
static size_t best_worker(const struct decide_facts *f, int64_t *next_ns) {
    size_t best = DECIDE_UNPLACED;
    for (size_t c = 1; c < f->n_clusters; c++) {
        const struct worker_facts *w = &f->workers[c];
        if (!w->eligible)
            continue;
        const struct mirror_facts *m = mirror_in(f, c);
        if (m && m->excluded_until_ns > f->now_ns) {
            *next_ns = clock_earlier(*next_ns, m->excluded_until_ns);
            continue;
        }
        // An unwanted mirror there must be gone first.
        if (m && m->present)
            continue;
        if (best == DECIDE_UNPLACED || w->active < f->workers[best].active ||
            (w->active == f->workers[best].active && strcmp(w->name, f->workers[best].name) < 0))
            best = c;
    }
    return best;
}

// Some worker's state is not known yet, and is waited for.
static bool is_settling(const struct decide_facts *f) {
    for (size_t c = 1; c < f->n_clusters && !f->settle_time_is_over; c++)
        if (!f->workers[c].settled)
            return true;
    return false;
}

uint32_t decide_name_hash(const char *name) {
    uint64_t wide = text_hash(TEXT_HASH, name);
    uint32_t hash = (uint32_t)(wide ^ wide >> 32);
    return hash ? hash : 1;
}

// Rule 2: until when, at most, a worker of unknown state may have an earlier mirror: after a restart, any; else the one
// that the earlier mirror was given up in, left, and has joined again. 0: none has.
static int64_t unsettled_until_ns(const struct decide_facts *f) {
    int64_t until_ns = 0;
    const struct workload_facts *workload = f->workload;
    bool any = workload->clean_attempt != workload->attempt || workload->given_up == DECIDE_GIVEN_UP_SEVERAL;
    for (size_t c = 1; c < f->n_clusters; c++) {
        const struct worker_facts *w = &f->workers[c];
        if (!w->settled && (any || (workload->given_up && w->name_hash == workload->given_up)) &&
            w->lost_since_ns <= CLOCK_NEVER - f->lost_timeout_ns)
            until_ns = clock_later(until_ns, w->lost_since_ns + f->lost_timeout_ns);
    }
    return until_ns;
}

// `write` to the workload, or why it has to wait. Rule 5: one in flight.
static struct action if_writable(const struct decide_facts *f, struct action write) {
    if (f->workload->busy)
        return in_flight("a write to the workload is in flight");
    if (!f->management_connected)
        return blocked(WAITING_MANAGEMENT, 0);
    if (f->workload->not_before_ns > f->now_ns)
        return wait_until(f->workload->not_before_ns, WAITING_BACKOFF, 0);
    return write;
}

static struct action place(const struct decide_facts *f, size_t cluster, uint32_t attempt, const char *why) {
    return if_writable(f, (struct action){.type = ACTION_PLACE, .cluster = cluster, .attempt = attempt, .why = why});
}

static bool status_is_due(const struct decide_facts *f) {
    const struct workload_facts *w = f->workload;
    const struct mirror_facts *followed = decide_followed(f);
    if (followed && followed->name_only) // its status is read first
        return false;
    return w->status_due || (w->status_held && w->statuses.at_ns <= f->now_ns);
}

static struct action status(const struct decide_facts *f, const char *why) {
    const struct workload_facts *w = f->workload;
    bool due = status_is_due(f);
    if (!due && w->status_held && w->statuses.at_ns > f->now_ns)
        return wait_until(w->statuses.at_ns, WAITING_REPEATED, 0);
    if (!due)
        return none(why);
    if (f->status_at_ns > f->now_ns)
        return wait_until(f->status_at_ns, WAITING_STATUS, 0);
    return if_writable(f, (struct action){.type = ACTION_STATUS, .why = why});
}

// No worker can be chosen now, and why.
static struct action nowhere(const struct decide_facts *f, int64_t next_ns) {
    if (next_ns != CLOCK_NEVER)
        return wait_until(next_ns, WAITING_REFUSED, 0);
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next)
        if (m->present && f->workers[m->cluster].connected)
            return blocked(WAITING_PREDECESSOR, m->cluster);
    return blocked(WAITING_NO_WORKER, 0);
}

// A new attempt in the best worker. Rule 2: the old attempt's mirror is known to be gone or given up.
static struct action move(const struct decide_facts *f, const char *why) {
    const struct workload_facts *w = f->workload;
    if (!f->placing)
        return blocked(WAITING_STOPPING, 0);
    if (is_settling(f))
        return blocked(WAITING_SETTLING, 0);
    if (w->attempt && w->clean_attempt != w->attempt && w->places.at_ns > f->now_ns)
        return wait_until(w->places.at_ns, WAITING_REPEATED, 0);
    int64_t next_ns = CLOCK_NEVER;
    size_t best = best_worker(f, &next_ns);
    if (best == DECIDE_UNPLACED)
        return nowhere(f, next_ns);
    return place(f, best, w->attempt + 1, why);
}

// A mirror with a newer attempt than the annotations, or the only mirror: the annotations are corrected to name it.
// Never while the mirror that they name is reachable.
static const struct mirror_facts *adoptable(const struct decide_facts *f) {
    const struct mirror_facts *best = NULL, *current = decide_placed(f);
    uint32_t least = f->workload->attempt;
    if (is_there(f, current))
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

static bool may_release(const struct decide_facts *f, const struct mirror_facts *m) {
    return m->finalizer && !m->busy && request_at_ns(m) <= f->now_ns && is_usable(f, m->cluster);
}

static bool has_frozen(const struct decide_facts *f) {
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next)
        if (m->present && m->of_workload && f->workers[m->cluster].frozen)
            return true;
    return false;
}

static struct action finished(const struct decide_facts *f) {
    const struct mirror_facts *m = decide_placed(f);
    if (!m) // another one of it is adopted, and deleted, once its worker is identified
        return (struct action){.type = ACTION_NONE, .blocked = has_frozen(f), .why = "finished"};
    struct action copy = status(f, "finished");
    // A status that the management cluster keeps rejecting does not keep a mirror forever.
    bool refused = copy.type == ACTION_WAIT && f->workload->status_refusals >= DECIDE_STATUS_REFUSALS;
    if (copy.type != ACTION_NONE && !refused && copy.waiting != WAITING_REPEATED)
        return copy;
    if (may_release(f, m))
        return release(m, "its status is written");
    if (m->busy || (m->being_deleted && !m->finalizer))
        return none("its mirror is being deleted");
    int64_t at_ns = clock_later(f->workload->retain_until_ns, request_at_ns(m));
    if (at_ns > f->now_ns)
        return (struct action){.type = ACTION_WAIT,
                               .at_ns = refused ? clock_earlier(at_ns, copy.at_ns) : at_ns,
                               .why = "its mirror is retained"};
    if (!is_usable(f, m->cluster))
        return (struct action){.type = ACTION_NONE, .blocked = true, .why = "the worker cannot be used"};
    return on_mirror(ACTION_DELETE, m, "finished");
}

// The mirror exists and its cluster is reachable (or is waited for).
static struct action with_mirror(const struct decide_facts *f, const struct mirror_facts *m) {
    int64_t later_ns = CLOCK_NEVER;
    if (m->unsure && !m->busy && is_usable(f, m->cluster)) {
        if (request_at_ns(m) <= f->now_ns)
            return on_mirror(ACTION_VERIFY, m, "its mirror may be gone");
        later_ns = request_at_ns(m);
    }
    if (update_is_due(m) && !m->busy && !m->being_deleted && is_usable(f, m->cluster)) {
        later_ns = clock_later(request_at_ns(m), m->update_at_ns);
        if (later_ns <= f->now_ns)
            return on_mirror(ACTION_UPDATE, m, "the workload changed");
    }
    struct action copy = status(f, "follows its mirror");
    bool going = m->being_deleted && copy.waiting == WAITING_NOT;
    if (copy.type == ACTION_NONE && later_ns != CLOCK_NEVER)
        return wait_until(later_ns, going ? WAITING_GONE : WAITING_BACKOFF, m->cluster);
    if (copy.type == ACTION_WAIT)
        copy.at_ns = clock_earlier(copy.at_ns, later_ns);
    if (copy.type == ACTION_NONE && !copy.waiting && !f->workload->busy && m->being_deleted && !m->finished &&
        may_release(f, m))
        return release(m, "it was deleted in the worker and its status is written");
    if (copy.type == ACTION_NONE && going && m->finalizer)
        return request_at_ns(m) > f->now_ns ? wait_until(request_at_ns(m), WAITING_GONE, m->cluster)
                                            : blocked(WAITING_GONE, m->cluster);
    if (copy.type == ACTION_NONE && going)
        return blocked(WAITING_GONE, m->cluster);
    return copy;
}

// Its worker is drained. Rule 2: the mirror is deleted first; the workload is placed again once it is known to be gone.
static struct action drain(const struct decide_facts *f, const struct mirror_facts *m) {
    const struct workload_facts *w = f->workload;
    if (m->finished || m->busy || m->being_deleted || m->unsure || w->busy || !f->placing || !f->management_connected ||
        is_settling(f))
        return with_mirror(f, m);
    int64_t at_ns = clock_later(request_at_ns(m), w->places.at_ns), next_ns = CLOCK_NEVER;
    bool ready = w->suspended || best_worker(f, &next_ns) != DECIDE_UNPLACED;
    if (ready && at_ns <= f->now_ns)
        return on_mirror(ACTION_DELETE, m, "its worker is drained");
    if (ready)
        next_ns = at_ns;
    struct action copy = with_mirror(f, m);
    if (copy.type == ACTION_NONE && !copy.waiting)
        copy = ready ? none(copy.why) : blocked(WAITING_DRAIN, m->cluster);
    if (next_ns == CLOCK_NEVER || (copy.type != ACTION_NONE && copy.type != ACTION_WAIT))
        return copy;
    copy.at_ns = copy.type == ACTION_WAIT ? clock_earlier(copy.at_ns, next_ns) : next_ns;
    copy.type = ACTION_WAIT;
    return copy;
}

// Rule 6: a finished workload is not run again; its final status is written even if the mirror is gone.
static struct action final_status(const struct decide_facts *f) {
    if (f->workload->busy)
        return in_flight("a write to the workload is in flight");
    struct action copy = status(f, "its mirror has finished");
    return copy.type == ACTION_NONE && !copy.waiting ? blocked(WAITING_FINAL_STATUS, 0) : copy;
}

// Its worker is unreachable: after workerLostTimeout the workload is rescheduled.
static struct action unreachable(const struct decide_facts *f, const struct mirror_facts *m, int64_t since_ns,
                                 enum waiting waiting) {
    const struct workload_facts *w = f->workload;
    const char *why = waiting_text(waiting);
    if (decide_has_final_status(w) || (m && m->finished))
        return final_status(f);
    bool gone = waiting == WAITING_UNKNOWN_WORKER && w->gone_attempt == w->attempt;
    bool clean = (w->clean_attempt == w->attempt && !m) || gone;
    int64_t until_ns = clean || since_ns > CLOCK_NEVER - f->lost_timeout_ns ? since_ns : since_ns + f->lost_timeout_ns;
    if (!clean && until_ns > f->now_ns) {
        struct action copy = status(f, why);
        if (copy.type == ACTION_NONE && !copy.blocked)
            return wait_until(until_ns, waiting, w->cluster == DECIDE_UNKNOWN_CLUSTER ? 0 : w->cluster);
        if (copy.type == ACTION_WAIT)
            copy.at_ns = clock_earlier(copy.at_ns, until_ns);
        return copy;
    }
    // A request sent just before the worker was lost may still take effect.
    const struct mirror_facts *there = mirror_in(f, w->cluster);
    if (!w->suspended && there && there->busy)
        return in_flight("a request about its mirror is in flight");
    if (w->suspended)
        return status(f, "suspended");
    return move(f, waiting == WAITING_UNKNOWN_WORKER ? "its worker is not in the configuration"
                                                     : "its worker is unreachable");
}

// Rule 2: an earlier create has an unknown outcome, and its worker, which was given up, is reachable again: its watch
// may not show yet what is there, so it is read.
static bool ask_for_earlier(const struct decide_facts *f, struct action *action) {
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next) {
        const struct worker_facts *worker = &f->workers[m->cluster];
        if (!m->may_exist || m->present || m->cluster == f->workload->cluster || !worker->connected || worker->refused)
            continue;
        if (m->busy)
            *action = in_flight("an earlier mirror may exist and is read");
        else if (worker->frozen)
            *action = blocked(WAITING_IDENTITY, m->cluster);
        else if (request_at_ns(m) > f->now_ns)
            *action = wait_until(request_at_ns(m), WAITING_EARLIER, m->cluster);
        else
            *action = on_mirror(ACTION_VERIFY, m, "an earlier mirror may exist");
        return true;
    }
    return false;
}

// Its worker is reachable and the mirror does not exist.
static struct action without_mirror(const struct decide_facts *f, const struct mirror_facts *m, size_t stale_pending) {
    const struct workload_facts *w = f->workload;
    if (m && m->busy)
        return in_flight("a request about its mirror is in flight");
    if (m && m->present && m->marks_stripped)
        return blocked(WAITING_GONE, m->cluster);
    if (m && request_at_ns(m) > f->now_ns)
        return wait_until(request_at_ns(m), WAITING_BACKOFF, m->cluster);
    if (m && m->unsure)
        return on_mirror(ACTION_VERIFY, m, "its mirror may be gone");
    if (w->suspended)
        return status(f, "suspended");
    if (w->gone_attempt == w->attempt)
        return move(f, w->drained_attempt == w->attempt ? "its worker is drained" : "its mirror was deleted");
    if (m && m->excluded_until_ns > f->now_ns)
        return move(f, "the worker rejected it");
    if (m && m->present)
        return blocked(WAITING_PREDECESSOR, m->cluster);
    if (stale_pending)
        return blocked(WAITING_EARLIER, stale_pending);
    if (w->busy)
        return in_flight("a write to the workload is in flight");
    if (!f->placing && w->clean_attempt == w->attempt)
        return blocked(WAITING_STOPPING, 0);
    if (f->workers[w->cluster].closed && w->clean_attempt == w->attempt)
        return move(f, "its worker gets nothing new");
    if (w->earlier_until_ns > f->now_ns)
        return wait_until(w->earlier_until_ns, WAITING_EARLIER, 0);
    int64_t unsettled_ns = w->attempt > 1 ? unsettled_until_ns(f) : 0;
    if (unsettled_ns > f->now_ns)
        return wait_until(unsettled_ns, WAITING_SETTLING, 0);
    if (w->record_unsure) // rule 4: it may be recorded elsewhere; the resourceVersion of this write decides
        return move(f, "it is not known where it was placed last");
    struct action ask;
    if (ask_for_earlier(f, &ask))
        return ask;
    return (struct action){.type = ACTION_CREATE, .cluster = w->cluster, .attempt = w->attempt, .why = "placed"};
}

// Rule 9: nothing is changed in its worker; only the status already known is copied.
static struct action frozen(const struct decide_facts *f, const struct mirror_facts *current) {
    struct action copy = current ? status(f, "follows its mirror") : none(NULL);
    return copy.type == ACTION_NONE && !copy.waiting ? blocked(WAITING_IDENTITY, f->workload->cluster) : copy;
}

static struct action placed(const struct decide_facts *f, size_t stale_pending) {
    const struct workload_facts *w = f->workload;
    if (w->cluster == DECIDE_UNKNOWN_CLUSTER)
        return unreachable(f, NULL, w->unknown_since_ns, WAITING_UNKNOWN_WORKER);
    const struct worker_facts *worker = &f->workers[w->cluster];
    const struct mirror_facts *current = decide_placed(f);
    if (decide_has_final_status(w) && !current)
        return final_status(f);
    if (!worker->connected)
        return unreachable(f, current, worker->lost_since_ns, worker->refused ? WAITING_IDENTITY : WAITING_WORKER);
    if (worker->frozen)
        return frozen(f, current);
    if (current)
        return worker->moves ? drain(f, current) : with_mirror(f, current);
    return without_mirror(f, mirror_in(f, w->cluster), stale_pending);
}

// A held mirror that may be the workload's and blocks it until it is proven or gone; or NULL.
static const struct mirror_facts *unproven(const struct decide_facts *f) {
    if (decide_placed(f))
        return NULL;
    int64_t waiting_ns = CLOCK_NEVER;
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next)
        if (decide_is_held(f, m) && (is_there(f, m) || may_run(f, m, &waiting_ns)))
            return m;
    return NULL;
}

static struct action for_workload(const struct decide_facts *f, size_t stale_pending) {
    const struct workload_facts *w = f->workload;
    if (w->being_deleted)
        return none("being deleted");
    if (w->too_large)
        return blocked(WAITING_SIZE, 0);
    const struct mirror_facts *other = adoptable(f);
    if (other)
        return place(f, other->cluster, other->attempt, "its mirror was found");
    if (w->finished)
        return finished(f);
    if (w->misplaced && w->restores.at_ns <= f->now_ns)
        return place(f, w->cluster, w->attempt, "its annotations were changed by somebody else");
    const struct mirror_facts *held = unproven(f);
    if (held) {
        struct action copy = status(f, waiting_text(WAITING_PROOF));
        return copy.type == ACTION_NONE && !copy.waiting ? blocked(WAITING_PROOF, held->cluster) : copy;
    }
    if (w->attempt != 0)
        return placed(f, stale_pending);
    if (decide_has_final_status(w))
        return final_status(f);
    if (w->suspended)
        return status(f, "suspended");
    struct action result = move(f, "new");
    // A workload that cannot be placed yet may still owe a status.
    if (result.type != ACTION_PLACE && status_is_due(f)) {
        struct action copy = status(f, result.why);
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
        result = blocked(WAITING_MANAGEMENT, 0);
    else if (!f->mirrors)
        result = (struct action){.type = ACTION_FORGET};
    if (f->workload->misplaced && f->workload->restores.at_ns > f->now_ns)
        waiting_ns = clock_earlier(waiting_ns, f->workload->restores.at_ns);
    if (waiting_ns != CLOCK_NEVER && result.type == ACTION_NONE)
        result = wait_until(waiting_ns, result.waiting ? result.waiting : WAITING_BACKOFF, result.cluster);
    else if (result.type == ACTION_WAIT)
        result.at_ns = clock_earlier(result.at_ns, waiting_ns);
    result.blocked |= is_blocked;
    return result;
}
