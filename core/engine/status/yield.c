// SPDX-License-Identifier: Apache-2.0
// hybrid: suspend. A placed workload that a controller in the management cluster also runs is left to that controller:
// the host suspends the mirror, writes no status, and the workload ends with the controller's final status.
#include "core/adapter/phase.h"
#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/status/status.h"
#include "core/engine/unstarted/unstarted.h"
#include "core/json/pointer.h"

bool yield_is_wanted(const struct engine *engine, const struct entry *entry) {
    const struct kind *kind = engine->kinds[entry->kind];
    return kind->hybrid == HYBRID_SUSPEND && kind->abi.suspend && entry->workload->facts.attempt > 0;
}

void yield_set(struct engine *engine, struct entry *entry, bool yields) {
    struct workload_facts *w = &entry->workload->facts;
    w->yield_unsure = false;
    if (w->yields == yields)
        return;
    const struct json *object = doc_tree(&engine->store, &entry->workload->doc);
    w->yields = yields;
    w->suspended = yields || phase_suspend_asked(&engine->kinds[entry->kind]->abi, object);
    w->status_due |= !yields;
    if (!w->suspended)
        unstarted_resumed(engine, entry);
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
        m->facts.update_due = true;
        m->facts.update_at_ns = 0;
        m->carry = CARRY_UNKNOWN;
    }
    queue_entry(engine, entry);
}

struct json *yield_workload(const struct engine *engine, const struct entry *entry, const struct json *workload) {
    const wharf_kind *abi = &engine->kinds[entry->kind]->abi;
    if (!entry->workload->facts.yields || phase_suspend_asked(abi, workload))
        return NULL;
    AUTO_JSON copy = json_copy(workload);
    return pointer_set(copy, abi->suspend, phase_suspend_value(abi, workload)) ? TAKE(copy) : NULL;
}
