// SPDX-License-Identifier: Apache-2.0
// A stage with objects that Jobs refer to, and the watches of them that the engine wishes.
#pragma once

#include "core/engine/dependencies/dependencies.h"
#include "tests/unit/engine/stage.h"

#define WISHES_MAX 4096

struct needs_play {
    struct stage stage;                         // first
    struct dependency_wish *wishes[WISHES_MAX]; // of single objects
    size_t n_wishes;
    bool blind[STAGE_CLUSTERS];                 // its watches tell nothing
    unsigned all;                               // wishes for all objects of a resource
    unsigned sent[STAGE_CLUSTERS][STATS_VERBS]; // requests about other resources than Jobs
    int (*meddle)(struct stage *stage, const struct command *command);
};

static inline struct needs_play *play_of(struct stage *stage) {
    return (struct needs_play *)(void *)stage;
}

static inline const struct json *needs_object(struct stage *stage, size_t cluster, const char *resource,
                                              const char *name) {
    return world_object(stage->clusters[cluster], "", resource, stage_space(stage), name);
}

static inline bool is_wished(const struct needs_play *play, size_t cluster, const char *resource, const char *space,
                             const char *name) {
    for (size_t i = 0; i < play->n_wishes; i++) {
        const struct dependency_wish *w = play->wishes[i];
        if (w->cluster == cluster && strcmp(w->resource, resource) == 0 && strcmp(w->namespace_, space) == 0 &&
            strcmp(w->name, name) == 0)
            return true;
    }
    return false;
}

static inline void on_other(struct stage *stage, size_t cluster, const struct world_write *write) {
    const struct json *value = write->now ? write->now : write->old;
    AUTO_TEXT resource = text_format("%s%s%s", write->plural, *write->group ? "." : "", write->group);
    struct dependency_wish of = {
        .resource = resource, .namespace_ = object_namespace(value), .name = object_name(value)};
    bool marked = cluster && text_equal(object_label(value, MARK_ORIGIN), "here");
    if (write->noop || !stage->connected[cluster] || play_of(stage)->blind[cluster] ||
        (!marked && !is_wished(play_of(stage), cluster, of.resource, of.namespace_, of.name)))
        return;
    stage_tell(stage, cluster, &of, write->now);
}

static inline void tell_wished(struct stage *stage, const struct dependency_wish *wish) {
    if (!stage->connected[wish->cluster] || play_of(stage)->blind[wish->cluster])
        return;
    char plural[128];
    text_copy(plural, sizeof plural, wish->resource);
    char *dot = strchr(plural, '.');
    if (dot)
        *dot = '\0';
    stage_tell(stage, wish->cluster, wish,
               world_object(stage->clusters[wish->cluster], dot ? dot + 1 : "", plural, wish->namespace_, wish->name));
}

// The watches tell again.
static inline void needs_repeat(struct needs_play *play, size_t cluster) {
    for (size_t i = 0; i < play->n_wishes; i++)
        if (play->wishes[i]->cluster == cluster)
            tell_wished(&play->stage, play->wishes[i]);
}

static inline void on_wish(struct stage *stage, const struct dependency_wish *wish) {
    struct needs_play *play = play_of(stage);
    if (!*wish->name) {
        play->all++;
        return;
    }
    for (size_t i = 0; i < play->n_wishes; i++) {
        struct dependency_wish *w = play->wishes[i];
        if (w->cluster != wish->cluster || strcmp(w->resource, wish->resource) != 0 ||
            strcmp(w->namespace_, wish->namespace_) != 0 || strcmp(w->name, wish->name) != 0)
            continue;
        free(w);
        play->wishes[i--] = play->wishes[--play->n_wishes];
    }
    if (!wish->wanted)
        return;
    assert_true(play->n_wishes < WISHES_MAX);
    play->wishes[play->n_wishes++] = struct_copy_with_texts(wish, sizeof *wish, DEPENDENCY_WISH_TEXTS);
    tell_wished(stage, wish);
}

// A new connection: the host has no wishes, and lists what has the host's marks.
static inline void on_link(struct stage *stage, size_t cluster) {
    static const char *const resources[] = {"configmaps", "secrets", "serviceaccounts", "persistentvolumeclaims"};
    struct needs_play *play = play_of(stage);
    for (size_t i = 0; i < play->n_wishes; i++)
        if (play->wishes[i]->cluster == cluster) {
            free(play->wishes[i]);
            play->wishes[i--] = play->wishes[--play->n_wishes];
        }
    stage_step(stage, &(struct engine_event){.type = EVENT_DEPENDENCY,
                                             .cluster = cluster,
                                             .dependency = {.news = DEPENDENCIES_FORGOTTEN}});
    for (size_t r = 0; cluster && r < sizeof resources / sizeof *resources; r++) {
        const void *cursor = NULL;
        for (const struct json *o; (o = world_next(stage->clusters[cluster], "", resources[r], &cursor));)
            if (text_equal(object_label(o, MARK_ORIGIN), "here"))
                stage_tell(stage, cluster,
                           &(struct dependency_wish){
                               .resource = resources[r], .namespace_ = object_namespace(o), .name = object_name(o)},
                           o);
    }
}

static inline int on_command(struct stage *stage, const struct command *command) {
    if (strcmp(command->request.resource.plural, "jobs") != 0)
        play_of(stage)->sent[command->cluster][command->request.verb]++;
    return play_of(stage)->meddle ? play_of(stage)->meddle(stage, command) : STAGE_PASS;
}

static inline void needs_init(struct needs_play *play) {
    memset(play, 0, sizeof *play);
    stage_init(&play->stage);
    play->stage.other = on_other;
    play->stage.wished = on_wish;
    play->stage.linked = on_link;
    play->stage.meddle = on_command;
    play->stage.options.settings.dependencies =
        (struct dependency_options){.copy = "configmaps,secrets,serviceaccounts,persistentvolumeclaims",
                                    .check = "priorityclasses.scheduling.k8s.io",
                                    .secrets = SECRETS_ALL};
}

static inline void needs_begin(struct needs_play *play) {
    needs_init(play);
    stage_start(&play->stage);
}

static inline void needs_end(struct needs_play *play) {
    for (size_t i = 0; i < play->n_wishes; i++)
        free(play->wishes[i]);
    stage_end(&play->stage);
}

// A user's object. JSON with ' for ".
static inline void needs_apply(struct stage *stage, size_t cluster, const char *resource, const char *text) {
    int status = stage_apply(stage, cluster, "", resource, text);
    if (status != 200 && status != 201)
        fail_msg("%s: %d", text, status);
}

static inline void needs_patch(struct stage *stage, size_t cluster, const char *resource, const char *name,
                               const char *patch) {
    AUTO_JSON value = harness_json(patch);
    AUTO_TEXT text = json_text(value, NULL);
    bool was = stage->user;
    stage->user = true;
    assert_int_equal(
        world_patch(stage->clusters[cluster], "", resource, "default", name, NULL, text, stage->now.wall_ns), 200);
    stage->user = was;
}

// Makes a ConfigMap, or changes its content.
static inline void needs_map(struct stage *stage, size_t cluster, const char *name, const char *value) {
    AUTO_TEXT text = text_format("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s','namespace':'default'},"
                                 "'data':{'key':'%s'}}",
                                 name, value);
    AUTO_TEXT patch = text_format("{'data':{'key':'%s'}}", value);
    if (needs_object(stage, cluster, "configmaps", name))
        needs_patch(stage, cluster, "configmaps", name, patch);
    else
        needs_apply(stage, cluster, "configmaps", text);
}

static inline void needs_delete(struct stage *stage, size_t cluster, const char *resource, const char *name) {
    stage->user = true;
    assert_int_equal(
        world_delete(stage->clusters[cluster], "", resource, "default", name, "Background", stage->now.wall_ns), 200);
    stage->user = false;
}

// A Job with these members of its pods' spec.
static inline void needs_job(struct stage *stage, const char *name, const char *spec) {
    AUTO_TEXT text = text_format(
        "{'metadata':{'name':'%s','namespace':'%s'},'spec':{'managedBy':'wharf.dev/host','parallelism':1,"
        "'completions':1,'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]%s%s}}}}",
        name, stage_space(stage), *spec ? "," : "", spec);
    assert_int_equal(stage_apply(stage, 0, "batch", "jobs", text), 201);
}

#define MAP_VOLUME(name) "'volumes':[{'name':'v','configMap':{'name':'" name "'}}]"

// The Job "a" needs the ConfigMap "settings", whose value is "1"; a second passes.
static inline void needs_submit(struct stage *stage) {
    needs_map(stage, 0, "settings", "1");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    stage_run(stage, CLOCK_SECOND);
}

static inline void needs_begin_with_job(struct needs_play *play) {
    needs_begin(play);
    needs_submit(&play->stage);
}

// The Job has a mirror in a worker.
static inline bool needs_runs(struct stage *stage, const char *name) {
    return stage_job(stage, 1, name) || stage_job(stage, 2, name);
}

static inline const char *needs_explain(struct stage *stage, const char *name) {
    static struct explain_view view;
    stage_explain(stage, name, &view);
    return view.waiting_text;
}

// Of a watch of ConfigMaps; `name` NULL: of all.
static inline void needs_say(struct stage *stage, size_t cluster, enum dependency_news news, const char *name,
                             const char *problem) {
    stage_step(stage, &(struct engine_event){.type = EVENT_DEPENDENCY,
                                             .cluster = cluster,
                                             .dependency = {.news = news,
                                                            .resource = "configmaps",
                                                            .namespace_ = name ? "default" : NULL,
                                                            .name = name,
                                                            .problem = problem}});
}

// A request about a ConfigMap.
static inline bool needs_of_map(const struct command *command) {
    return strcmp(command->request.resource.plural, "configmaps") == 0;
}

static inline const char *needs_value(struct stage *stage, size_t cluster, const char *name) {
    return json_string(json_path(needs_object(stage, cluster, "configmaps", name), "data", "key", NULL));
}

static inline unsigned needs_requests(const struct needs_play *play) {
    unsigned sum = 0;
    for (size_t c = 0; c < STAGE_CLUSTERS; c++)
        for (size_t v = 0; v < STATS_VERBS; v++)
            sum += play->sent[c][v];
    return sum;
}
