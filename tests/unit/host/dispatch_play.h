// SPDX-License-Identifier: Apache-2.0
// Updates as the engine fills them, for the tests of dispatching.
#pragma once

#include "core/host/turn/turn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PLAY_CLUSTERS 3

static inline struct kind *const *play_kinds(void) {
    static const char *const versions[] = {"v1", NULL};
    static char jobs_name[] = "jobs.batch", pods_name[] = "pods";
    static struct kind jobs = {.abi = {.group = "batch",
                                       .versions = versions,
                                       .plural = "jobs",
                                       .kind = "Job",
                                       .managed_by = "/spec/managedBy"},
                               .plural_group = jobs_name};
    static struct kind pods = {
        .abi = {.group = "", .versions = versions, .plural = "pods", .kind = "Pod", .managed_by = "/spec/managedBy"},
        .plural_group = pods_name};
    static struct kind *const kinds[] = {&jobs, &pods};
    return kinds;
}

static inline void *play_room(void *list, size_t count, size_t size) {
    void *grown = realloc(list, (count + 1) * size);
    assert_non_null(grown);
    return grown;
}

static inline char *play_copy(const char *text) {
    char *copy = strdup(text);
    assert_non_null(copy);
    return copy;
}

// GET of the Job with this name.
static inline struct command play_command_of(size_t cluster, uint64_t id, const char *name) {
    char *memory = play_copy(name);
    return (struct command){.id = id,
                            .cluster = cluster,
                            .memory = memory,
                            .request = {.verb = VERB_GET,
                                        .resource = {.group = "batch", .version = "v1", .plural = "jobs"},
                                        .namespace_ = "n",
                                        .name = memory}};
}

static inline void play_command(struct update *update, size_t cluster, uint64_t id) {
    update->commands = play_room(update->commands, update->n_commands, sizeof *update->commands);
    update->commands[update->n_commands++] = play_command_of(cluster, id, "a");
}

static inline struct workload_event play_event_of(const char *reason, const char *text) {
    const struct workload_event event = {.reason = reason,
                                         .text = text,
                                         .api_version = "batch/v1",
                                         .namespace_ = "n",
                                         .name = "a",
                                         .uid = "u",
                                         .action = "Act",
                                         .warning = true};
    struct workload_event *copy = struct_copy_with_texts(&event, sizeof event, WORKLOAD_EVENT_TEXTS);
    assert_non_null(copy);
    copy->memory = copy;
    return *copy;
}

static inline void play_event(struct update *update, const char *reason, const char *text) {
    update->events = play_room(update->events, update->n_events, sizeof *update->events);
    update->events[update->n_events++] = play_event_of(reason, text);
}

static inline void play_log(struct update *update, size_t cluster, size_t kind, const char *text) {
    update->log = play_room(update->log, update->n_log, sizeof *update->log);
    update->log[update->n_log++] =
        (struct log_message){.level = LOG_WARN, .cluster = cluster, .kind = kind, .text = play_copy(text)};
}

static inline void play_wish(struct update *update, size_t cluster, const char *name) {
    const struct dependency_wish wish = {
        .resource = "configmaps", .version = "v1", .namespace_ = "n", .name = name, .cluster = cluster, .wanted = true};
    update->wishes = play_room(update->wishes, update->n_wishes, sizeof *update->wishes);
    update->wishes[update->n_wishes] = struct_copy_with_texts(&wish, sizeof wish, DEPENDENCY_WISH_TEXTS);
    assert_non_null(update->wishes[update->n_wishes++]);
}

static inline void play_relist(struct update *update, size_t cluster, size_t kind) {
    update->relists = play_room(update->relists, update->n_relists, sizeof *update->relists);
    update->relists[update->n_relists++] = (struct relist){cluster, kind};
}
