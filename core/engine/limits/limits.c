// SPDX-License-Identifier: Apache-2.0
// How much of mirrors is kept: orphans, large ones, too large ones.
#include "core/base/memory.h"
#include "core/engine/limits/large_mirrors.h"
#include "core/engine/limits/orphans.h"
#include "core/engine/limits/oversized.h"
#include "core/engine/limits/pause.h"
#include "core/engine/part.h"

static void on_event(struct engine *engine, struct engine_event *event) {
    size_t cluster = event->cluster, kind = event->kind;
    if (event->type == EVENT_LISTED)
        orphans_listed(engine, cluster, kind);
    else if (cluster == ENGINE_MANAGEMENT)
        orphans_note_revision(engine, kind, event->object->value);
    else if (event->type == EVENT_SEEN)
        large_mirrors_bound(engine, cluster, kind, &event->object);
    if (event->type == EVENT_SEEN && event->object->too_large)
        oversized_seen(engine, cluster, kind, TAKE(event->object));
}

static void check(struct engine *engine, struct entry *entry) {
    large_mirrors_account(engine, entry);
    orphans_check(engine, entry);
}

static void account(struct engine *engine, struct entry *entry) {
    large_mirrors_account(engine, entry);
    orphans_account(engine, entry);
}

static void configure(struct engine *engine, const struct engine_settings *former) {
    size_t max = engine->settings.max_orphans;
    engine->limits.room_grew |= max != former->max_orphans && (max == 0 || max > former->max_orphans);
}

static void tick(struct engine *engine) {
    if (engine->limits.room_grew)
        pause_room_grew(engine);
}

const struct part part_limits = {.name = "limits",
                                 .configure = configure,
                                 .events = PART_EVENT(EVENT_SEEN) | PART_EVENT(EVENT_GONE) | PART_EVENT(EVENT_LISTED),
                                 .event = on_event,
                                 .tick = tick,
                                 .before = check,
                                 .stand_by = account};
