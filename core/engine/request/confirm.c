// SPDX-License-Identifier: Apache-2.0
#include "core/engine/request/confirm.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/observe/stale_version.h"
#include "core/engine/queue.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"

static bool is_in_worker(const struct action *action) {
    return action->type == ACTION_CREATE || action->type == ACTION_UPDATE || action->type == ACTION_DELETE ||
           action->type == ACTION_RELEASE;
}

struct action confirm_action(struct engine *engine, struct entry *entry, struct action action) {
    bool stale = stale_version_must_read(engine, entry);
    if (!stale && (!is_in_worker(&action) || shard_is_fresh(engine, entry)))
        return action;
    const char *why = stale ? "the list has an older version than the stored one: a read is next"
                            : "another host may have written the workload last: a read is next";
    struct action read = {.type = ACTION_READ, .cluster = ENGINE_MANAGEMENT, .why = why};
    if (entry->busy)
        return (struct action){.type = ACTION_NONE, .waiting = WAITING_ANSWER, .why = why};
    if (!cluster_is_connected(engine, ENGINE_MANAGEMENT, entry->kind))
        return (struct action){.type = ACTION_NONE, .blocked = true, .waiting = WAITING_MANAGEMENT, .why = why};
    int64_t at_ns = clock_later(entry->read_at_ns, entry->workload->facts.not_before_ns);
    if (at_ns > engine->now.mono_ns) {
        read.type = ACTION_WAIT;
        read.waiting = WAITING_BACKOFF;
        read.at_ns = at_ns;
    }
    return read;
}

bool confirm_read(struct engine *engine, struct entry *entry) {
    entry->busy = command_send(
        engine, entry, &(struct command_spec){.type = REQUEST_READ, .verb = VERB_GET, .cluster = ENGINE_MANAGEMENT});
    if (!entry->busy)
        queue_retry_soon(engine, &entry->read_at_ns);
    return true;
}
