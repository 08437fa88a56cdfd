// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/placement.h"

#include "core/base/namespace_map.h"
#include "core/base/text.h"
#include "core/engine/decide/decide_parts.h"

// Permitted namespaces -------------------------------------------------------------------------------------------

#define ALLOW '+'
#define DENY '-'
#define SELECT '='

static const char *next_line(const char *line) {
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

// The configuration has checked the selector; without memory no namespace matches.
static bool is_selected(const char *text, const char *labels) {
    AUTO_TEXT line = strndup(text, strcspn(text, "\n"));
    struct selector selector = {.n_terms = 0};
    struct error *error = line ? selector_parse(line, &selector) : error_no_memory();
    bool met = !error && selector_is_met(&selector, labels);
    error_free(error);
    selector_clear(&selector);
    return met;
}

enum namespaces_verdict namespaces_judge(const char *rule, const struct namespaces_subject *subject) {
    bool any_allowed = false, allowed = false;
    const char *selector = NULL;
    if (subject->len == 0)
        return NAMESPACES_PERMITTED;
    for (const char *line = rule; line && *line; line = next_line(line)) {
        bool matches = *line != SELECT && text_matches(line + 1, strcspn(line + 1, "\n"), subject->name, subject->len);
        if (*line == SELECT && !selector)
            selector = line + 1;
        else if (*line == DENY && matches)
            return NAMESPACES_DENIED;
        any_allowed |= *line == ALLOW;
        allowed |= *line == ALLOW && matches;
    }
    if (any_allowed && !allowed)
        return NAMESPACES_DENIED;
    if (selector && !subject->labels_known)
        return NAMESPACES_UNDECIDED;
    return !selector || is_selected(selector, subject->labels) ? NAMESPACES_PERMITTED : NAMESPACES_DENIED;
}

static bool has_name_there(const struct decide_facts *f, const char *map) {
    char here[NAMESPACE_SIZE], there[NAMESPACE_SIZE];
    if (!map || f->namespace_.len == 0)
        return true;
    if (f->namespace_.len >= sizeof here)
        return false;
    memcpy(here, f->namespace_.name, f->namespace_.len);
    here[f->namespace_.len] = '\0';
    return namespace_there(map, f->origin, here, there);
}

enum namespaces_verdict placement_judge(const struct decide_facts *f, size_t cluster) {
    const struct worker_facts *w = &f->workers[cluster];
    enum namespaces_verdict verdict = namespaces_judge(w->namespaces, &f->namespace_);
    return verdict == NAMESPACES_PERMITTED && !has_name_there(f, w->renames) ? NAMESPACES_DENIED : verdict;
}

// The choice -----------------------------------------------------------------------------------------------------

static int compare(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

// In thousandths of a workload.
static uint64_t load_of(const struct worker_facts *w, int64_t now_ns) {
    return w->active * UINT64_C(1000) + recent_thousandths(&w->finished, now_ns);
}

// Negative: `a` is better than `b`.
static int compare_workers(enum placement_policy policy, const struct worker_facts *a, const struct worker_facts *b,
                           int64_t now_ns) {
    int by = 0;
    if (policy == PLACEMENT_LEAST_ACTIVE)
        by = compare(load_of(a, now_ns), load_of(b, now_ns));
    else if (policy == PLACEMENT_WEIGHTED) // least share, with this workload
        by = compare((load_of(a, now_ns) + 1000) * b->weight, (load_of(b, now_ns) + 1000) * a->weight);
    else if (policy == PLACEMENT_BIN_PACK)
        by = compare(b->active, a->active);
    if (by == 0 && policy == PLACEMENT_WEIGHTED)
        by = compare(b->weight, a->weight);
    else if (by == 0 && policy != PLACEMENT_LEAST_ACTIVE) // 0 is after all others
        by = compare(a->order - 1U, b->order - 1U);
    return by ? by : strcmp(a->name, b->name);
}

// Has not started the mirror before, and is a candidate again, after all others.
static bool is_second_choice(const struct decide_facts *f, size_t cluster) {
    const struct mirror_facts *m = decide_mirror_in(f, cluster);
    return m && m->changed;
}

bool placement_is_avoided(const struct decide_facts *f, size_t cluster) {
    return f->view && f->view->workers[cluster].avoided;
}

static bool is_better(const struct decide_facts *f, size_t a, size_t b) {
    const struct placement_view *view = f->view;
    if (placement_is_avoided(f, a) != placement_is_avoided(f, b))
        return placement_is_avoided(f, b);
    if (is_second_choice(f, a) != is_second_choice(f, b))
        return is_second_choice(f, b);
    if (view && view->pinned)
        return view->workers[a].rank < view->workers[b].rank;
    if (view && view->workers[a].score != view->workers[b].score)
        return view->workers[a].score > view->workers[b].score;
    if (view && view->policy == PLACEMENT_BIN_PACK && view->workers[a].fullness != view->workers[b].fullness)
        return view->workers[a].fullness > view->workers[b].fullness;
    return compare_workers(view ? view->policy : PLACEMENT_LEAST_ACTIVE, &f->workers[a], &f->workers[b], f->now_ns) < 0;
}

bool placement_permits(const struct decide_facts *f, size_t cluster, int64_t *next_ns) {
    const struct placement_option *option = f->view ? &f->view->workers[cluster] : NULL;
    const struct mirror_facts *m = decide_mirror_in(f, cluster);
    int64_t until_ns = 0;
    if (f->asks)
        *f->asks = true;
    if (!decide_is_eligible(f, cluster) || placement_judge(f, cluster) != NAMESPACES_PERMITTED)
        return false;
    if (option && option->obstacle != OBSTACLE_NONE)
        until_ns = option->until_ns;
    else if (m && m->excluded_until_ns > f->now_ns)
        until_ns = m->excluded_until_ns;
    if (until_ns)
        *next_ns = clock_earlier(*next_ns, until_ns);
    return !until_ns;
}

// `again`: also workers that did not start the mirror.
static bool is_candidate(const struct decide_facts *f, size_t cluster, bool again, int64_t *next_ns) {
    if (!placement_permits(f, cluster, next_ns))
        return false;
    const struct mirror_facts *m = decide_mirror_in(f, cluster);
    // An unwanted mirror there must be gone first.
    return !m || (!m->present && (again || !decide_is_tried(f, m)));
}

static size_t choose_once(const struct decide_facts *f, bool again, int64_t *next_ns, size_t *candidates) {
    size_t best = DECIDE_UNPLACED;
    *candidates = 0;
    for (size_t c = 1; c < f->n_clusters; c++) {
        if (!is_candidate(f, c, again, next_ns))
            continue;
        ++*candidates;
        if (best == DECIDE_UNPLACED || is_better(f, c, best))
            best = c;
    }
    return best;
}

size_t placement_candidates(const struct decide_facts *f, size_t *list) {
    size_t count = 0;
    int64_t next_ns = CLOCK_NEVER;
    for (int again = 0; again < 2 && count == 0; again++)
        for (size_t c = 1; c < f->n_clusters; c++)
            if (is_candidate(f, c, again, &next_ns))
                list[count++] = c;
    return count;
}

size_t placement_choose(const struct decide_facts *f, int64_t *next_ns, size_t *candidates) {
    size_t best = choose_once(f, false, next_ns, candidates);
    return best == DECIDE_UNPLACED && decide_round_begins(f, next_ns) ? choose_once(f, true, next_ns, candidates)
                                                                      : best;
}

bool placement_in_startup_grace(const struct decide_facts *f) {
    for (size_t c = 1; c < f->n_clusters && !f->startup_grace_is_over; c++)
        if (!f->workers[c].state_known)
            return true;
    return false;
}

int64_t placement_state_unknown_until_ns(const struct decide_facts *f) {
    int64_t until_ns = 0;
    const struct workload_facts *workload = f->workload;
    bool any = workload->clean_attempt != workload->attempt || workload->given_up == DECIDE_GIVEN_UP_SEVERAL;
    for (size_t c = 1; c < f->n_clusters; c++) {
        const struct worker_facts *w = &f->workers[c];
        int64_t lost_ns = clock_after(w->lost_since_ns, f->lost_timeout_ns);
        if (!w->state_known && (any || (workload->given_up && w->name_hash == workload->given_up)) &&
            lost_ns != CLOCK_NEVER)
            until_ns = clock_later(until_ns, lost_ns);
    }
    return until_ns;
}

// Why no worker is a candidate now.
static struct action nowhere(const struct decide_facts *f, int64_t next_ns) {
    if (f->view && f->view->lacks_capacity)
        return action_wait_until(next_ns, WAITING_CAPACITY, 0);
    if (next_ns != CLOCK_NEVER)
        return action_wait_until(next_ns, WAITING_REFUSED, 0);
    for (const struct mirror_facts *m = f->mirrors; m; m = m->next)
        if (m->present && f->workers[m->cluster].connected)
            return action_blocked(WAITING_PREDECESSOR, m->cluster);
    return action_blocked(f->view && f->view->waits_for_limit ? WAITING_MAX_ACTIVE : WAITING_NO_WORKER, 0);
}

struct action placement_move(const struct decide_facts *f, const char *why) {
    const struct workload_facts *w = f->workload;
    enum namespaces_verdict verdict = namespaces_judge(f->namespaces, &f->namespace_);
    if (verdict != NAMESPACES_PERMITTED)
        return action_blocked(verdict == NAMESPACES_DENIED ? WAITING_NAMESPACE : WAITING_STARTUP_GRACE, 0);
    if (!f->placing)
        return action_blocked(WAITING_STOPPING, 0);
    if (placement_in_startup_grace(f))
        return action_blocked(WAITING_STARTUP_GRACE, 0);
    if (w->attempt && w->clean_attempt != w->attempt && w->places.at_ns > f->now_ns)
        return action_wait_until(w->places.at_ns, WAITING_REPEATED, 0);
    if (f->needs != NEEDS_MET)
        return f->needs_at_ns ? action_wait_until(f->needs_at_ns, WAITING_DEPENDENCY, 0)
                              : action_blocked(WAITING_DEPENDENCY, 0);
    int64_t next_ns = CLOCK_NEVER;
    size_t candidates = 0, best = placement_choose(f, &next_ns, &candidates);
    if (best == DECIDE_UNPLACED || decide_time_is_up(f))
        return decide_gives_up(f, nowhere(f, next_ns));
    struct action place = decide_place(f, best, w->attempt + 1, why);
    place.had_choice = candidates > 1;
    return place;
}
