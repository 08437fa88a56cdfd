// SPDX-License-Identifier: Apache-2.0
// Events of pods without memory: what is lost is counted, and later ones are told.
#include "core/host/watchers/watcher.h"

#include "core/kube/client/client.h"
#include "tests/unit/fault/fault_transport.h"
#include "tests/unit/host/dispatch_play.h"

#define META "\"metadata\":{\"namespace\":\"n\",\"resourceVersion\":\"7\","
#define OWNER(kind, uid)                                                                                               \
    ",\"ownerReferences\":[{\"apiVersion\":\"" kind "\",\"kind\":\"Job\",\"name\":\"a\",\"uid\":\"" uid                \
    "\",\"controller\":true}]"
#define EVENT                                                                                                          \
    "{\"type\":\"ADDED\",\"object\":{" META "\"name\":\"e\",\"uid\":\"e\"},\"involvedObject\":{\"kind\":\"Pod\","      \
    "\"namespace\":\"n\",\"name\":\"a-1\",\"uid\":\"p\"},\"reason\":\"BackOff\",\"message\":\"x\",\"type\":"           \
    "\"Warning\"}}\n"

static const struct fault_answer answers[] = {
    {"/api/v1/events?fieldSelector=involvedObject.kind%3DPod%2Ctype%3DWarning&limit=1",
     "{\"kind\":\"EventList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"},
    {"/api/v1/events?", "{\"kind\":\"EventList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"},
    {"/api/v1/namespaces/n/pods/a-1",
     "{\"kind\":\"Pod\"," META "\"name\":\"a-1\",\"uid\":\"p\"" OWNER("acme.example/v1", "o") "}}"},
    {"/apis/acme.example/v1/namespaces/n/jobses/a",
     "{\"kind\":\"Job\"," META "\"name\":\"a\",\"uid\":\"o\"" OWNER("batch/v1", "j") "}}"},
    {"/apis/acme.example/v1", "{\"resources\":[{\"name\":\"jobses\",\"namespaced\":true,\"kind\":\"Job\"}]}"},
    {"/apis/batch/v1/namespaces/n/jobs/a",
     "{\"kind\":\"Job\"," META
     "\"name\":\"a\",\"uid\":\"j\",\"labels\":{\"wharf.dev/origin\":\"here\",\"wharf.dev/uid\":"
     "\"w\",\"wharf.dev/kind\":\"jobs.batch\"},\"annotations\":{\"wharf.dev/attempt\":\"1\"}}}"},
    {"/api/v1", "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"events\",\"kind\":\"Event\",\"verbs\":["
                "\"list\",\"watch\"]}]}"},
    {NULL, NULL},
};

static unsigned told;

static void take(void *ctx, struct engine_event *event) {
    (void)ctx;
    assert_string_equal(event->pod_report.text, "pod a-1: x");
    told++;
}

static void happen(struct fake_transport *fake, size_t number) {
    struct http_handler handler = fake_at(fake, number)->handler;
    if (!handler.opened(handler.ctx) || !handler.data(handler.ctx, EVENT, sizeof EVENT - 1))
        fake_break(fake, number, 200);
}

static struct error *watch_until_told(void **out) {
    *out = NULL;
    struct fake_transport fake;
    struct meter meter = {0};
    fault_transport_init(&fake);
    told = 0;
    struct cluster_scope scope = {.cluster = 1,
                                  .name = "w1",
                                  .transport = &fake.base,
                                  .meter = &meter,
                                  .origin = "here",
                                  .settings = {.kinds = play_kinds(), .n_kinds = 1, .pod_events = POD_EVENTS_WARNINGS},
                                  .seed = 1,
                                  .post = take};
    void *events = NULL;
    struct error *error = watcher_start(&pod_events_watcher, &scope, &events);
    AUTO_JSON mirror = json_new_object();
    if (!error)
        pod_events_watcher.handle(
            events, &(struct cluster_notice){.type = NOTICE_SEEN, .object = &(struct object){.value = mirror}});
    struct moment now = {1000 * CLOCK_SECOND, 1767323045 * CLOCK_SECOND};
    for (int i = 0; i < 60 && !error && told == 0; i++) {
        (void)pod_events_watcher.step(events, now);
        fault_serve(&fake, answers, happen);
        now.mono_ns += 30 * CLOCK_SECOND;
        now.wall_ns += 30 * CLOCK_SECOND;
    }
    if (events)
        watcher_stop(&pod_events_watcher, events);
    fault_transport_free(&fake);
    if (error)
        return error;
    return told > 0 ? NULL : error_no_memory();
}

static void what_is_lost_for_lack_of_memory_does_not_end_the_watch(void **state) {
    (void)state;
    fault_try(&(struct fault_case){.name = "pod_events", .run = watch_until_told});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_lost_for_lack_of_memory_does_not_end_the_watch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
