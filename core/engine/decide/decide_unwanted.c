// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide/decide_parts.h"

#include "core/base/clock.h"

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

// Whether a mirror in an unreachable cluster is not given up yet; lowers *waiting_ns to that time.
static bool is_waited_for(const struct decide_facts *f, const struct mirror_facts *m, int64_t *waiting_ns) {
    const struct worker_facts *worker = &f->workers[m->cluster];
    int64_t until_ns = decide_given_up_ns(f, worker, worker->lost_since_ns);
    if (!f->workload->exists || !m->of_workload || until_ns <= f->now_ns)
        return false;
    *waiting_ns = clock_earlier(*waiting_ns, until_ns);
    return true;
}

bool decide_may_run(const struct decide_facts *f, const struct mirror_facts *m, int64_t *waiting_ns) {
    return !decide_is_there(f, m) && !decide_placed(f) && is_waited_for(f, m, waiting_ns);
}

// Quarantined, and being deleted, as Event MirrorHeld requests.
static bool is_quarantined_and_deleted(const struct decide_facts *f, const struct mirror_facts *m) {
    return decide_is_quarantined(f, m) && m->being_deleted && m->finalizer && !m->busy;
}

struct action decide_remove_unwanted(const struct decide_facts *f, int64_t *waiting_ns, size_t *pending,
                                     bool *is_blocked) {
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next) {
        if (!m->present)
            continue;
        if (!is_unwanted(f, m)) {
            if (m != decide_placed(f) && (decide_is_there(f, m) || decide_may_run(f, m, waiting_ns)))
                *pending = m->cluster;
            if (!is_quarantined_and_deleted(f, m))
                continue;
            if (!decide_is_usable(f, m->cluster) || !f->management_listed)
                *is_blocked = true;
            else if (decide_request_at_ns(m) <= f->now_ns)
                return decide_release(m, "the unproven mirror was deleted in the worker");
            else
                *waiting_ns = clock_earlier(*waiting_ns, decide_request_at_ns(m));
            continue;
        }
        // Rule 7: orphans stay until both lists are complete.
        if (!decide_is_usable(f, m->cluster) || !f->management_listed) {
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
        if (decide_request_at_ns(m) > f->now_ns) {
            *waiting_ns = clock_earlier(*waiting_ns, decide_request_at_ns(m));
            continue;
        }
        if (m->finalizer)
            return decide_release(m, "the status is no longer needed");
        if (m->being_deleted)
            return action_on_mirror(ACTION_VERIFY, m, "no watch shows the deletion");
        return action_on_mirror(ACTION_DELETE, m, f->workload->exists ? "stale mirror" : "orphan");
    }
    return action_none(NULL);
}
