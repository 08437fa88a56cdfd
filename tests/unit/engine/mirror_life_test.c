// SPDX-License-Identifier: Apache-2.0
// The engine with one simulated workload and worker: its Events, and a status that is removed.
#include "core/engine/engine.h"
#include "core/json/pointer.h"
#include "tests/unit/quoted.h"

#define WORKER 1

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    (void)object;
    out->phase = WHARF_ACTIVE;
    return WHARF_OK;
}

static const wharf_kind given = {
    WHARF_KIND_SIZES, .group = "example.com", .versions = (const char *const[]){"v1", NULL},
    .kind = "Train",  .plural = "trains",     .managed_by = "/spec/managedBy",
    .phase = phase,
};

static unsigned updates; // calls of this kind's update

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)call;
    (void)workload;
    (void)mirror;
    (void)desired;
    updates++;
    return WHARF_OK;
}

static const wharf_kind observing_given = {
    .size = sizeof observing_given,
    .group = "example.com",
    .versions = (const char *const[]){"v1", NULL},
    .kind = "Train",
    .plural = "trains",
    .managed_by = "/spec/managedBy",
    .observed_generation = "/status/observedGeneration",
    .phase = phase,
    .update = update,
};

struct play {
    struct engine *engine;
    struct update update;
    struct moment now;
    struct json *objects[2]; // the workload, the mirror
    int versions, uids;
    size_t dispatched; // Events
};

static struct kind *kind, *observing;

static struct object *object_of(const struct json *value) {
    struct object *object = NULL;
    if (value)
        assert_null(object_new(json_copy(value), NULL, NULL, &object));
    return object;
}

static void set_text(struct json *object, const char *pointer, const char *prefix, int number) {
    AUTO_TEXT text = text_format("%s%d", prefix, number);
    assert_true(pointer_set(object, pointer, json_new_string(text)));
}

static void step(struct play *play, struct engine_event event) {
    event.now = play->now;
    engine_step(play->engine, &event, &play->update);
}

static void tell_change(struct play *play, size_t cluster) {
    set_text(play->objects[cluster], "/metadata/resourceVersion", "", ++play->versions);
    step(play,
         (struct engine_event){.type = EVENT_SEEN, .cluster = cluster, .object = object_of(play->objects[cluster])});
}

static void change(struct play *play, size_t cluster, const char *patch) {
    AUTO_JSON change = parsed(patch);
    assert_true(patch_apply(&play->objects[cluster], change));
    tell_change(play, cluster);
}

// Executes a request as an API server; every precondition holds.
static void serve(struct play *play, const struct command *command) {
    struct json **object = &play->objects[command->cluster];
    AUTO_JSON body = NULL;
    if (command->request.body)
        assert_null(json_parse(command->request.body, command->request.body_len, &body));
    if (command->request.verb == VERB_CREATE) {
        assert_null(*object);
        *object = json_copy(body);
        set_text(*object, "/metadata/uid", "m-", ++play->uids);
    } else if (body) {
        assert_true(patch_apply(object, body));
    }
    set_text(*object, "/metadata/resourceVersion", "", ++play->versions);
    struct response response = {.reason = REASON_OK, .code = 200, .retry_after_ns = -1, .object = object_of(*object)};
    step(play,
         (struct engine_event){.type = EVENT_ANSWER, .cluster = command->cluster, .answer = {command->id, &response}});
    response_clear(&response);
}

// Serves requests until there are none.
static void settle(struct play *play) {
    for (int turns = 0; turns < 20; turns++) {
        struct update update = play->update;
        play->update = (struct update){0};
        for (size_t i = 0; i < update.n_events; i++)
            play->dispatched += strcmp(update.events[i].reason, "Dispatched") == 0;
        size_t commands = update.n_commands;
        for (size_t i = 0; i < commands; i++)
            serve(play, &update.commands[i]);
        update_free(&update);
        play->now.mono_ns += CLOCK_SECOND;
        step(play, (struct engine_event){.type = EVENT_TIME});
        if (commands == 0 && play->update.n_commands == 0)
            return;
    }
    fail_msg("it does not come to rest");
}

static void begin_with(struct play *play, struct kind *const *kinds) {
    static const char *const workers[] = {"w1"};
    struct engine_options options = {.origin = "here",
                                     .worker_names = workers,
                                     .n_workers = 1,
                                     .kinds = kinds,
                                     .n_kinds = 1,
                                     .settings.worker_lost_timeout_ns = CLOCK_MINUTE,
                                     .seed = 1};
    *play = (struct play){.now = {.mono_ns = CLOCK_SECOND}, .versions = 100};
    assert_null(engine_new(&options, play->now, &play->engine));
    for (size_t cluster = 0; cluster < 2; cluster++) {
        step(play, (struct engine_event){.type = EVENT_IDENTITY,
                                         .cluster = cluster,
                                         .identity = {.uid = cluster ? "k-1" : "k-0", .version = "1"}});
        step(play, (struct engine_event){.type = EVENT_LISTING, .cluster = cluster, .version = "v1"});
        step(play, (struct engine_event){.type = EVENT_LISTED, .cluster = cluster, .version = "v1"});
        step(play,
             (struct engine_event){.type = EVENT_STATE, .cluster = cluster, .watch = {.state = REFLECTOR_CONNECTED}});
    }
    play->objects[0] = parsed("{'apiVersion':'example.com/v1','kind':'Train','metadata':{'name':'t','namespace':'ns',"
                              "'uid':'u-1','generation':1},'spec':{'managedBy':'wharf.dev/host'}}");
    tell_change(play, 0);
    settle(play);
    assert_non_null(play->objects[WORKER]);
}

static void begin(struct play *play) {
    begin_with(play, &kind);
}

static void end(struct play *play) {
    json_free(play->objects[0]);
    json_free(play->objects[WORKER]);
    update_free(&play->update);
    engine_free(play->engine);
}

static void delete_mirror(struct play *play) {
    set_text(play->objects[WORKER], "/metadata/deletionTimestamp", "2026-01-01T00:00:0", 1);
    step(play,
         (struct engine_event){.type = EVENT_GONE, .cluster = WORKER, .object = object_of(play->objects[WORKER])});
    json_free(play->objects[WORKER]);
    play->objects[WORKER] = NULL;
    for (int i = 0; i < 10 && !play->objects[WORKER]; i++) {
        play->now.mono_ns += CLOCK_MINUTE;
        step(play, (struct engine_event){.type = EVENT_TIME});
        settle(play);
    }
    assert_non_null(play->objects[WORKER]);
}

static void each_mirror_that_is_made_in_the_same_worker_is_told(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    assert_int_equal(play.dispatched, 1);
    delete_mirror(&play);
    assert_int_equal(play.dispatched, 2);
    delete_mirror(&play);
    assert_int_equal(play.dispatched, 3);
    end(&play);
}

static void a_status_that_the_mirror_had_and_has_no_more_is_taken_away(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    change(&play, WORKER, "{'status':{'ready':1}}");
    settle(&play);
    assert_non_null(pointer_find(play.objects[0], "/status/ready"));
    change(&play, WORKER, "{'status':null}");
    settle(&play);
    assert_null(pointer_find(play.objects[0], "/status/ready"));
    end(&play);
}

static void a_new_mirror_without_a_status_leaves_the_workload_its_own(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    change(&play, WORKER, "{'status':{'ready':1}}");
    settle(&play);
    delete_mirror(&play);
    change(&play, WORKER, "{'status':{}}");
    settle(&play);
    assert_non_null(pointer_find(play.objects[0], "/status/ready"));
    end(&play);
}

static void copying_a_status_compares_the_mirror_with_its_workload_once(void **state) {
    (void)state;
    struct play play;
    begin_with(&play, &observing);
    change(&play, WORKER, "{'metadata':{'generation':1},'status':{'observedGeneration':1}}");
    settle(&play);
    unsigned before = updates;
    for (int i = 1; i <= 10; i++) {
        AUTO_TEXT status = text_format("{'status':{'observedGeneration':1,'ready':%d}}", i);
        change(&play, WORKER, status);
        settle(&play);
        assert_int_equal(json_int64(pointer_find(play.objects[0], "/status/ready"), 0), i);
        assert_int_equal(json_int64(pointer_find(play.objects[0], "/status/observedGeneration"), 0), 1);
    }
    assert_int_equal(updates, before);
    change(&play, 0, "{'metadata':{'generation':2}}");
    settle(&play);
    assert_true(updates > before);
    assert_int_equal(json_int64(pointer_find(play.objects[0], "/status/observedGeneration"), 0), 2);
    end(&play);
}

static void a_label_that_is_not_carried_yet_keeps_the_observed_generation_back(void **state) {
    (void)state;
    struct play play;
    begin_with(&play, &observing);
    change(&play, WORKER, "{'metadata':{'generation':1},'status':{'observedGeneration':1,'ready':1}}");
    settle(&play);
    assert_true(pointer_set(play.objects[0], "/metadata/labels", parsed("{'team':'x'}")));
    change(&play, 0, "{'metadata':{'generation':2}}");
    change(&play, WORKER, "{'status':{'ready':2}}");
    settle(&play); // with the patch of the mirror, and both status copies
    assert_string_equal(json_string(pointer_find(play.objects[WORKER], "/metadata/labels/team")), "x");
    assert_int_equal(json_int64(pointer_find(play.objects[0], "/status/observedGeneration"), 0), 2);
    assert_int_equal(json_int64(pointer_find(play.objects[0], "/status/ready"), 0), 2);
    end(&play);
}

static int setup(void **state) {
    (void)state;
    if (kind_check(&observing_given, NULL, "wharf.dev/host", &observing))
        return 1;
    return kind_check(&given, NULL, "wharf.dev/host", &kind) ? 1 : 0;
}

static int teardown(void **state) {
    (void)state;
    kind_free(kind);
    kind_free(observing);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mirror_that_is_made_in_the_same_worker_is_told),
        cmocka_unit_test(a_status_that_the_mirror_had_and_has_no_more_is_taken_away),
        cmocka_unit_test(a_new_mirror_without_a_status_leaves_the_workload_its_own),
        cmocka_unit_test(copying_a_status_compares_the_mirror_with_its_workload_once),
        cmocka_unit_test(a_label_that_is_not_carried_yet_keeps_the_observed_generation_back),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
