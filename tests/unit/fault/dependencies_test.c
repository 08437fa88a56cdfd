// SPDX-License-Identifier: Apache-2.0
// The watches of objects that workloads refer to, without memory: each wish is answered in the end, or asked for again.
#include "core/host/watchers/watcher.h"

#include "core/base/log.h"
#include "tests/unit/fault/fault_transport.h"

#define OBJECT(name)                                                                                                   \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"3\"}}"
#define LIST(items) "{\"kind\":\"SecretList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" items "]}"
#define ONE "/api/v1/namespaces/n/secrets?fieldSelector=metadata.name%3D"

static const struct fault_answer answers[] = {
    {"/api/v1/secrets?", LIST(OBJECT("early") "," OBJECT("other"))},
    {ONE "late", LIST(OBJECT("late"))},
    {"/api/v1", "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"secrets\",\"kind\":\"Secret\",\"verbs\":["
                "\"list\",\"watch\"]}]}"},
    {NULL, NULL},
};

struct stand {
    struct fake_transport fake;
    struct cluster_scope scope;
    void *watch;
    bool forgotten, early, late, listed;
};

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    const char *name = event->dependency.name;
    bool seen = event->dependency.news == DEPENDENCY_SEEN;
    assert_int_not_equal(event->dependency.news, DEPENDENCY_GONE);
    assert_int_not_equal(event->dependency.news, DEPENDENCIES_REFUSED);
    stand->forgotten |= event->dependency.news == DEPENDENCIES_FORGOTTEN;
    stand->listed |= event->dependency.news == DEPENDENCIES_LISTED;
    stand->early |= seen && strcmp(name, "early") == 0;
    stand->late |= seen && strcmp(name, "late") == 0;
}

static void wish_for(struct stand *stand, const char *name) {
    const struct dependency_wish wish = {
        .resource = "secrets", .version = "v1", .namespace_ = *name ? "n" : "", .name = name, .wanted = true};
    dependencies_watcher.handle(stand->watch, &(struct cluster_notice){.type = NOTICE_WISH, .wish = &wish});
}

// As the engine: repeats all wishes when they are forgotten. "late" is wished after the list.
static void play(struct stand *stand) {
    struct moment now = {1000 * CLOCK_SECOND, 1767323045 * CLOCK_SECOND};
    for (int i = 0; i < 60 && !(stand->early && stand->late); i++) {
        if (stand->forgotten) {
            stand->forgotten = false;
            wish_for(stand, "");
            wish_for(stand, "early");
        }
        if (stand->listed)
            wish_for(stand, "late");
        (void)dependencies_watcher.step(stand->watch, now);
        (void)client_tick(stand->scope.client, now);
        fault_serve(&stand->fake, answers, fake_open);
        now.mono_ns += 30 * CLOCK_SECOND;
        now.wall_ns += 30 * CLOCK_SECOND;
    }
}

static struct error *watch_until_told(void **out) {
    struct stand stand = {.watch = NULL};
    *out = NULL;
    fault_transport_init(&stand.fake);
    stand.scope = (struct cluster_scope){.cluster = 1,
                                         .name = "w1",
                                         .transport = &stand.fake.base,
                                         .origin = "here",
                                         .seed = 1,
                                         .post = take,
                                         .ctx = &stand};
    struct client_options client = {.cluster = "w1", .transport = &stand.fake.base};
    struct error *error = client_new(&client, &stand.scope.client);
    if (!error)
        error = watcher_start(&dependencies_watcher, &stand.scope, &stand.watch);
    if (!error)
        play(&stand);
    if (stand.watch)
        watcher_stop(&dependencies_watcher, stand.watch);
    client_free(stand.scope.client);
    fault_transport_free(&stand.fake);
    if (error)
        return error;
    return stand.early && stand.late ? NULL : error_no_memory();
}

static void each_wish_is_answered_in_the_end(void **state) {
    (void)state;
    fault_try(&(struct fault_case){.name = "dependencies", .run = watch_until_told});
}

int main(void) {
    log_setup(LOG_TEXT, LOG_ERROR);
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_wish_is_answered_in_the_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
