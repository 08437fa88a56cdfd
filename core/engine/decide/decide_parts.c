// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide/decide_parts.h"

struct action action_none(const char *why) {
    return (struct action){.type = ACTION_NONE, .why = why};
}

struct action action_in_flight(const char *why) {
    return (struct action){.type = ACTION_NONE, .waiting = WAITING_ANSWER, .why = why};
}

struct action action_blocked(enum waiting waiting, size_t cluster) {
    return (struct action){
        .type = ACTION_NONE, .cluster = cluster, .blocked = true, .waiting = waiting, .why = waiting_text(waiting)};
}

struct action action_wait_until(int64_t at_ns, enum waiting waiting, size_t cluster) {
    struct action action = action_blocked(waiting, cluster);
    action.type = ACTION_WAIT;
    action.at_ns = at_ns;
    return action;
}

struct action action_on_mirror(enum action_type type, const struct mirror_facts *mirror, const char *why) {
    return (struct action){.type = type, .cluster = mirror->cluster, .attempt = mirror->attempt, .why = why};
}

int64_t decide_given_up_ns(const struct decide_facts *f, const struct worker_facts *worker, int64_t since_ns) {
    int64_t at_ns = clock_after(since_ns, f->lost_timeout_ns);
    return worker ? clock_later(at_ns, decide_fenced_ns(worker, f->shard, f->fence_begun_ns)) : at_ns;
}

bool decide_is_usable(const struct decide_facts *f, size_t cluster) {
    return f->workers[cluster].connected && !f->workers[cluster].frozen;
}

const struct mirror_facts *decide_mirror_in(const struct decide_facts *f, size_t cluster) {
    const struct mirror_facts *m = f->mirrors;
    while (m && m->cluster != cluster)
        m = m->next;
    return m;
}

const struct mirror_facts *decide_placed(const struct decide_facts *f) {
    const struct workload_facts *w = f->workload;
    if (w->attempt == 0 || w->cluster == DECIDE_UNKNOWN_CLUSTER)
        return NULL;
    const struct mirror_facts *m = decide_mirror_in(f, w->cluster);
    return m && m->present && m->of_workload && !m->marks_stripped && m->attempt == w->attempt ? m : NULL;
}

const struct mirror_facts *decide_followed(const struct decide_facts *f) {
    const struct mirror_facts *m = decide_placed(f);
    if (!m || m->finished || f->wait_when_lost || f->workers[m->cluster].connected)
        return m;
    const struct worker_facts *worker = &f->workers[m->cluster];
    return decide_given_up_ns(f, worker, worker->lost_since_ns) <= f->now_ns ? NULL : m;
}

bool decide_is_disputed(const struct workload_facts *w, const struct mirror_facts *placed) {
    return w->finished && !w->ended && placed && !placed->finished;
}

bool decide_is_unread(const struct decide_facts *f) {
    const struct mirror_facts *placed = decide_placed(f);
    return f->adapter_waits || f->workload->unread || f->workload->final_unread || (placed && placed->unread);
}

bool decide_has_final_status(const struct workload_facts *w) {
    return w->has_final_status && w->final_attempt == w->attempt && !w->finished;
}

bool decide_has_last_status(const struct workload_facts *w) {
    return w->has_last_status && w->final_attempt == w->attempt && !w->finished;
}

int64_t decide_request_at_ns(const struct mirror_facts *m) {
    return clock_later(m->not_before_ns, m->held_until_ns);
}

int64_t decide_deletion_at_ns(const struct decide_facts *f, const struct mirror_facts *m) {
    const struct workload_facts *w = f->workload;
    bool read = w->exists && !w->being_deleted && m->of_workload && !m->being_deleted && m->attempt == f->words_attempt;
    return clock_later(decide_request_at_ns(m), read ? f->words_until_ns : 0);
}

bool decide_is_there(const struct decide_facts *f, const struct mirror_facts *m) {
    return m && f->workers[m->cluster].connected;
}

struct action decide_release(const struct mirror_facts *m, const char *why) {
    return m->unsure ? action_on_mirror(ACTION_VERIFY, m, "the finalizers may have changed")
                     : action_on_mirror(ACTION_RELEASE, m, why);
}

struct action decide_if_writable(const struct decide_facts *f, struct action write) {
    if (f->busy)
        return action_in_flight("a write to the workload is in flight");
    if (!f->management_connected)
        return action_blocked(WAITING_MANAGEMENT, 0);
    if (f->workload->not_before_ns > f->now_ns)
        return action_wait_until(f->workload->not_before_ns, WAITING_BACKOFF, 0);
    return write;
}

bool decide_waits_for_rival(const struct decide_facts *f, struct action *action) {
    bool also_run = f->also_run_until_ns > f->now_ns;
    *action = also_run ? action_wait_until(f->also_run_until_ns, WAITING_ALSO_RUN, 0)
                       : action_wait_until(f->probation_until_ns, WAITING_PROBATION, 0);
    return also_run || f->probation_until_ns > f->now_ns;
}

struct action decide_place(const struct decide_facts *f, size_t cluster, uint32_t attempt, const char *why) {
    if (attempt > 1 && f->changes_at_ns > f->now_ns)
        return action_wait_until(f->changes_at_ns, WAITING_CHANGES, 0);
    return decide_if_writable(
        f, (struct action){.type = ACTION_PLACE, .cluster = cluster, .attempt = attempt, .why = why});
}

// Of a workload that yields: the worker rejects the suspension of the mirror.
static bool runs_on(const struct decide_facts *f, const struct mirror_facts *m) {
    return m && !m->suspended && !m->busy && m->update_due && m->update_at_ns > f->now_ns;
}

bool decide_status_is_due(const struct decide_facts *f) {
    const struct workload_facts *w = f->workload;
    const struct mirror_facts *followed = decide_followed(f);
    // Reads the status first; or the mirror's says nothing that the workload's does not.
    if (followed && (followed->name_only || followed->owed || followed->untouched))
        return false;
    if (w->yield_unsure || (w->yields && !runs_on(f, followed)))
        return false;
    return w->status_due || (w->status_held && w->statuses.at_ns <= f->now_ns);
}

struct action decide_status(const struct decide_facts *f, const char *why) {
    const struct workload_facts *w = f->workload;
    bool due = decide_status_is_due(f);
    if (!due && w->status_held && w->statuses.at_ns > f->now_ns)
        return action_wait_until(w->statuses.at_ns, WAITING_REPEATED, 0);
    if (!due)
        return action_none(why);
    if (f->status_at_ns > f->now_ns)
        return action_wait_until(f->status_at_ns, WAITING_STATUS, 0);
    if (f->bytes_at_ns > f->now_ns)
        return action_wait_until(f->bytes_at_ns, WAITING_BYTES, w->cluster);
    if (f->changes_at_ns > f->now_ns && !f->status_passes)
        return action_wait_until(f->changes_at_ns, WAITING_CHANGES, 0);
    return decide_if_writable(f, (struct action){.type = ACTION_STATUS, .why = why});
}

struct action decide_status_or_blocked(const struct decide_facts *f, const char *why, enum waiting waiting,
                                       size_t cluster) {
    struct action copy = decide_status(f, why);
    return copy.type == ACTION_NONE && !copy.waiting ? action_blocked(waiting, cluster) : copy;
}

bool decide_may_release(const struct decide_facts *f, const struct mirror_facts *m) {
    return m->finalizer && !m->busy && decide_request_at_ns(m) <= f->now_ns && decide_is_usable(f, m->cluster);
}

struct action decide_queued(const struct decide_facts *f, struct action action) {
    const struct workload_facts *w = f->workload;
    if (action.type == ACTION_NONE && !action.waiting && (w->check_rejected || w->queued))
        action.waiting = w->check_rejected ? WAITING_CHECK_REJECTED : WAITING_KUEUE;
    return action;
}
