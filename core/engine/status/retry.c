// SPDX-License-Identifier: Apache-2.0
#include "core/engine/status/retry.h"

#include "core/engine/kueue/kueue.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/part.h"
#include "core/engine/queue.h"
#include "core/engine/status/rival.h"
#include "core/engine/unstarted/unstarted.h"

void retry_read(const struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    const char *value = object_annotation(object, MARK_RETRY);
    uint64_t wide = value ? text_hash(TEXT_HASH, value) : 0;
    uint32_t hash = (uint32_t)(wide ^ wide >> 32);
    // One that was there before this process began is no news.
    if (had && value && hash != entry->workload->status.retry_seen)
        entry->workload->status.retry_due_ns = clock_later(entry->workload->status.retry_due_ns, engine->now.mono_ns);
    entry->workload->status.retry_seen = hash;
}

// Delays of writes to the workload. What is known of unanswered requests stays.
static void free_workload(struct workload *w) {
    struct workload_facts *facts = &w->facts;
    facts->not_before_ns = 0;
    facts->places = facts->statuses = facts->restores = (struct throttle){0};
    facts->status_refusals = 0;
    facts->status_due = true;
    w->status.noop_patch_hash = 0;
    facts->status_held = false;
    w->failures = w->refusals = 0;
    w->status.denied_status_hash = 0;
    w->status.denied_until_ns = 0;
    w->status.denials = (struct throttle){0};
    w->status.written_source = 0;
}

void retry_mirror(struct mirror *mirror) {
    mirror->facts.not_before_ns = mirror->facts.excluded_until_ns = mirror->facts.update_at_ns = 0;
    mirror->failures = mirror->refusals = mirror->denials = 0;
    rejections_end(&mirror->refused);
    mirror->updates = (struct throttle){0};
    mirror->noop_patch_hash = 0; // what was dropped may be accepted now
    mirror->dropping_reported = false;
    mirror->facts.update_due = true;
    mirror->carry = CARRY_UNKNOWN;
}

void retry_free(struct entry *entry) {
    free_workload(entry->workload);
    kueue_ask_again(entry);
    unstarted_drop(entry);
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        retry_mirror(m);
}

static void retry_if_due(struct engine *engine, struct entry *entry) {
    if (entry->workload->status.retry_due_ns <= entry->workload->status.retried_ns)
        return;
    int64_t at_ns = entry->workload->status.retried_ns ? entry->workload->status.retried_ns + RETRY_REST_NS : 0;
    if (at_ns > engine->now.mono_ns) {
        queue_wake(engine, entry, at_ns);
        return;
    }
    entry->workload->status.retried_ns = engine->now.mono_ns;
    retry_free(entry);
    rival_retried(engine, entry);
}

const struct part part_retry = {.name = "retry", .before = retry_if_due};
