// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide/decide_parts.h"
#include "core/engine/placement/placement.h"

static bool is_waiting(const struct decide_facts *f, const struct mirror_facts *m) {
    return f->unstarted && f->unstarted->timeout_ns > 0 && m->unstarted_since_ns && !m->finished && !m->being_deleted &&
           !f->workload->suspended;
}

struct action decide_waits_to_start(const struct decide_facts *f, const struct mirror_facts *m,
                                    struct action otherwise) {
    if (!is_waiting(f, m) || (otherwise.type != ACTION_NONE && otherwise.type != ACTION_WAIT))
        return otherwise;
    int64_t at_ns = clock_after(m->unstarted_since_ns, f->unstarted->timeout_ns);
    at_ns = clock_later(at_ns, decide_request_at_ns(m));
    if (at_ns <= f->now_ns) {
        // A write in flight could start the mirror, or there is a sign of a start.
        if (m->busy || m->unsure || f->busy || !f->placing || !f->management_connected) {
            otherwise.blocked = true; // the decision follows once the management cluster is reachable
            return otherwise;
        }
        struct action withdraw = action_on_mirror(ACTION_DELETE, m, "the mirror did not start in time");
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

bool decide_is_withdrawn(const struct decide_facts *f) {
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
