// SPDX-License-Identifier: Apache-2.0
#include "core/engine/mirror/unresumed.h"

#include "core/adapter/phase.h"
#include "core/engine/facts.h"

void unresumed_read(const struct engine *engine, const struct entry *entry, struct mirror *mirror,
                    const struct json *object) {
    mirror->facts.suspended = phase_suspend_asked(&engine->kinds[entry->kind]->abi, object);
    mirror->facts.left_suspended &= mirror->facts.suspended;
}

void unresumed_put(const struct engine *engine, const struct entry *entry, struct buffer *out) {
    const struct mirror *m = facts_placed_mirror(entry);
    buffer_text(out, waiting_text(WAITING_RESUME));
    if (!m)
        return;
    if (m->refused)
        buffer_printf(out, ": the worker rejects the change: %s", m->refused->message ? m->refused->message : "");
    else if (m->facts.fenced)
        buffer_text(out, ": its worker's guard suspended it, and would suspend it again");
    else if (m->dropping_reported)
        buffer_text(out, ": the worker accepts the change and stores nothing of it");
    else if (m->updates.at_ns > engine->now.mono_ns)
        buffer_text(out, ": another writer undoes the change, which is repeated with growing delays");
    else if (!m->facts.update_due)
        buffer_text(out, ": its adapter waits until the worker can accept what has changed");
}
