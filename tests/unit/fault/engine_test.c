// SPDX-License-Identifier: Apache-2.0
// The whole life of one Job in the engine, with each allocation of the engine failing: placed, mirrored, its status
// copied, finished, the mirror deleted, the workload gone. The two clusters are played here, and have memory enough.
#include "core/engine/engine.h"
#include "tests/support/engine_views.h"
#include "tests/unit/fault/fault.h"
#include "tests/unit/plugins/job_harness.h"

#define WORKER 1
#define CLUSTERS 2
#define QUEUE 64
#define STEPS_WITHOUT_MEMORY 60
#define STEPS_MAX 600

#define WORKLOAD                                                                                                       \
    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'a','namespace':'default','uid':'u-1','generation':1,"   \
    "'labels':{'team':'x'}},'spec':{'managedBy':'wharf.dev/host','parallelism':1,'completions':1,'suspend':false,"     \
    "'ttlSecondsAfterFinished':9,'template':{'metadata':{'labels':{'app':'a'}},'spec':{'containers':[{'name':'c',"     \
    "'image':'i'}]}}},'status':{}}"
#define RUNS "{'status':{'active':1,'ready':1,'startTime':'2026-03-01T12:00:01Z'}}"
#define COMPLETE                                                                                                       \
    "{'status':{'active':0,'ready':0,'succeeded':1,'completionTime':'2026-03-01T12:00:02Z','conditions':["             \
    "{'type':'SuccessCriteriaMet','status':'True','lastTransitionTime':'2026-03-01T12:00:02Z'},{'type':'Complete',"    \
    "'status':'True','lastTransitionTime':'2026-03-01T12:00:02Z'}]}}"

// Something that the engine will be told: what a watch saw, or the answer to a command.
struct news {
    enum event_type type;
    size_t cluster;
    uint64_t command;
    enum reason reason;
    struct json *value; // owned
};

struct life {
    struct engine *engine;
    struct update update;
    struct json *objects[CLUSTERS]; // what the clusters have, or NULL
    struct news queue[QUEUE];
    size_t n_queue;
    struct moment now;
    int64_t version;
    int stage; // of the mirror: 0 new, 1 runs, 2 complete
    bool was_complete, user_deleted, stuck;
    size_t relists;
};

static struct kind *kind;
static struct seal_keys *seals;
static size_t relists; // of all lives

static void tell(struct life *life, struct news news) {
    assert_true(life->n_queue < QUEUE);
    life->queue[life->n_queue++] = news;
}

static void changed(struct life *life, size_t cluster) {
    struct json *metadata = json_get(life->objects[cluster], "metadata");
    AUTO_TEXT version = text_format("%lld", (long long)++life->version);
    assert_true(json_set(metadata, "resourceVersion", json_new_string(version)));
    tell(life, (struct news){.type = EVENT_SEEN, .cluster = cluster, .value = json_copy(life->objects[cluster])});
}

static void removed(struct life *life, size_t cluster) {
    tell(life, (struct news){.type = EVENT_GONE, .cluster = cluster, .value = life->objects[cluster]});
    life->objects[cluster] = NULL;
}

static const char *text_at(const struct json *value, const char *pointer) {
    return json_string_or(pointer_find(value, pointer), "");
}

// What an API server answers to a patch: both of uid and resourceVersion, if they are given, must be those it has.
static enum reason patch_object(struct life *life, size_t cluster, const struct json *patch) {
    struct json **object = &life->objects[cluster];
    if (!*object)
        return REASON_NOT_FOUND;
    static const char *const assumed[] = {"/metadata/uid", "/metadata/resourceVersion"};
    for (size_t i = 0; i < 2; i++)
        if (*text_at(patch, assumed[i]) && strcmp(text_at(patch, assumed[i]), text_at(*object, assumed[i])) != 0)
            return REASON_CONFLICT;
    assert_true(patch_apply(object, patch));
    changed(life, cluster);
    return REASON_OK;
}

static enum reason create_object(struct life *life, size_t cluster, const struct json *body) {
    if (life->objects[cluster])
        return REASON_ALREADY_EXISTS;
    struct json *object = json_copy(body);
    AUTO_TEXT uid = text_format("m-%lld", (long long)life->version);
    assert_true(pointer_set(object, "/metadata/uid", json_new_string(uid)));
    assert_true(pointer_set(object, "/metadata/generation", json_new_int64(1)));
    life->objects[cluster] = object;
    life->stage = 0;
    changed(life, cluster);
    return REASON_OK;
}

static enum reason delete_object(struct life *life, size_t cluster, const struct json *options) {
    if (!life->objects[cluster])
        return REASON_NOT_FOUND;
    if (strcmp(text_at(options, "/preconditions/uid"), text_at(life->objects[cluster], "/metadata/uid")) != 0)
        return REASON_CONFLICT;
    removed(life, cluster);
    return REASON_OK;
}

static enum reason serve(struct life *life, const struct command *command) {
    AUTO_JSON body = NULL;
    if (command->request.body)
        assert_null(json_parse(command->request.body, command->request.body_len, &body));
    switch (command->request.verb) {
    case VERB_CREATE:
        return create_object(life, command->cluster, body);
    case VERB_MERGE_PATCH:
    case VERB_STATUS_PATCH:
        return patch_object(life, command->cluster, body);
    case VERB_DELETE:
        return delete_object(life, command->cluster, body);
    default:
        return life->objects[command->cluster] ? REASON_OK : REASON_NOT_FOUND;
    }
}

static void serve_all(struct life *life) {
    for (size_t i = 0; i < life->update.n_commands; i++) {
        const struct command *command = &life->update.commands[i];
        enum reason reason = serve(life, command);
        bool object = reason == REASON_OK && command->request.verb != VERB_DELETE;
        tell(life, (struct news){.type = EVENT_ANSWER,
                                 .cluster = command->cluster,
                                 .command = command->id,
                                 .reason = reason,
                                 .value = object ? json_copy(life->objects[command->cluster]) : NULL});
    }
    update_clear(&life->update);
}

static struct object *object_of(struct json *value) {
    struct object *object = NULL;
    if (value)
        assert_null(object_new(value, NULL, NULL, &object));
    return object;
}

// The only place where the engine's allocations fail.
static void step(struct life *life, struct engine_event *event) {
    event->now = life->now;
    fault_resume();
    engine_step(life->engine, event, &life->update);
    fault_pause();
    serve_all(life);
}

static void tell_state(struct life *life, size_t cluster) {
    struct engine_event identity = {
        .type = EVENT_IDENTITY, .cluster = cluster, .identity = {.uid = cluster ? "k-1" : "k-0", .version = ""}};
    step(life, &identity);
    struct engine_event listing = {.type = EVENT_LISTING, .cluster = cluster, .version = "v1"};
    step(life, &listing);
    if (life->objects[cluster]) {
        struct engine_event seen = {
            .type = EVENT_SEEN, .cluster = cluster, .object = object_of(json_copy(life->objects[cluster]))};
        step(life, &seen);
    }
    struct engine_event listed = {.type = EVENT_LISTED, .cluster = cluster, .version = "v1"};
    step(life, &listed);
    struct engine_event state = {.type = EVENT_STATE, .cluster = cluster, .watch = {.state = REFLECTOR_CONNECTED}};
    step(life, &state);
}

static void tell_next(struct life *life) {
    struct news news = life->queue[0];
    memmove(life->queue, life->queue + 1, --life->n_queue * sizeof news);
    struct response response = {.reason = news.reason, .code = 200, .message = strdup("played"), .retry_after_ns = -1};
    struct engine_event event = {.type = news.type, .cluster = news.cluster};
    if (news.type == EVENT_ANSWER) {
        response.object = object_of(news.value);
        event.answer.command = news.command;
        event.answer.response = &response;
    } else {
        event.object = object_of(news.value);
    }
    step(life, &event);
    response_clear(&response);
}

static bool is_complete(const struct life *life) {
    for (const struct json *c = json_first(pointer_find(life->objects[0], "/status/conditions")); c; c = json_next(c))
        if (strcmp(text_at(c, "/type"), "Complete") == 0 && strcmp(text_at(c, "/status"), "True") == 0)
            return true;
    return false;
}

// What the worker's controller and the user do next; false if they have nothing to do.
static bool act(struct life *life) {
    if (life->objects[WORKER] && life->stage < 2) {
        AUTO_JSON patch = harness_json(life->stage++ == 0 ? RUNS : COMPLETE);
        assert_true(patch_apply(&life->objects[WORKER], patch));
        changed(life, WORKER);
        return true;
    }
    life->was_complete = life->was_complete || is_complete(life);
    if (life->was_complete && !life->objects[WORKER] && !life->user_deleted) {
        life->user_deleted = true;
        removed(life, 0);
        return true;
    }
    return false;
}

static void count_view(void *ctx, const struct engine_view *view) {
    (void)view;
    ++*(size_t *)ctx;
}

static bool is_over(const struct life *life) {
    size_t tracked = 0;
    engine_each(life->engine, count_view, &tracked);
    return life->user_deleted && life->n_queue == 0 && tracked == 0 && engine_pending(life->engine) == 0;
}

// Until the next thing that the engine waits for. What it was told and could not keep for lack of memory, it asks for
// again as a reflector does: with a list.
static void wait(struct life *life) {
    int64_t until_ns = life->update.wake_ns;
    if (until_ns == CLOCK_NEVER) {
        until_ns = life->now.mono_ns + 60 * CLOCK_SECOND;
        if (fault_hit()) {
            life->relists++;
            for (size_t cluster = 0; cluster < CLUSTERS; cluster++)
                tell_state(life, cluster);
        } else {
            life->stuck = true;
        }
    }
    if (until_ns > life->now.mono_ns) {
        life->now.wall_ns += until_ns - life->now.mono_ns;
        life->now.mono_ns = until_ns;
    }
    struct engine_event time = {.type = EVENT_TIME};
    step(life, &time);
}

static struct error *begin(struct life *life) {
    static const char *const workers[] = {"w1"};
    struct engine_options options = {.origin = "here",
                                     .worker_names = workers,
                                     .n_workers = 1,
                                     .kinds = &kind,
                                     .n_kinds = 1,
                                     .settings.worker_lost_timeout_ns = CLOCK_MINUTE,
                                     .settings.mirror_retention_ns = CLOCK_SECOND,
                                     .seals = seals,
                                     .seed = 1};
    life->now.mono_ns = CLOCK_SECOND;
    assert_true(clock_parse_rfc3339(HARNESS_NOW, &life->now.wall_ns));
    return engine_new(&options, life->now, &life->engine);
}

static void end(struct life *life) {
    for (size_t i = 0; i < life->n_queue; i++)
        json_free(life->queue[i].value);
    for (size_t i = 0; i < CLUSTERS; i++)
        json_free(life->objects[i]);
    update_free(&life->update);
    engine_free(life->engine);
}

// *out: whether the life came to its end.
static struct error *live(void **out) {
    static bool came_to_its_end;
    struct life life = {.version = 100};
    struct error *error = begin(&life);
    if (error)
        return error;
    fault_pause();
    life.objects[0] = harness_json(WORKLOAD);
    assert_true(pointer_set(life.objects[0], "/metadata/resourceVersion", json_new_string("100")));
    for (size_t cluster = 0; cluster < CLUSTERS; cluster++)
        tell_state(&life, cluster);
    for (int i = 0; i < STEPS_MAX && !is_over(&life) && !life.stuck; i++) {
        if (i == STEPS_WITHOUT_MEMORY)
            fault_disarm();
        if (life.n_queue)
            tell_next(&life);
        else if (!act(&life))
            wait(&life);
    }
    came_to_its_end = is_over(&life) && life.was_complete;
    relists += life.relists;
    end(&life);
    *out = &came_to_its_end;
    return NULL;
}

static bool is_true(const void *flag) {
    return *(const bool *)flag;
}

static void a_job_lives_its_life_whatever_fails_on_the_way(void **state) {
    (void)state;
    static const struct fault_case life = {"engine_step", live, is_true, NULL};
    fault_try(&life);
    print_message("             lists that had to be told again: %zu\n", relists);
}

static int setup(void **state) {
    harness_load(state);
    struct error *error = kind_check(job_kind, NULL, "wharf.dev/host", &kind);
    if (error)
        fail_msg("%s", error_text(error));
    static const char key[] = "the key of a life without memory";
    assert_null(seal_keys_new((const void *const[]){key}, (const size_t[]){sizeof key - 1}, 1, &seals));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    seal_keys_free(seals);
    kind_free(kind);
    return 0;
}

static struct kind *two_kinds[2];

static struct engine *make_engine(void) {
    static const char *const workers[] = {"w1"};
    struct engine_options options = {
        .origin = "here", .worker_names = workers, .n_workers = 1, .kinds = two_kinds, .n_kinds = 1, .seed = 1};
    struct engine *engine = NULL;
    assert_null(engine_new(&options, (struct moment){.mono_ns = CLOCK_SECOND}, &engine));
    return engine;
}

// Without memory nothing has changed, and it can be tried again.
static struct error *add_kind(void **out) {
    fault_pause();
    struct engine *engine = make_engine();
    fault_resume();
    struct error *error = engine_add_kinds(engine, two_kinds, 2, (struct moment){.mono_ns = CLOCK_SECOND});
    fault_pause();
    assert_int_equal(engine_n_kinds(engine), error ? 1 : 2);
    assert_null(engine_add_kinds(engine, two_kinds, 2, (struct moment){.mono_ns = CLOCK_SECOND}));
    assert_int_equal(engine_stats(engine)->n_kinds, 2);
    engine_free(engine);
    fault_resume();
    *out = NULL;
    return error;
}

static void a_kind_joins_or_nothing_changes(void **state) {
    (void)state;
    two_kinds[0] = two_kinds[1] = kind;
    fault_try(&(struct fault_case){.name = "add a kind", .run = add_kind});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_kind_joins_or_nothing_changes),
                                       cmocka_unit_test(a_job_lives_its_life_whatever_fails_on_the_way)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
