// SPDX-License-Identifier: Apache-2.0
// The engine between simulated clusters: a management cluster and two workers, which store Jobs and answer at once, and
// third parties. Only the test causes events.
#pragma once

#include "core/engine/engine.h"
#include "core/engine/mirror/mirror.h"
#include "tests/unit/plugins/job_harness.h"

#define PLAY_CLUSTERS 3
#define PLAY_OBJECTS 4
#define PLAY_NEWS 64
#define PLAY_NOTES 32
#define PLAY_NOW_S 10
#define PLAY_WORKLOAD                                                                                                  \
    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'a','namespace':'default','uid':'u-1','generation':1},"  \
    "'spec':{'managedBy':'wharf.dev/host','parallelism':1,'completions':1,'template':{'spec':{'containers':[{"         \
    "'name':'c','image':'i'}]}}},'status':{}}"
#define PLAY_RUNS "{'status':{'active':1,'ready':1,'startTime':'2026-03-01T12:00:01Z'}}"
#define PLAY_COMPLETE                                                                                                  \
    "{'status':{'active':0,'ready':0,'succeeded':1,'completionTime':'2026-03-01T12:00:02Z',"                           \
    "'startTime':'2026-03-01T12:00:01Z','conditions':[{'type':'SuccessCriteriaMet','status':'True',"                   \
    "'lastTransitionTime':'2026-03-01T12:00:02Z'},{'type':'Complete','status':'True','lastTransitionTime':"            \
    "'2026-03-01T12:00:02Z'}]}}"

struct play_news {
    enum event_type type;
    size_t cluster;
    uint64_t command;
    enum reason reason;
    struct json *value; // owned
};

struct play {
    struct engine_options options;
    struct kind *kind;
    struct engine *engine;
    struct update update;
    struct json *objects[PLAY_CLUSTERS][PLAY_OBJECTS];
    struct play_news news[PLAY_NEWS];
    size_t n_news;
    struct moment now;
    int64_t version;
    bool connected[PLAY_CLUSTERS], full[PLAY_CLUSTERS]; // full: creates are refused before anything else
    char *notes[PLAY_NOTES];                            // "<reason>: <text>" of Events, "log: cluster <number>: <text>"
    size_t n_notes;
    unsigned creates[PLAY_CLUSTERS], deletes[PLAY_CLUSTERS], patches[PLAY_CLUSTERS];
};

static inline const char *play_text(const struct json *value, const char *pointer) {
    return json_string_or(pointer_find(value, pointer), "");
}

static inline struct json **play_slot(struct play *play, size_t cluster, const char *name) {
    struct json **empty = NULL;
    for (size_t i = 0; i < PLAY_OBJECTS; i++) {
        struct json **slot = &play->objects[cluster][i];
        if (*slot && strcmp(play_text(*slot, "/metadata/name"), name) == 0)
            return slot;
        if (!*slot && !empty)
            empty = slot;
    }
    assert_non_null(empty);
    return empty;
}

static inline struct json *play_object(struct play *play, size_t cluster, const char *name) {
    return *play_slot(play, cluster, name);
}

static inline void play_tell(struct play *play, struct play_news news) {
    assert_true(play->n_news < PLAY_NEWS);
    play->news[play->n_news++] = news;
}

static inline void play_changed(struct play *play, size_t cluster, struct json *object) {
    AUTO_TEXT version = text_format("%lld", (long long)++play->version);
    assert_true(pointer_set(object, "/metadata/resourceVersion", json_new_string(version)));
    if (play->connected[cluster])
        play_tell(play, (struct play_news){.type = EVENT_SEEN, .cluster = cluster, .value = json_copy(object)});
}

// Actions of third parties.
static inline void play_put(struct play *play, size_t cluster, struct json *object) {
    struct json **slot = play_slot(play, cluster, play_text(object, "/metadata/name"));
    assert_null(*slot);
    *slot = object;
    AUTO_TEXT uid = text_format("m-%lld", (long long)play->version);
    if (cluster != 0 || !*play_text(object, "/metadata/uid"))
        assert_true(pointer_set(object, "/metadata/uid", json_new_string(uid)));
    play_changed(play, cluster, object);
}

static inline void play_patch(struct play *play, size_t cluster, const char *name, const char *patch) {
    struct json **slot = play_slot(play, cluster, name);
    AUTO_JSON value = harness_json(patch);
    assert_true(patch_apply(slot, value));
    play_changed(play, cluster, *slot);
}

static inline void play_remove(struct play *play, size_t cluster, const char *name) {
    struct json **slot = play_slot(play, cluster, name);
    assert_non_null(*slot);
    if (play->connected[cluster])
        play_tell(play, (struct play_news){.type = EVENT_GONE, .cluster = cluster, .value = *slot});
    else
        json_free(*slot);
    *slot = NULL;
}

static inline enum reason play_serve_patch(struct play *play, size_t cluster, const char *name,
                                           const struct json *patch) {
    struct json **slot = play_slot(play, cluster, name);
    static const char *const assumed[] = {"/metadata/uid", "/metadata/resourceVersion"};
    if (!*slot)
        return REASON_NOT_FOUND;
    for (size_t i = 0; i < 2; i++)
        if (*play_text(patch, assumed[i]) && strcmp(play_text(patch, assumed[i]), play_text(*slot, assumed[i])) != 0)
            return REASON_CONFLICT;
    play->patches[cluster]++;
    assert_true(patch_apply(slot, patch));
    play_changed(play, cluster, *slot);
    return REASON_OK;
}

static inline enum reason play_serve(struct play *play, const struct command *command, const char **name) {
    AUTO_JSON body = NULL;
    const struct request *request = &command->request;
    size_t cluster = command->cluster;
    *name = request->name;
    if (request->body)
        assert_null(json_parse(request->body, request->body_len, &body));
    switch (request->verb) {
    case VERB_CREATE:
        if (play->full[cluster])
            return REASON_QUOTA;
        if (play_object(play, cluster, request->name))
            return REASON_ALREADY_EXISTS;
        play->creates[cluster]++;
        play_put(play, cluster, json_copy(body));
        return REASON_OK;
    case VERB_MERGE_PATCH:
    case VERB_STATUS_PATCH:
        return play_serve_patch(play, cluster, request->name, body);
    case VERB_DELETE:
        if (!play_object(play, cluster, request->name))
            return REASON_NOT_FOUND;
        assert_string_equal(play_text(body, "/preconditions/uid"),
                            play_text(play_object(play, cluster, request->name), "/metadata/uid"));
        play->deletes[cluster]++;
        play_remove(play, cluster, request->name);
        return REASON_OK;
    default:
        return play_object(play, cluster, request->name) ? REASON_OK : REASON_NOT_FOUND;
    }
}

static inline void play_serve_all(struct play *play) {
    for (size_t i = 0; i < play->update.n_commands; i++) {
        const struct command *command = &play->update.commands[i];
        const char *name;
        enum reason reason = play_serve(play, command, &name);
        bool object = reason == REASON_OK && command->request.verb != VERB_DELETE;
        play_tell(play,
                  (struct play_news){.type = EVENT_ANSWER,
                                     .cluster = command->cluster,
                                     .command = command->id,
                                     .reason = reason,
                                     .value = object ? json_copy(play_object(play, command->cluster, name)) : NULL});
    }
    for (size_t i = 0; i < play->update.n_events; i++) {
        const struct workload_event *note = &play->update.events[i];
        assert_true(play->n_notes < PLAY_NOTES);
        play->notes[play->n_notes++] = text_format("%s: %s", note->reason, note->text);
    }
    for (size_t i = 0; i < play->update.n_log; i++) {
        const struct log_message *remark = &play->update.log[i];
        assert_true(play->n_notes < PLAY_NOTES);
        play->notes[play->n_notes++] = text_format("log: cluster %zu: %s", remark->cluster, remark->text);
    }
    update_clear(&play->update);
}

static inline struct object *play_parsed(struct json *value) {
    struct object *object = NULL;
    if (value)
        assert_null(object_new(value, NULL, NULL, &object));
    return object;
}

static inline void play_step(struct play *play, struct engine_event *event) {
    event->now = play->now;
    engine_step(play->engine, event, &play->update);
    play_serve_all(play);
}

// Until no notification is pending and nothing is due now.
static inline void play_settle(struct play *play) {
    do {
        while (play->n_news) {
            struct play_news news = play->news[0];
            memmove(play->news, play->news + 1, --play->n_news * sizeof news);
            struct response response = {
                .reason = news.reason, .code = 200, .message = strdup("played"), .retry_after_ns = -1};
            struct engine_event event = {.type = news.type, .cluster = news.cluster};
            if (news.type == EVENT_ANSWER) {
                response.object = play_parsed(news.value);
                event.answer.command = news.command;
                event.answer.response = &response;
            } else {
                event.object = play_parsed(news.value);
            }
            play_step(play, &event);
            response_clear(&response);
        }
        play_step(play, &(struct engine_event){.type = EVENT_TIME});
    } while (play->n_news);
}

static inline void play_pass(struct play *play, int64_t ns) {
    int64_t until_ns = play->now.mono_ns + ns;
    for (int i = 0; i < 10000 && play->now.mono_ns < until_ns; i++) {
        play_step(play, &(struct engine_event){.type = EVENT_TIME});
        int64_t next_ns = play->update.wake_ns < until_ns ? play->update.wake_ns : until_ns;
        if (next_ns <= play->now.mono_ns)
            next_ns = play->now.mono_ns + CLOCK_MS;
        play->now.wall_ns += next_ns - play->now.mono_ns;
        play->now.mono_ns = next_ns;
        play_settle(play);
    }
}

static inline void play_connect(struct play *play, size_t cluster) {
    AUTO_TEXT uid = text_format("cluster-%zu", cluster);
    play_step(play, &(struct engine_event){
                        .type = EVENT_IDENTITY, .cluster = cluster, .identity = {.uid = uid, .version = "1"}});
    play_step(play, &(struct engine_event){.type = EVENT_LISTING, .cluster = cluster, .version = "v1"});
    for (size_t i = 0; i < PLAY_OBJECTS; i++)
        if (play->objects[cluster][i])
            play_step(play, &(struct engine_event){.type = EVENT_SEEN,
                                                   .cluster = cluster,
                                                   .object = play_parsed(json_copy(play->objects[cluster][i]))});
    play_step(play, &(struct engine_event){.type = EVENT_LISTED, .cluster = cluster, .version = "v1"});
    play_step(play,
              &(struct engine_event){.type = EVENT_STATE, .cluster = cluster, .watch = {.state = REFLECTOR_CONNECTED}});
    play->connected[cluster] = true;
    play_settle(play);
}

static inline void play_lose(struct play *play, size_t cluster) {
    play->connected[cluster] = false;
    play_step(play,
              &(struct engine_event){.type = EVENT_STATE, .cluster = cluster, .watch = {.state = REFLECTOR_LOST}});
    play_settle(play);
}

// Starts a new process of the host, without the state of the one before it.
static inline void play_start(struct play *play, const struct seal_keys *seals, int64_t adopt_until_ns) {
    static const char *const workers[] = {"w1", "w2"};
    engine_free(play->engine);
    for (size_t i = 0; i < play->n_news; i++)
        json_free(play->news[i].value);
    play->n_news = 0;
    play->options = (struct engine_options){.origin = "here",
                                            .worker_names = workers,
                                            .n_workers = 2,
                                            .kinds = &play->kind,
                                            .n_kinds = 1,
                                            .settings.worker_lost_timeout_ns = CLOCK_MINUTE,
                                            .settings.mirror_retention_ns = CLOCK_MINUTE,
                                            .settings.mass_deletion_max = 20,
                                            .settings.mass_deletion_percent = 100,
                                            .settings.orphan_grace_ns = 60 * CLOCK_MINUTE,
                                            .seals = seals,
                                            .adopt_until_ns = adopt_until_ns,
                                            .seed = 1};
    assert_null(engine_new(&play->options, play->now, &play->engine));
    for (size_t c = PLAY_CLUSTERS; c-- > 0;)
        play->connected[c] = false;
    for (size_t c = PLAY_CLUSTERS; c-- > 0;)
        play_connect(play, c);
}

static inline struct play *play_new(struct kind *kind) {
    struct play *play = calloc(1, sizeof *play);
    assert_non_null(play);
    *play = (struct play){.kind = kind, .version = 100};
    play->now.mono_ns = PLAY_NOW_S * CLOCK_SECOND;
    assert_true(clock_parse_rfc3339(HARNESS_NOW, &play->now.wall_ns));
    return play;
}

static inline void play_free(struct play *play) {
    for (size_t i = 0; i < play->n_news; i++)
        json_free(play->news[i].value);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++)
        for (size_t i = 0; i < PLAY_OBJECTS; i++)
            json_free(play->objects[c][i]);
    for (size_t i = 0; i < play->n_notes; i++)
        free(play->notes[i]);
    update_free(&play->update);
    engine_free(play->engine);
    free(play);
}

// How many notes begin with this.
static inline size_t play_told(const struct play *play, const char *beginning) {
    size_t count = 0;
    for (size_t i = 0; i < play->n_notes; i++)
        count += text_has_prefix(play->notes[i], beginning);
    return count;
}
