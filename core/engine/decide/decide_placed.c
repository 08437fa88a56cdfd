// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide/decide_parts.h"

#include "core/engine/placement/placement.h"

// Unstarted mirrors, workers already tried, and workloads that no worker accepts ----------------------------------

static bool is_waiting(const struct decide_facts *f, const struct mirror_facts *m) {
    return f->unstarted && (f->unstarted->timeout_ns > 0 || f->elsewhere == ELSEWHERE_STUCK) && m->unstarted_since_ns &&
           !m->finished && !m->being_deleted && !f->workload->suspended;
}

bool decide_owes_status(const struct decide_facts *f, const struct mirror_facts *m) {
    struct action last = decide_status(f, NULL);
    bool in_vain = last.waiting == WAITING_REPEATED || last.waiting == WAITING_STATUS;
    return (last.type != ACTION_NONE || last.waiting) && !in_vain && (!m || m->last_statuses < DECIDE_LAST_STATUSES) &&
           f->workload->status_refusals < DECIDE_STATUS_REFUSALS;
}

// `otherwise`, or the withdrawal of an unstarted mirror. Rule 2: the host deletes the mirror only at the
// resourceVersion seen, and places the workload again once the mirror is certainly gone.
static struct action wait_for_start(const struct decide_facts *f, const struct mirror_facts *m,
                                    struct action otherwise) {
    if (!is_waiting(f, m))
        return otherwise;
    int64_t timeout_ns = f->unstarted->timeout_ns;
    bool stuck = decide_is_stuck(f);
    otherwise.blocked |= f->elsewhere == ELSEWHERE_STUCK && !stuck; // until another worker is eligible
    if (!stuck && timeout_ns <= 0)
        return otherwise;
    int64_t at_ns = stuck ? f->now_ns : clock_after(m->unstarted_since_ns, timeout_ns);
    at_ns = clock_later(at_ns, decide_request_at_ns(m));
    otherwise.leaves = at_ns <= f->now_ns;
    if (otherwise.type != ACTION_NONE && otherwise.type != ACTION_WAIT)
        return otherwise;
    if (otherwise.leaves) {
        // A write in flight could start the mirror, or there is a sign of a start.
        if (m->busy || m->unsure || f->busy || !f->placing || !f->management_connected || decide_owes_status(f, m)) {
            otherwise.blocked = true; // the decision follows once the management cluster is reachable
            return otherwise;
        }
        struct action withdraw = action_on_mirror(
            ACTION_DELETE, m, stuck ? "the mirror does not start in this worker" : "the mirror did not start in time");
        withdraw.withdraws = true;
        return withdraw;
    }
    if (otherwise.type == ACTION_NONE && otherwise.waiting)
        at_ns = clock_earlier(at_ns, otherwise.at_ns ? otherwise.at_ns : CLOCK_NEVER);
    else if (otherwise.type == ACTION_WAIT)
        at_ns = clock_earlier(at_ns, otherwise.at_ns);
    else
        otherwise.waiting = WAITING_START;
    if (otherwise.waiting == WAITING_START)
        otherwise.cluster = m->cluster;
    otherwise.type = ACTION_WAIT;
    otherwise.at_ns = at_ns;
    return otherwise;
}

// Whether the mirror is gone because the host withdrew the mirror.
static bool is_withdrawn(const struct decide_facts *f) {
    return f->unstarted && f->workload->attempt && f->unstarted->withdrawn_attempt == f->workload->attempt;
}

bool decide_is_tried(const struct decide_facts *f, const struct mirror_facts *m) {
    return f->unstarted && m && (m->tried || (f->unstarted->gave_up && m->excluded_until_ns));
}

bool decide_round_begins(const struct decide_facts *f, int64_t *next_ns) {
    bool any = false;
    for (const struct mirror_facts *m = f->mirrors; m && f->unstarted && !f->unstarted->gave_up; m = m->next)
        any |= m->tried && decide_is_eligible(f, m->cluster);
    if (!any)
        return false;
    if (f->unstarted->round_at_ns <= f->now_ns)
        return true;
    *next_ns = clock_earlier(*next_ns, f->unstarted->round_at_ns);
    return false;
}

// Rule 9: an unreachable or unknown worker might accept the workload; only answers of workers count.
static bool is_in_doubt(const struct decide_facts *f, const struct worker_facts *worker) {
    if (!worker->name || worker->refused)
        return false;
    if (!worker->state_known || (worker->connected && worker->frozen))
        return true;
    int64_t lost_ns = clock_after(worker->lost_since_ns, f->lost_timeout_ns);
    return !worker->connected && lost_ns > f->now_ns && lost_ns != CLOCK_NEVER;
}

// At least one worker rejected the workload or did not start the mirror, no worker is in doubt, and no mirror is
// left.
static bool is_refused_by_all(const struct decide_facts *f) {
    bool refused = false;
    if (f->view && f->view->waits_for_limit)
        return false;
    for (size_t c = 1; c < f->n_clusters; c++)
        if (is_in_doubt(f, &f->workers[c]))
            return false;
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next) {
        if ((m->present && m->of_workload) || m->may_exist)
            return false;
        refused |= (m->tried || m->excluded_until_ns > f->now_ns) && f->workers[m->cluster].connected;
    }
    return refused;
}

bool decide_time_is_up(const struct decide_facts *f) {
    const struct unstarted_facts *p = f->unstarted;
    return p && !p->gave_up && p->rounds > 0 && p->give_up_at_ns <= f->now_ns && is_refused_by_all(f);
}

struct action decide_gives_up(const struct decide_facts *f, struct action nowhere) {
    const struct unstarted_facts *p = f->unstarted;
    if (!p || p->give_up_at_ns == CLOCK_NEVER)
        return nowhere;
    if (p->gave_up)
        return action_blocked(WAITING_GAVE_UP, 0);
    if (nowhere.waiting != WAITING_REFUSED && !decide_time_is_up(f))
        return nowhere;
    if (p->give_up_at_ns <= f->now_ns)
        return is_refused_by_all(f) ? decide_if_writable(f, (struct action){.type = ACTION_GIVE_UP,
                                                                            .why = "no worker accepts the workload"})
                                    : nowhere;
    if (nowhere.type == ACTION_WAIT)
        nowhere.at_ns = clock_earlier(nowhere.at_ns, p->give_up_at_ns);
    return nowhere;
}

// Placed workloads ------------------------------------------------------------------------------------------------

// See mirror_parts.h.
static bool is_unresumed(const struct workload_facts *w, const struct mirror_facts *m) {
    return m->suspended && !m->left_suspended && !m->queued && !m->finished && !m->being_deleted && !w->suspended;
}

// The mirror exists, and the cluster is reachable or expected back.
static struct action with_mirror(const struct decide_facts *f, const struct mirror_facts *m) {
    int64_t later_ns = CLOCK_NEVER;
    if (m->unsure && !m->busy && decide_is_usable(f, m->cluster)) {
        if (decide_request_at_ns(m) <= f->now_ns)
            return action_on_mirror(ACTION_VERIFY, m, "the mirror may be gone");
        later_ns = decide_request_at_ns(m);
    }
    // A guard without this host's heartbeat would suspend the mirror again.
    bool stopped = (m->fenced && !shard_is_in(f->workers[m->cluster].resumes, f->shard)) ||
                   (m->suspended && f->workload->yield_unsure);
    if (m->update_due && !m->too_large && !stopped && !m->busy && !m->being_deleted &&
        decide_is_usable(f, m->cluster)) {
        later_ns = clock_later(decide_request_at_ns(m), m->update_at_ns);
        if (later_ns <= f->now_ns)
            return action_on_mirror(ACTION_UPDATE, m, "the workload changed");
    }
    struct action copy = decide_status(f, "follows the mirror");
    bool going = m->being_deleted && copy.waiting == WAITING_NOT;
    bool unresumed = is_unresumed(f->workload, m);
    if (copy.type == ACTION_NONE && later_ns != CLOCK_NEVER)
        return action_wait_until(later_ns,
                                 going       ? WAITING_GONE
                                 : m->owed   ? WAITING_PROGRESS
                                 : unresumed ? WAITING_RESUME
                                             : WAITING_BACKOFF,
                                 m->cluster);
    if (copy.type == ACTION_WAIT)
        copy.at_ns = clock_earlier(copy.at_ns, later_ns);
    if (copy.type == ACTION_NONE && !copy.waiting && !f->busy && m->being_deleted && !m->finished &&
        decide_may_release(f, m))
        return decide_release(m, "another client deleted the mirror, and the host has written the status");
    if (copy.type == ACTION_NONE && going)
        return m->finalizer && decide_request_at_ns(m) > f->now_ns
                   ? action_wait_until(decide_request_at_ns(m), WAITING_GONE, m->cluster)
                   : action_blocked(WAITING_GONE, m->cluster);
    bool queued = m->queued && !m->finished && !f->workload->suspended;
    if (copy.type == ACTION_NONE && !copy.waiting && (m->owed || queued || unresumed)) {
        copy.waiting = m->owed ? WAITING_PROGRESS : queued ? WAITING_QUEUED : m->busy ? WAITING_ANSWER : WAITING_RESUME;
        copy.cluster = m->cluster;
    }
    return f->workload->suspended ? decide_queued(f, copy) : copy;
}

// The worker is drained: started mirrors go on until drainTimeout. Rule 2: the host deletes the mirror first, and
// places the workload again once the mirror is certainly gone.
static struct action drain(const struct decide_facts *f, const struct mirror_facts *m) {
    const struct workload_facts *w = f->workload;
    if (m->finished || m->busy || m->being_deleted || m->unsure || f->busy || !f->placing || !f->management_connected ||
        placement_in_startup_grace(f))
        return with_mirror(f, m);
    bool started = m->unstarted_since_ns == 0 && !w->suspended && !m->queued;
    int64_t at_ns = clock_later(decide_request_at_ns(m), w->places.at_ns), next_ns = CLOCK_NEVER;
    if (started)
        at_ns = clock_later(at_ns, f->workers[m->cluster].moves_at_ns);
    bool lacks = f->needs != NEEDS_MET;
    bool ready = w->suspended || (!lacks && placement_choose(f, &next_ns, &(size_t){0}) != DECIDE_UNPLACED);
    bool due = ready && at_ns <= f->now_ns;
    if (due && !decide_owes_status(f, m))
        return action_on_mirror(ACTION_DELETE, m, "the worker is drained");
    if (ready && !due)
        next_ns = at_ns;
    struct action copy = with_mirror(f, m);
    copy.leaves = due;
    if (copy.type == ACTION_NONE && !copy.waiting)
        copy = ready   ? action_none(copy.why)
               : lacks ? action_blocked(WAITING_DEPENDENCY, 0)
                       : action_blocked(WAITING_DRAIN, m->cluster);
    if (next_ns == CLOCK_NEVER || (copy.type != ACTION_NONE && copy.type != ACTION_WAIT))
        return copy;
    copy.at_ns = copy.type == ACTION_WAIT ? clock_earlier(copy.at_ns, next_ns) : next_ns;
    copy.type = ACTION_WAIT;
    return copy;
}

// The namespace in the worker no longer consents, and its mirrors leave, also without another worker. Rule 2: the host
// deletes the mirror first, as for a drained worker.
static struct action leave_namespace(const struct decide_facts *f, const struct mirror_facts *m) {
    struct action copy = with_mirror(f, m);
    if (m->finished || m->busy || m->being_deleted || m->unsure || f->busy || !f->placing || !f->management_connected)
        return copy;
    bool last = decide_owes_status(f, m);
    copy.leaves = decide_request_at_ns(m) <= f->now_ns;
    if (copy.leaves && !last)
        return action_on_mirror(ACTION_DELETE, m, "the namespace in the worker no longer consents");
    if (last || (copy.type != ACTION_NONE && copy.type != ACTION_WAIT))
        return copy;
    copy.at_ns = clock_earlier(copy.type == ACTION_WAIT ? copy.at_ns : CLOCK_NEVER, decide_request_at_ns(m));
    copy.type = ACTION_WAIT;
    return copy;
}

struct action decide_final_status(const struct decide_facts *f) {
    if (f->busy)
        return action_in_flight("a write to the workload is in flight");
    return decide_status_or_blocked(f, "the mirror has finished", WAITING_FINAL_STATUS, 0);
}

// The worker is unreachable: the host reschedules the workload after workerLostTimeout, and once a guard has
// certainly stopped the mirror. `worker` NULL: removed from the configuration.
static struct action decide_for_unreachable(const struct decide_facts *f, const struct mirror_facts *m,
                                            const struct worker_facts *worker, int64_t since_ns, enum waiting waiting) {
    const struct workload_facts *w = f->workload;
    if (worker && waiting == WAITING_WORKER && decide_fenced_ns(worker, f->shard, f->fence_begun_ns) == CLOCK_NEVER)
        waiting = WAITING_UNGUARDED;
    const char *why = waiting_text(waiting);
    if (decide_has_final_status(w) || (m && m->finished))
        return decide_final_status(f);
    bool gone = waiting == WAITING_UNKNOWN_WORKER && w->gone_attempt == w->attempt;
    bool clean = (w->clean_attempt == w->attempt && !m) || gone;
    int64_t until_ns = clean ? since_ns : decide_given_up_ns(f, worker, since_ns);
    if (!clean && f->wait_when_lost) {
        struct action copy = decide_status(f, why);
        return copy.type == ACTION_NONE && !copy.blocked
                   ? action_blocked(waiting == WAITING_IDENTITY ? waiting : WAITING_KEPT,
                                    w->cluster == DECIDE_UNKNOWN_CLUSTER ? 0 : w->cluster)
                   : copy;
    }
    if (!clean && until_ns > f->now_ns) {
        struct action copy = decide_status(f, why);
        if (copy.type == ACTION_NONE && !copy.blocked)
            return action_wait_until(until_ns, waiting, w->cluster == DECIDE_UNKNOWN_CLUSTER ? 0 : w->cluster);
        if (copy.type == ACTION_WAIT)
            copy.at_ns = clock_earlier(copy.at_ns, until_ns);
        return copy;
    }
    // A request sent just before the loss may still take effect.
    const struct mirror_facts *there = decide_mirror_in(f, w->cluster);
    if (!w->suspended && there && there->busy)
        return action_in_flight("a request about the mirror is in flight");
    if (w->suspended)
        return decide_queued(f, decide_status(f, "suspended"));
    return placement_move(f, waiting == WAITING_UNKNOWN_WORKER ? "the worker is not in the configuration"
                                                               : "the worker is unreachable");
}

// Rule 2: the outcome of an earlier create is unknown, and the worker, given up before, is reachable again. The watch
// may lag, so the host reads the mirror.
static bool verify_earlier(const struct decide_facts *f, struct action *action) {
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next) {
        const struct worker_facts *worker = &f->workers[m->cluster];
        if (!m->may_exist || m->present || m->cluster == f->workload->cluster || !worker->connected || worker->refused)
            continue;
        if (m->busy)
            *action = action_in_flight("the host reads an earlier mirror that may exist");
        else if (worker->frozen)
            *action = action_blocked(WAITING_IDENTITY, m->cluster);
        else if (decide_request_at_ns(m) > f->now_ns)
            *action = action_wait_until(decide_request_at_ns(m), WAITING_EARLIER, m->cluster);
        else
            *action = action_on_mirror(ACTION_VERIFY, m, "an earlier mirror may exist");
        return true;
    }
    return false;
}

// The worker is no longer a candidate: the host chooses another one once no create can have an effect there any more.
// `next_ns`: the time at which the worker may be a candidate again.
static struct action leave_worker(const struct decide_facts *f, const struct mirror_facts *m, int64_t next_ns) {
    const struct workload_facts *w = f->workload;
    int64_t sure_ns = m ? decide_absent_at_ns(m, f->lost_timeout_ns) : 0;
    bool absent = m && !m->may_exist && (m->excluded_until_ns || (m->absent_ns && m->absent_ns >= sure_ns));
    if (absent || w->clean_attempt == w->attempt)
        return placement_move(f, "the worker is no longer eligible");
    if (m && m->absent_ns && sure_ns > f->now_ns)
        return action_wait_until(clock_earlier(sure_ns, next_ns),
                                 f->view && f->view->lacks_capacity ? WAITING_CAPACITY : WAITING_EARLIER, w->cluster);
    return (struct action){
        .type = ACTION_VERIFY, .cluster = w->cluster, .attempt = w->attempt, .why = "the mirror may exist"};
}

// There is no mirror, and an author may have written the annotations: the host treats the workload as a new one that
// requests this worker.
static struct action create_unproven(const struct decide_facts *f, const struct mirror_facts *m, struct action create) {
    int64_t next_ns = CLOCK_NEVER;
    struct action wait;
    if (decide_waits_for_rival(f, &wait))
        return wait;
    return placement_permits(f, create.cluster, &next_ns) ? create : leave_worker(f, m, next_ns);
}

static const char *gone_because(const struct decide_facts *f) {
    if (f->workload->drained_attempt == f->workload->attempt)
        return f->no_consent ? "the namespace there does not consent" : "the worker is drained";
    return is_withdrawn(f) ? "the mirror did not start in time" : "the mirror was deleted";
}

// The worker is reachable and the mirror does not exist.
static struct action without_mirror(const struct decide_facts *f, const struct mirror_facts *m, size_t stale_pending) {
    const struct workload_facts *w = f->workload;
    if (m && m->busy)
        return action_in_flight("a request about the mirror is in flight");
    if (m && m->present && m->marks_stripped)
        return action_blocked(WAITING_GONE, m->cluster);
    if (m && decide_request_at_ns(m) > f->now_ns)
        return action_wait_until(decide_request_at_ns(m), WAITING_BACKOFF, m->cluster);
    if (m && m->unsure)
        return action_on_mirror(ACTION_VERIFY, m, "the mirror may be gone");
    if (w->suspended)
        return decide_queued(f, decide_status(f, "suspended"));
    if (w->gone_attempt == w->attempt && decide_has_last_status(w) && decide_owes_status(f, NULL))
        return decide_status(f, "the last status of the mirror");
    if (w->gone_attempt == w->attempt)
        return placement_move(f, gone_because(f));
    if (m && m->excluded_until_ns > f->now_ns)
        return placement_move(f, "the worker rejected the workload");
    if (m && m->present)
        return action_blocked(WAITING_PREDECESSOR, m->cluster);
    if (stale_pending)
        return action_blocked(WAITING_EARLIER, stale_pending);
    if (f->busy)
        return action_in_flight("a write to the workload is in flight");
    if (!f->placing && (w->clean_attempt == w->attempt || !f->own_record))
        return action_blocked(WAITING_STOPPING, 0);
    if (f->workers[w->cluster].closed && w->clean_attempt == w->attempt)
        return placement_move(f, "the worker accepts no new work");
    if (w->earlier_until_ns > f->now_ns)
        return action_wait_until(w->earlier_until_ns, WAITING_EARLIER, 0);
    int64_t unknown_until_ns = w->attempt > 1 ? placement_state_unknown_until_ns(f) : 0;
    if (unknown_until_ns > f->now_ns)
        return action_wait_until(unknown_until_ns, WAITING_STARTUP_GRACE, 0);
    if (w->record_unsure) // rule 4: the annotations may name another worker; the resourceVersion of this write decides
        return placement_move(f, "the last placement is unknown");
    struct action ask;
    if (verify_earlier(f, &ask))
        return ask;
    enum namespaces_verdict verdict = namespaces_judge(f->namespaces, &f->namespace_);
    enum namespaces_verdict there = placement_judge(f, w->cluster);
    if (verdict == NAMESPACES_UNDECIDED || there == NAMESPACES_UNDECIDED || f->consent_unknown)
        return action_blocked(WAITING_STARTUP_GRACE, 0);
    if (verdict == NAMESPACES_DENIED)
        return action_blocked(WAITING_NAMESPACE, 0);
    if (there == NAMESPACES_DENIED || f->no_consent)
        return leave_worker(f, m, CLOCK_NEVER);
    if (f->needs != NEEDS_MET)
        return action_blocked(WAITING_DEPENDENCY, 0);
    if (f->needs_there == NEEDS_LACKED)
        return leave_worker(f, m, CLOCK_NEVER);
    if (f->needs_there != NEEDS_MET)
        return action_blocked(WAITING_DEPENDENCY, w->cluster);
    struct action create = {.type = ACTION_CREATE, .cluster = w->cluster, .attempt = w->attempt, .why = "placed"};
    return f->own_record ? create : create_unproven(f, m, create);
}

// Rule 9: the host writes nothing in the worker, and copies only a status that the store already has.
static struct action frozen(const struct decide_facts *f, const struct mirror_facts *current) {
    return current ? decide_status_or_blocked(f, "follows the mirror", WAITING_IDENTITY, f->workload->cluster)
                   : action_blocked(WAITING_IDENTITY, f->workload->cluster);
}

struct action decide_for_disputed(const struct decide_facts *f, const struct mirror_facts *current) {
    const struct worker_facts *worker = &f->workers[current->cluster];
    if (worker->connected)
        return worker->frozen ? frozen(f, current) : with_mirror(f, current);
    return decide_status_or_blocked(f, waiting_text(WAITING_WORKER), WAITING_WORKER, current->cluster);
}

struct action decide_for_placed(const struct decide_facts *f, size_t stale_pending) {
    const struct workload_facts *w = f->workload;
    if (w->cluster == DECIDE_UNKNOWN_CLUSTER)
        return decide_for_unreachable(f, NULL, NULL, w->unknown_since_ns, WAITING_UNKNOWN_WORKER);
    const struct worker_facts *worker = &f->workers[w->cluster];
    const struct mirror_facts *current = decide_placed(f);
    if (decide_has_final_status(w) && !current)
        return decide_final_status(f);
    struct action retry;
    if (current && decide_retries(f, current, &retry))
        return retry;
    if (!worker->connected)
        return decide_for_unreachable(f, current, worker, worker->lost_since_ns,
                                      worker->refused ? WAITING_IDENTITY : WAITING_WORKER);
    if (worker->frozen)
        return frozen(f, current);
    if (current && f->leaves)
        return leave_namespace(f, current);
    if (current)
        return worker->moves ? drain(f, current) : wait_for_start(f, current, with_mirror(f, current));
    return without_mirror(f, decide_mirror_in(f, w->cluster), stale_pending);
}
