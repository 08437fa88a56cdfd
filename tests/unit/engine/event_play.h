// SPDX-License-Identifier: Apache-2.0
// The engine with events that a test posts one by one, in any order. Commands are counted, and answered only by the
// test.
#pragma once

#include "core/engine/engine.h"
#include "core/engine/mirror/mirror.h"
#include "tests/unit/plugins/job_harness.h"

#include <stdio.h>

#define PLAY_CLUSTERS 3 // management, w1, w2
#define PLAY_COMMANDS 4096

struct play_command {
    size_t cluster;
    uint64_t id;
    enum verb verb;
    char name[64];
    char *body; // or NULL
};

struct play {
    struct engine_options options;
    struct engine *engine;
    struct update update;
    struct moment now;
    struct play_command commands[PLAY_COMMANDS];
    size_t n_commands, relists;
    struct buffer notes, log; // "Reason: text\n", "level cluster: text [object] action: reason\n"
    int64_t version;
    bool late; // the next object is older than the last one
};

static struct kind *play_kind;

static inline int play_load(void **state) {
    harness_load(state);
    struct error *error = kind_check(job_kind, NULL, "wharf.dev/host", &play_kind);
    if (error)
        fail_msg("%s", error_text(error));
    return 0;
}

static inline int play_unload(void **state) {
    (void)state;
    kind_free(play_kind);
    return 0;
}

static inline void play_init(struct play *play) {
    static const char *const workers[] = {"w1", "w2"};
    *play = (struct play){.now = {.mono_ns = 100 * CLOCK_SECOND}, .version = 100};
    play->options = (struct engine_options){.origin = "here",
                                            .worker_names = workers,
                                            .n_workers = PLAY_CLUSTERS - 1,
                                            .kinds = &play_kind,
                                            .n_kinds = 1,
                                            .settings.worker_lost_timeout_ns = 15 * CLOCK_MINUTE,
                                            .settings.mirror_retention_ns = 10 * CLOCK_MINUTE,
                                            .settings.mass_deletion_max = 20,
                                            .settings.mass_deletion_percent = 30,
                                            .settings.orphan_grace_ns = 60 * CLOCK_MINUTE,
                                            .seed = 1};
    buffer_init(&play->notes, 1 << 20);
    buffer_init(&play->log, 1 << 20);
    assert_true(clock_parse_rfc3339(HARNESS_NOW, &play->now.wall_ns));
}

static inline void play_start(struct play *play) {
    assert_null(engine_new(&play->options, play->now, &play->engine));
}

static inline void play_end(struct play *play) {
    update_free(&play->update);
    engine_free(play->engine);
    for (size_t i = 0; i < play->n_commands; i++)
        free(play->commands[i].body);
    buffer_free(&play->notes);
    buffer_free(&play->log);
}

static inline void play_take(struct play *play) {
    for (size_t i = 0; i < play->update.n_commands; i++) {
        const struct command *command = &play->update.commands[i];
        assert_true(play->n_commands < PLAY_COMMANDS);
        struct play_command *kept = &play->commands[play->n_commands++];
        *kept = (struct play_command){.cluster = command->cluster, .id = command->id, .verb = command->request.verb};
        text_copy(kept->name, sizeof kept->name, command->request.name);
        kept->body = command->request.body ? strdup(command->request.body) : NULL;
    }
    for (size_t i = 0; i < play->update.n_events; i++)
        buffer_printf(&play->notes, "%s: %s\n", play->update.events[i].reason, play->update.events[i].text);
    static const char *const levels[] = {"error", "warn", "info", "debug"};
    for (size_t i = 0; i < play->update.n_log; i++) {
        const struct log_message *m = &play->update.log[i];
        buffer_printf(&play->log, "%s %zu: %s", levels[m->level], m->cluster, m->text);
        if (m->object)
            buffer_printf(&play->log, " [%s]", m->object);
        if (m->action)
            buffer_printf(&play->log, " %s: %s", m->action, m->reason ? m->reason : "");
        buffer_text(&play->log, "\n");
    }
    play->relists += play->update.n_relists;
    update_clear(&play->update);
}

static inline void play_tell(struct play *play, struct engine_event event) {
    event.now = play->now;
    engine_step(play->engine, &event, &play->update);
    play_take(play);
}

// Until nothing is queued, and then for this long.
static inline void play_wait(struct play *play, int64_t ns) {
    int64_t until_ns = play->now.mono_ns + ns;
    play_tell(play, (struct engine_event){.type = EVENT_TIME});
    while (play->update.wake_ns <= until_ns) {
        if (play->update.wake_ns > play->now.mono_ns) {
            play->now.wall_ns += play->update.wake_ns - play->now.mono_ns;
            play->now.mono_ns = play->update.wake_ns;
        }
        play_tell(play, (struct engine_event){.type = EVENT_TIME});
    }
    play->now.wall_ns += until_ns - play->now.mono_ns;
    play->now.mono_ns = until_ns;
}

static inline struct object *play_object(struct play *play, struct json *value) {
    AUTO_TEXT version = text_format("%lld", (long long)(play->late ? play->version - 1 : ++play->version));
    play->late = false;
    assert_true(pointer_set(value, "/metadata/resourceVersion", json_new_string(version)));
    struct object *object = NULL;
    assert_null(object_new(value, NULL, NULL, &object));
    return object;
}

__attribute__((format(printf, 1, 2))) static inline struct json *play_json(const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    assert_true(vasprintf(&text, format, args) >= 0);
    va_end(args);
    struct json *value = harness_json(text);
    free(text);
    return value;
}

// A workload `name` with uid u-<name>, placed in `cluster` ("" for nowhere).
static inline struct json *play_workload(const char *name, const char *manager, const char *cluster) {
    AUTO_TEXT marks = *cluster ? text_format("'" MARK_CLUSTER "':'%s','" MARK_ATTEMPT "':'1'", cluster) : strdup("");
    return play_json("{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s','namespace':'default','uid':'u-%s',"
                     "'generation':1,'annotations':{%s}},'spec':{'managedBy':'%s','parallelism':1,'completions':1,"
                     "'suspend':false,'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}},'status':{}}",
                     name, name, marks, manager);
}

// Its mirror, attempt 1, with uid m-<name>.
static inline struct json *play_mirror(const char *name) {
    return play_json("{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s','namespace':'default','uid':'m-%s',"
                     "'generation':1,'labels':{'" MARK_ORIGIN "':'here','" MARK_UID "':'u-%s','" MARK_KIND
                     "':'jobs.batch'},'annotations':{'" MARK_ATTEMPT "':'1'}},'spec':{'parallelism':1,'completions':1,"
                     "'suspend':false,'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}},'status':{}}",
                     name, name, name);
}

static inline void play_seen(struct play *play, size_t cluster, struct json *value) {
    play_tell(play, (struct engine_event){.type = EVENT_SEEN, .cluster = cluster, .object = play_object(play, value)});
}

static inline void play_gone(struct play *play, size_t cluster, struct json *value) {
    play_tell(play, (struct engine_event){.type = EVENT_GONE, .cluster = cluster, .object = play_object(play, value)});
}

static inline void play_listing(struct play *play, size_t cluster) {
    play_tell(play, (struct engine_event){.type = EVENT_LISTING, .cluster = cluster, .version = "v1"});
}

static inline void play_state(struct play *play, size_t cluster, enum reflector_state state) {
    play_tell(play, (struct engine_event){.type = EVENT_STATE, .cluster = cluster, .watch = {state, ""}});
}

static inline void play_listed(struct play *play, size_t cluster) {
    play_tell(play, (struct engine_event){.type = EVENT_LISTED, .cluster = cluster, .version = "v1"});
    play_state(play, cluster, REFLECTOR_CONNECTED);
}

static inline void play_identity(struct play *play, size_t cluster, const char *uid) {
    play_tell(play,
              (struct engine_event){.type = EVENT_IDENTITY,
                                    .cluster = cluster,
                                    .identity = {uid, "7", *uid ? NULL : "namespaces \"kube-system\" is forbidden"}});
}

static inline void play_contact(struct play *play, size_t cluster) {
    play_tell(play,
              (struct engine_event){.type = EVENT_CONTACT, .cluster = cluster, .contact = {.state = CONTACT_GOOD}});
}

// After play_start: connects all clusters, which are empty, and lets a second pass.
static inline void play_connect_all(struct play *play) {
    for (size_t c = 0; c < PLAY_CLUSTERS; c++) {
        play_listing(play, c);
        play_identity(play, c, c == 0 ? "k0" : c == 1 ? "k1" : "k2");
        play_contact(play, c);
        play_listed(play, c);
    }
    play_wait(play, CLOCK_SECOND);
}

static inline void play_answer(struct play *play, uint64_t id, enum reason reason, struct json *value) {
    struct response response = {.reason = reason, .code = 200, .message = strdup("played"), .retry_after_ns = -1};
    response.object = value ? play_object(play, value) : NULL;
    play_tell(play, (struct engine_event){.type = EVENT_ANSWER, .answer = {id, &response}});
    response_clear(&response);
}

// How many such commands were sent to the cluster.
static inline size_t play_sent(const struct play *play, size_t cluster, enum verb verb) {
    size_t count = 0;
    for (size_t i = 0; i < play->n_commands; i++)
        count += play->commands[i].cluster == cluster && play->commands[i].verb == verb;
    return count;
}

static inline size_t play_times(const struct buffer *in, const char *text) {
    size_t count = 0;
    for (const char *at = in->data; at && (at = strstr(at, text)); at++)
        count++;
    return count;
}
