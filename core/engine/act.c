// SPDX-License-Identifier: Apache-2.0
// Reconciles one entry: calls decide() with the facts and turns the action into commands.
#include "core/engine/engine_internal.h"

#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"
#include "core/engine/unstarted/unstarted.h"

// Frees mirrors that do not exist and have no state to keep.
static void drop_empty_mirrors(struct engine *engine, struct entry *entry) {
    for (struct mirror *m = entry_mirrors(entry), *next; m; m = next) {
        next = mirror_next(m);
        if (m->facts.present || m->facts.busy)
            continue;
        bool elsewhere = m->facts.cluster != entry->workload->facts.cluster && m->refusals == 0 && !m->facts.tried &&
                         !m->facts.unsure && !m->facts.may_exist;
        if (!entry->workload->facts.exists || entry->workload->facts.finished || elsewhere)
            entry_remove_mirror(&engine->store, entry, m);
    }
}

static bool perform(struct engine *engine, struct entry *entry, const struct action *action) {
    struct mirror *mirror = entry_mirror(entry, action->cluster);
    switch (action->type) {
    case ACTION_PLACE:
        return act_place(engine, entry, action);
    case ACTION_CREATE:
        return act_create(engine, entry, action);
    case ACTION_UPDATE:
        return act_update(engine, entry, mirror);
    case ACTION_STATUS:
        return act_status(engine, entry, action->leaves);
    case ACTION_DELETE:
        return action->withdraws ? act_withdraw(engine, entry, mirror) : act_delete(engine, entry, mirror);
    case ACTION_RELEASE:
        return act_release(engine, entry, mirror);
    case ACTION_VERIFY:
        return act_verify(engine, entry, action->cluster);
    case ACTION_READ:
        return confirm_read(engine, entry);
    case ACTION_GIVE_UP:
        return unstarted_give_up(engine, entry);
    default:
        return false;
    }
}

static void forget(struct engine *engine, struct entry *entry) {
    EACH_PART(part, entry_ends) part->entry_ends(engine, entry);
    store_remove(&engine->store, entry);
}

// Another host writes: only free state that is no longer needed.
static void stand_by(struct engine *engine, struct entry *entry) {
    EACH_PART(part, stand_by) part->stand_by(engine, entry);
    drop_empty_mirrors(engine, entry);
    pacing_begin(entry);
    pacing_end(entry);
    if (!entry->workload->facts.exists && !entry->mirrors && !entry->busy && entry->lookups == 0)
        forget(engine, entry);
}

void act_reconcile(struct engine *engine, struct entry *entry) {
    heap_remove(&engine->queue.timers, &entry->timer); // the decisions set the timer anew
    if (!shard_is_held(engine, entry)) {
        stand_by(engine, entry);
        return;
    }
    EACH_PART(part, before) part->before(engine, entry);
    drop_empty_mirrors(engine, entry);
    // After the host gave up a lost worker, the status no longer comes from the mirror.
    if (entry->workload->facts.exists && !entry->workload->facts.finished && facts_worker_is_lost(engine, entry))
        entry->workload->facts.status_due = true;
    pacing_begin(entry);
    struct action action;
    do {
        action = confirm_action(engine, entry, facts_decide(engine, entry));
        report_decision(engine, entry, &action);
    } while (!pacing_admits(engine, entry, &action) || perform(engine, entry, &action));
    pacing_end(entry);
    entry->blocked = action.blocked;
    entry->why = action.why;
    if (entry->workload->facts.exists)
        EACH_PART(part, after) part->after(engine, entry, &action);
    if (action.type == ACTION_FORGET && !entry->busy && entry->lookups == 0) {
        forget(engine, entry);
        return;
    }
    if (action.type == ACTION_WAIT)
        queue_wake(engine, entry, action.at_ns);
}
