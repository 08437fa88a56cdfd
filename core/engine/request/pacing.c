// SPDX-License-Identifier: Apache-2.0
#include "core/engine/request/command.h"

#include "core/base/memory.h"
#include "core/engine/engine.h"

#define MANY 8                     // requests in flight
#define CALM_NS (2 * CLOCK_SECOND) // longer than the pauses of a burst

void pacing_begin(struct entry *entry) {
    entry->node.renewed = false;
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        m->node.renewed = false;
}

void pacing_end(struct entry *entry) {
    if (!entry->node.renewed)
        fair_queue_remove(&entry->node);
    else
        entry->busy = false;
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (!m->node.renewed)
            fair_queue_remove(&m->node);
        else
            m->facts.busy = false;
}

static bool is_final(const struct engine *engine, const struct entry *entry) {
    const struct mirror *mirror = facts_followed_mirror(engine, entry);
    return mirror ? mirror->facts.finished : decide_has_final_status(&entry->workload->facts);
}

static enum work_class class_of(const struct engine *engine, const struct entry *entry, const struct action *action,
                                const struct mirror *mirror) {
    switch (action->type) {
    case ACTION_STATUS:
        return is_final(engine, entry) ? WORK_FINAL_STATUS : WORK_STATUS;
    case ACTION_GIVE_UP:
        return WORK_FINAL_STATUS;
    case ACTION_UPDATE:
        return entry->workload->facts.suspended ? WORK_DELETE : mirror->facts.owed ? WORK_CREATE : WORK_REFRESH;
    case ACTION_DELETE:
    case ACTION_RELEASE:
        return WORK_DELETE;
    case ACTION_VERIFY: // a create may wait for the read
        return mirror->facts.present ? WORK_REFRESH : WORK_CREATE;
    default:
        return WORK_CREATE;
    }
}

static struct pace *pace_of(const struct engine *engine, size_t cluster) {
    return engine->clusters[cluster].request;
}

static bool has_room(struct engine *engine, size_t cluster) {
    return window_has_room(&pace_of(engine, cluster)->window, engine->now.mono_ns);
}

bool pacing_has_spare(struct engine *engine, size_t cluster) {
    return pace_of(engine, cluster)->queue.count == 0 && has_room(engine, cluster);
}

bool pacing_has_place(struct engine *engine, size_t cluster, size_t in_flight) {
    struct pace *pace = pace_of(engine, cluster);
    if (!pace || (pace->beside && pace->queue.count > 0) ||
        (in_flight > 0 && in_flight >= (size_t)pace->window.limit / 2))
        return false;
    bool room = has_room(engine, cluster);
    pace->window.full |= !room;
    return room;
}

bool pacing_is_calm(struct engine *engine, size_t cluster) {
    int64_t pressed_ns = pace_of(engine, cluster)->pressed_ns;
    return pacing_has_spare(engine, cluster) && (pressed_ns == 0 || engine->now.mono_ns - pressed_ns >= CALM_NS);
}

bool pacing_is_open(struct engine *engine, size_t cluster) {
    return pacing_has_spare(engine, cluster) || (engine->request.turn_of == cluster && has_room(engine, cluster));
}

bool pacing_admits(struct engine *engine, struct entry *entry, const struct action *action) {
    if (action->type == ACTION_NONE || action->type == ACTION_WAIT || action->type == ACTION_FORGET)
        return true;
    bool here = action->type == ACTION_PLACE || action->type == ACTION_STATUS || action->type == ACTION_READ ||
                action->type == ACTION_GIVE_UP;
    size_t cluster = here ? ENGINE_MANAGEMENT : action->cluster;
    struct pace *pace = pace_of(engine, cluster);
    if (pacing_is_open(engine, cluster))
        return true;
    struct mirror *mirror = here ? NULL : entry_make_mirror(entry, cluster);
    struct fair_node *node = here ? &entry->node : mirror ? &mirror->node : NULL;
    if (!node || !fair_queue_put(&pace->queue, node, entry, class_of(engine, entry, action, mirror), entry->kind,
                                 entry->key, entry->name_at - 1U))
        return true; // without memory the entry does not wait
    pace->window.full = true;
    pace->pressed_ns = engine->now.mono_ns;
    node->renewed = true;
    if (here)
        entry->busy = true;
    else
        mirror->facts.busy = true;
    return false;
}

struct entry *pacing_next(struct engine *engine) {
    for (size_t c = 0; c < engine->n_clusters; c++) {
        struct pace *pace = pace_of(engine, c);
        if (!pace || pace->queue.count == 0 || !has_room(engine, c))
            continue;
        engine->request.turn_of = c;
        pace->beside = false;
        pace->pressed_ns = engine->now.mono_ns;
        return fair_queue_next(&pace->queue);
    }
    engine->request.turn_of = REQUEST_NO_TURN;
    return NULL;
}

void pacing_sent(struct engine *engine, size_t cluster) {
    struct pace *pace = pace_of(engine, cluster);
    window_sent(&pace->window);
    engine->request.in_flight++;
    if (pace->window.in_flight >= MANY)
        pace->pressed_ns = engine->now.mono_ns;
}

void pacing_sent_beside(struct engine *engine, size_t cluster) {
    pace_of(engine, cluster)->beside = true;
    pacing_sent(engine, cluster);
}

static enum window_outcome outcome_of(const struct response *response) {
    enum reason reason = response->reason;
    if (reason == REASON_NOT_SENT)
        return WINDOW_NOT_HEARD;
    bool overloaded = reason == REASON_TOO_MANY || reason == REASON_UNKNOWN_OUTCOME ||
                      (reason == REASON_SERVER_ERROR && response->retry_after_ns >= 0);
    return overloaded ? WINDOW_OVERLOADED : WINDOW_ANSWERED;
}

void pacing_answered(struct engine *engine, size_t cluster, enum window_verb verb, const struct response *response,
                     int64_t round_trip_ns) {
    struct pace *pace = pace_of(engine, cluster);
    engine->request.in_flight--;
    if (pace) // NULL: the worker has left
        window_answered(&pace->window, verb, outcome_of(response), round_trip_ns, engine->now.mono_ns);
}

void pacing_count(struct engine *engine) {
    for (size_t c = 0; c < engine->n_clusters; c++) {
        struct stats_cluster *stats = &engine->stats.clusters[c];
        const struct pace *pace = pace_of(engine, c);
        if (!pace)
            continue;
        stats->window = (uint64_t)pace->window.limit;
        stats->in_flight = pace->window.in_flight;
        for (size_t i = 0; i < WORK_CLASSES; i++)
            stats->waiting[i] = pace->queue.classes[i].count;
    }
}

size_t pacing_waiting(const struct engine *engine) {
    size_t count = 0;
    for (size_t c = 0; c < engine->n_clusters; c++)
        count += pace_of(engine, c) ? pace_of(engine, c)->queue.count : 0;
    return count;
}

int64_t pacing_due_ns(struct engine *engine) {
    int64_t wake_ns = CLOCK_NEVER, now_ns = engine->now.mono_ns;
    for (size_t c = 0; c < engine->n_clusters; c++) {
        const struct pace *pace = pace_of(engine, c);
        if (pace && pace->queue.count > 0)
            wake_ns = clock_earlier(wake_ns, has_room(engine, c) ? now_ns : window_next_ns(&pace->window, now_ns));
    }
    return wake_ns;
}

void pacing_refresh_rate(struct engine *engine, size_t cluster) {
    const struct worker_settings *own = &engine->clusters[cluster].settings;
    bool is_set = own->qps > 0; // else the limit of all clusters applies
    double qps = is_set ? own->qps : engine->settings.qps, burst = is_set ? own->burst : engine->settings.burst;
    window_set_rate(&pace_of(engine, cluster)->window, qps, burst, engine->now.mono_ns);
}

void pacing_join(struct engine *engine, size_t cluster, struct pace *pace) {
    engine->clusters[cluster].request = pace;
    window_init(&pace->window, engine->request.window_max, 0, 0, engine->now.mono_ns);
    pacing_refresh_rate(engine, cluster);
    fair_queue_init(&pace->queue, engine->seed);
}

void pacing_leave(struct engine *engine, size_t cluster) {
    struct pace *pace = TAKE(engine->clusters[cluster].request);
    if (pace)
        fair_queue_free(&pace->queue);
    free(pace);
}

void pacing_step_ends(struct engine *engine) {
    engine->request.turn_of = REQUEST_NO_TURN;
    window_charge(&pace_of(engine, ENGINE_MANAGEMENT)->window,
                  (double)(engine->update->n_events - engine->events_before));
}
