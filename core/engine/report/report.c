// SPDX-License-Identifier: Apache-2.0
#include "core/engine/report/report.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/shard/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const action_names[] = {
    [ACTION_NONE] = "none",     [ACTION_WAIT] = "wait",     [ACTION_PLACE] = "place",   [ACTION_CREATE] = "create",
    [ACTION_UPDATE] = "update", [ACTION_STATUS] = "status", [ACTION_DELETE] = "delete", [ACTION_RELEASE] = "release",
    [ACTION_VERIFY] = "verify", [ACTION_FORGET] = "forget", [ACTION_READ] = "read",     [ACTION_GIVE_UP] = "give-up",
};

// Takes the message; drops the message when out of memory.
static void add_message(struct engine *engine, struct log_message message) {
    struct update *update = engine->update;
    if (message.text && array_reserve(&update->log, &update->cap_log, update->n_log + 1, sizeof *update->log))
        update->log[update->n_log++] = message;
    else
        log_message_free(&message);
}

void report_log(struct engine *engine, enum log_level level, size_t cluster, size_t kind, const char *format, ...) {
    struct log_message message = {.level = level, .cluster = cluster, .kind = kind};
    va_list args;
    va_start(args, format);
    message.text = text_vformat(format, args);
    va_end(args);
    add_message(engine, message);
}

void report_mirror(struct engine *engine, enum log_level level, const struct entry *entry, const struct mirror *mirror,
                   const char *format, ...) {
    struct log_message message = {.level = level, .cluster = mirror->facts.cluster, .kind = entry->kind};
    va_list args;
    va_start(args, format);
    message.text = text_vformat(format, args);
    va_end(args);
    message.object = strdup(entry->key);
    add_message(engine, message);
}

void report_decision(struct engine *engine, const struct entry *entry, const struct action *action) {
    if (!engine->settings.log_decisions || action->type == ACTION_NONE || action->type == ACTION_WAIT)
        return;
    add_message(engine, (struct log_message){.level = LOG_DEBUG,
                                             .cluster = action->cluster,
                                             .kind = entry->kind,
                                             .object = strdup(entry->key),
                                             .action = action_names[action->type],
                                             .reason = action->why,
                                             .text = strdup("decided")});
}

// The Event's reference to the workload, in one block. False when out of memory.
static bool describe(const struct engine *engine, const struct entry *entry, const char *reason,
                     struct workload_event *event) {
    const struct kind *kind = engine->kinds[entry->kind];
    const char *version = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->version;
    char space[254], api_version[320];
    entry_namespace(entry, space);
    snprintf(api_version, sizeof api_version, "%s%s%s", kind->abi.group, *kind->abi.group ? "/" : "",
             version ? version : "v1");
    event->memory = malloc(strlen(api_version) + strlen(space) + strlen(entry_name(entry)) +
                           strlen(entry->workload->uid) + strlen(reason) + 5);
    if (!event->memory)
        return false;
    char *at = event->memory;
    event->reason = update_string(&at, reason, strlen(reason));
    event->api_version = update_string(&at, api_version, strlen(api_version));
    event->namespace_ = update_string(&at, space, strlen(space));
    event->name = update_string(&at, entry_name(entry), strlen(entry_name(entry)));
    event->uid = update_string(&at, entry->workload->uid, strlen(entry->workload->uid));
    return true;
}

void report_event(struct engine *engine, struct entry *entry, bool warning, const char *reason, const char *action,
                  const char *format, ...) {
    struct update *update = engine->update;
    if (!*entry->workload->uid || !shard_is_held(engine, entry)) // the holder of the shard reports
        return;
    va_list args;
    va_start(args, format);
    AUTO_TEXT text = text_vformat(format, args);
    va_end(args);
    if (!text)
        return;
    entry->workload->report.reported = true;
    // The same note about the same workload is not repeated.
    uint64_t wide = text_hash(TEXT_HASH, text);
    uint32_t hash = (uint32_t)(wide ^ wide >> 32);
    struct workload_event event = {.kind = entry->kind, .warning = warning, .action = action};
    if (hash == entry->workload->report.last_note ||
        !array_reserve(&update->events, &update->cap_events, update->n_events + 1, sizeof *update->events) ||
        !describe(engine, entry, reason, &event))
        return;
    event.text = TAKE(text);
    update->events[update->n_events++] = event;
    entry->workload->report.last_note = hash;
    engine->stats.events++;
}

bool report_was_made(const struct entry *entry) {
    return entry->workload->report.reported || entry->workload->report.waiting_reported;
}
