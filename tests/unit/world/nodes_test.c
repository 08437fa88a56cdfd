// SPDX-License-Identifier: Apache-2.0
// Nodes of a cluster: pods of Jobs are bound where they fit, wait where they do not, and are selected by their phase.
#include "tests/unit/world/helper.h"

#define PODS "/api/v1/pods"
#define NOT_ENDED PODS "?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"
#define JOB(name, cpu)                                                                                                 \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"" name                                     \
    "\",\"annotations\":{\"world.test/duration\":\"10s\"}},\"spec\":{\"template\":"                                    \
    "{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"i\",\"resources\":"         \
    "{\"requests\":{\"cpu\":\"" cpu "\"}}}]}}}}"

static void pass(struct fixture *f, int64_t ns) {
    for (int64_t end_ns = f->now_ns + ns; f->now_ns < end_ns; f->now_ns += 50 * CLOCK_MS)
        world_step(f->cluster, f->now_ns);
}

static size_t count(struct fixture *f, const char *path, const char *node) {
    AUTO_JSON list = NULL;
    size_t found = 0;
    assert_int_equal(ask(f, "GET", path, NULL, &list), 200);
    for (const struct json *pod = json_first(json_get(list, "items")); pod; pod = json_next(pod))
        found += !node || text_equal(json_string_or(json_path(pod, "spec", "nodeName", NULL), ""), node);
    return found;
}

static void a_pod_waits_until_a_node_has_room_for_it(void **state) {
    (void)state;
    struct fixture f;
    begin(&f, &(struct world_options){.pods = true});
    world_register(f.cluster, &(struct world_kind){.group = "",
                                                   .versions = {"v1"},
                                                   .plural = "nodes",
                                                   .kind = "Node",
                                                   .cluster_scoped = true,
                                                   .no_status = true});
    assert_int_equal(ask(&f, "POST", "/api/v1/nodes",
                         "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"},\"status\":{"
                         "\"allocatable\":{\"cpu\":\"3\",\"pods\":\"9\"}}}",
                         NULL),
                     201);
    assert_int_equal(ask(&f, "POST", JOBS, JOB("a", "2"), NULL), 201);
    pass(&f, CLOCK_SECOND);
    assert_int_equal(ask(&f, "POST", JOBS, JOB("b", "2"), NULL), 201);
    pass(&f, 5 * CLOCK_SECOND);
    assert_int_equal(count(&f, PODS, "n"), 1);
    assert_int_equal(count(&f, NOT_ENDED, NULL), 2);
    pass(&f, 8 * CLOCK_SECOND);
    assert_int_equal(count(&f, PODS, "n"), 2);
    assert_int_equal(count(&f, NOT_ENDED, "n"), 1);
    assert_int_equal(count(&f, PODS "?fieldSelector=status.phase%3DSucceeded", NULL), 1);
    assert_int_equal(ask(&f, "GET", JOBS "?fieldSelector=status.phase%21%3DFailed", NULL, NULL), 400);
    pass(&f, 12 * CLOCK_SECOND);
    assert_int_equal(count(&f, NOT_ENDED, NULL), 0);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_pod_waits_until_a_node_has_room_for_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
