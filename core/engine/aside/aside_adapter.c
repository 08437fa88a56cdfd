// SPDX-License-Identifier: Apache-2.0
// Adapters that are busy, or fail: their workloads wait in a list, and few are tried at a time.
#include "core/engine/aside/aside_adapter.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/limits/limits.h"
#include "core/engine/report/report.h"

#define BUSY_FIRST_NS (20 * CLOCK_MS)
#define BUSY_MAX_NS (1 * CLOCK_SECOND)
#define BATCH_MAX 64
#define PAUSE_FIRST_NS (1 * CLOCK_MINUTE)
#define PAUSE_MAX_NS (15 * CLOCK_MINUTE)
#define FREE_ORPHANS 2

static bool is_of(const struct aside_adapter *adapter, const struct kind *kind) {
    return adapter->kind == kind || (kind->adapter && adapter->kind->adapter == kind->adapter);
}

struct aside_adapter *aside_adapter_of(struct engine *engine, const struct kind *kind, bool make) {
    struct aside_adapter *adapter = engine->aside.adapters;
    while (adapter && !is_of(adapter, kind))
        adapter = adapter->next;
    if (adapter || !make || !(adapter = calloc(1, sizeof *adapter)))
        return adapter;
    *adapter = (struct aside_adapter){.kind = kind, .batch = 1, .next = engine->aside.adapters};
    engine->aside.adapters = adapter;
    return adapter;
}

const char *aside_adapter_name(const struct aside_adapter *adapter) {
    return adapter->kind->adapter ? adapter->kind->adapter->name : adapter->kind->plural_group;
}

bool aside_adapter_is_closed(const struct engine *engine, const struct aside_adapter *adapter,
                             const struct entry *entry) {
    if (!adapter)
        return false;
    bool orphan =
        !entry->workload->facts.exists && throttle_is_hot(&adapter->orphans, engine->now.mono_ns, FREE_ORPHANS);
    return orphan ||
           (adapter->state == ASIDE_TRIAL ? adapter->trial != entry || !adapter->ran : adapter->state != ASIDE_OPEN);
}

// The list ----------------------------------------------------------------------------------------------------------

void aside_adapter_remove(struct aside *aside) {
    struct aside_adapter *adapter = aside->in;
    if (!adapter)
        return;
    *(aside->previous ? &aside->previous->next : &adapter->first) = aside->next;
    *(aside->next ? &aside->next->previous : &adapter->last) = aside->previous;
    aside->next = aside->previous = NULL;
    aside->in = NULL;
}

void aside_adapter_add(struct aside_adapter *adapter, struct aside *aside, bool next) {
    if (aside->in == adapter && !next)
        return;
    aside_adapter_remove(aside);
    aside->in = adapter;
    aside->next = next ? adapter->first : NULL;
    aside->previous = next ? NULL : adapter->last;
    *(aside->next ? &aside->next->previous : &adapter->last) = aside;
    *(aside->previous ? &aside->previous->next : &adapter->first) = aside;
}

static void try_next(struct engine *engine, struct aside *aside) {
    aside_adapter_remove(aside);
    queue_entry(engine, aside->entry);
}

static void try_some(struct engine *engine, struct aside_adapter *adapter) {
    for (uint32_t i = 0; i < adapter->batch && adapter->first; i++)
        try_next(engine, adapter->first);
    adapter->batch = adapter->batch < BATCH_MAX ? adapter->batch * 2 : BATCH_MAX;
}

// Busy ----------------------------------------------------------------------------------------------------------------

void aside_adapter_busy(const struct engine *engine, struct aside_adapter *adapter, int64_t retry_ns) {
    int64_t wait_ns = clock_doubled(BUSY_FIRST_NS, adapter->waits, BUSY_MAX_NS);
    adapter->waits++;
    adapter->batch = 1;
    adapter->until_ns = engine->now.mono_ns + (retry_ns > 0 ? retry_ns : wait_ns);
    if (adapter->state == ASIDE_OPEN)
        adapter->state = ASIDE_BUSY;
    adapter->trial = NULL;
    adapter->ran = false;
}

void aside_adapter_ready(struct engine *engine, const struct adapter *of) {
    for (struct aside_adapter *adapter = engine->aside.adapters; adapter; adapter = adapter->next)
        if (adapter->kind->adapter == of && adapter->state != ASIDE_PAUSED) {
            adapter->until_ns = 0;
            adapter->waits = 0;
        }
}

// Pauses --------------------------------------------------------------------------------------------------------------

static void mark(struct engine *engine, const struct aside_adapter *adapter, bool on) {
    for (size_t k = 0; k < engine->n_kinds; k++)
        if (is_of(adapter, engine->kinds[k]))
            pause_adapter(engine, k, on);
}

static void pause_kinds(struct engine *engine, struct aside_adapter *adapter, const char *why) {
    int64_t now_ns = engine->now.mono_ns;
    char duration[CLOCK_RFC3339_MAX];
    if (adapter->pauses > 0 && now_ns - adapter->until_ns > PAUSE_MAX_NS)
        adapter->pauses = 0;
    int64_t wait_ns = clock_doubled(PAUSE_FIRST_NS, adapter->pauses, PAUSE_MAX_NS);
    adapter->pauses++;
    adapter->state = ASIDE_PAUSED;
    adapter->until_ns = now_ns + wait_ns;
    adapter->trial = NULL;
    memset(adapter->failed, 0, sizeof adapter->failed);
    mark(engine, adapter, true);
    clock_duration_text(wait_ns, duration);
    report_log(engine, LOG_WARN, ENGINE_MANAGEMENT, LOG_NO_KIND,
               "the kinds of adapter %s are paused for %s: %s (%s). The host changes nothing for them; then it tries "
               "one workload",
               aside_adapter_name(adapter), duration, why, adapter->text);
}

// In the place of the same workload, or of the oldest one.
static void note_workload(struct aside_adapter *adapter, uint64_t uid, int64_t now_ns) {
    size_t place = 0;
    for (size_t i = 1; i < ASIDE_FAILURES; i++)
        if (adapter->failed[i].at_ns < adapter->failed[place].at_ns)
            place = i;
    for (size_t i = 0; i < ASIDE_FAILURES; i++)
        if (adapter->failed[i].uid == uid)
            place = i;
    adapter->failed[place].uid = uid;
    adapter->failed[place].at_ns = now_ns;
}

void aside_adapter_failed(struct engine *engine, struct aside_adapter *adapter, uint64_t uid, const char *text) {
    int64_t now_ns = engine->now.mono_ns;
    size_t recent = 0;
    text_copy(adapter->text, sizeof adapter->text, text);
    if (uid == 0)
        (void)throttle_next(&adapter->orphans, now_ns, FREE_ORPHANS);
    else
        note_workload(adapter, uid, now_ns);
    for (size_t i = 0; i < ASIDE_FAILURES; i++)
        recent += adapter->failed[i].uid != 0 && now_ns - adapter->failed[i].at_ns < CLOCK_MINUTE;
    if (adapter->state == ASIDE_TRIAL)
        pause_kinds(engine, adapter, "the next try failed too");
    else if (recent == ASIDE_FAILURES)
        pause_kinds(engine, adapter, "the adapter failed for three workloads within a minute");
}

void aside_adapter_failed_to_load(struct engine *engine, const struct adapter *of, const char *text) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        struct aside_adapter *adapter =
            engine->kinds[k]->adapter == of ? aside_adapter_of(engine, engine->kinds[k], true) : NULL;
        if (!adapter)
            continue;
        text_copy(adapter->text, sizeof adapter->text, text);
        adapter->failed_to_load = true;
    }
}

static void end_pause(struct engine *engine, struct aside_adapter *adapter) {
    adapter->state = ASIDE_OPEN;
    adapter->trial = NULL;
    adapter->batch = 1;
    mark(engine, adapter, false);
    report_log(engine, LOG_INFO, ENGINE_MANAGEMENT, LOG_NO_KIND, "the kinds of adapter %s are handled again",
               aside_adapter_name(adapter));
}

// The trial is with a workload that did not break a call, if there is one.
static void begin_trial(struct engine *engine, struct aside_adapter *adapter) {
    struct aside *chosen = adapter->first;
    while (chosen && chosen->failures > 0)
        chosen = chosen->next;
    if (!chosen)
        chosen = adapter->first;
    if (!chosen) {
        end_pause(engine, adapter);
        return;
    }
    adapter->state = ASIDE_TRIAL;
    adapter->trial = chosen->entry;
    adapter->ran = false;
    try_next(engine, chosen);
}

void aside_adapter_began(const struct engine *engine, const struct entry *entry) {
    for (struct aside_adapter *adapter = engine->aside.adapters; adapter; adapter = adapter->next)
        adapter->ran |= adapter->state == ASIDE_TRIAL && adapter->trial == entry;
}

void aside_adapters_forget(const struct engine *engine, const struct entry *entry) {
    for (struct aside_adapter *adapter = engine->aside.adapters; adapter; adapter = adapter->next)
        if (adapter->trial == entry)
            adapter->trial = NULL;
}

void aside_adapters_retry(struct engine *engine) {
    for (struct aside_adapter *adapter = engine->aside.adapters; adapter; adapter = adapter->next) {
        adapter->until_ns = 0;
        adapter->pauses = 0;
        adapter->orphans = (struct throttle){0};
    }
}

void aside_adapters_count(struct engine *engine) {
    static const enum adapter_health healths[] = {ADAPTER_ACTIVE, ADAPTER_BUSY, ADAPTER_PAUSED, ADAPTER_PAUSED};
    for (const struct aside_adapter *adapter = engine->aside.adapters; adapter; adapter = adapter->next)
        for (size_t k = 0; k < engine->n_kinds; k++)
            if (is_of(adapter, engine->kinds[k])) {
                engine->stats.kinds[k].adapter = healths[adapter->state];
                text_copy(engine->stats.kinds[k].adapter_problem, CALL_TROUBLE_MAX, adapter->text);
            }
}

// The turns -----------------------------------------------------------------------------------------------------------

void aside_adapters_tick(struct engine *engine) {
    for (struct aside_adapter *adapter = engine->aside.adapters; adapter; adapter = adapter->next) {
        if (adapter->failed_to_load && adapter->state != ASIDE_PAUSED)
            pause_kinds(engine, adapter, "the adapter does not load");
        adapter->failed_to_load = false;
        bool due = adapter->until_ns <= engine->now.mono_ns;
        if (adapter->state == ASIDE_BUSY && due)
            adapter->state = ASIDE_OPEN;
        if ((adapter->state == ASIDE_PAUSED || (adapter->state == ASIDE_TRIAL && !adapter->trial)) && due)
            begin_trial(engine, adapter);
        if (adapter->state == ASIDE_OPEN)
            try_some(engine, adapter);
    }
}

void aside_adapters_step_ends(struct engine *engine) {
    for (struct aside_adapter *adapter = engine->aside.adapters; adapter; adapter = adapter->next) {
        if (adapter->state == ASIDE_TRIAL && adapter->trial && adapter->ran)
            end_pause(engine, adapter);
        if (adapter->state == ASIDE_OPEN)
            adapter->waits = 0;
    }
}

int64_t aside_adapters_due_ns(struct engine *engine) {
    int64_t due_ns = CLOCK_NEVER;
    for (const struct aside_adapter *adapter = engine->aside.adapters; adapter; adapter = adapter->next) {
        bool open = adapter->state == ASIDE_OPEN;
        if ((open && adapter->first) || (!open && !adapter->trial))
            due_ns = clock_earlier(due_ns, clock_later(adapter->until_ns, engine->now.mono_ns));
    }
    return due_ns;
}
