// SPDX-License-Identifier: Apache-2.0
#include "core/engine/report/report.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/shard/shard.h"

#include <stdio.h>

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

void report_event(struct engine *engine, struct entry *entry, bool warning, const char *reason, const char *action,
                  const char *format, ...) {
    struct update *update = engine->update;
    struct workload *w = entry->workload;
    if (!*w->uid || !shard_is_held(engine, entry)) // the holder of the shard reports
        return;
    va_list args;
    va_start(args, format);
    AUTO_TEXT text = text_vformat(format, args);
    va_end(args);
    if (!text)
        return;
    w->report.reported = true;
    uint32_t hash = decide_name_hash(text);
    if (hash == w->report.last_note) // a repeat
        return;
    const struct kind *kind = engine->kinds[entry->kind];
    const char *version = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->version;
    char namespace_[254], api_version[320];
    entry_namespace(entry, namespace_);
    snprintf(api_version, sizeof api_version, "%s%s%s", kind->abi.group, *kind->abi.group ? "/" : "",
             version ? version : "v1");
    struct workload_event event = {.reason = reason,
                                   .text = text,
                                   .api_version = api_version,
                                   .namespace_ = namespace_,
                                   .name = entry_name(entry),
                                   .uid = w->uid,
                                   .action = action,
                                   .kind = entry->kind,
                                   .warning = warning};
    if (!array_reserve(&update->events, &update->cap_events, update->n_events + 1, sizeof *update->events))
        return;
    struct workload_event *copy = struct_copy_with_texts(&event, sizeof event, WORKLOAD_EVENT_TEXTS);
    if (!copy)
        return;
    copy->memory = copy;
    update->events[update->n_events++] = *copy;
    w->report.last_note = hash;
    engine->stats.events++;
}
