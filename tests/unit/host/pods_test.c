// SPDX-License-Identifier: Apache-2.0
#include "core/host/pods/pods.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// A worker: what it answers to each path.
struct worker {
    const struct answer {
        const char *path, *body; // body NULL: 403
    } * answers;
    size_t count;
    int asked;
};

static struct error *get(void *ctx, const char *path, bool metadata, struct json **out) {
    struct worker *worker = ctx;
    (void)metadata;
    worker->asked++;
    for (size_t i = 0; i < worker->count; i++) {
        if (strcmp(worker->answers[i].path, path) != 0)
            continue;
        const char *body = worker->answers[i].body;
        return body ? json_parse(body, strlen(body), out) : error_new(ERROR_REFUSED, "forbidden");
    }
    return error_new(ERROR_NOT_FOUND, "nothing at %s", path);
}

#define POD(name, owner) "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"ownerReferences\":[" owner "]}}"
#define OWNER(api, kind, uid)                                                                                          \
    "{\"apiVersion\":\"" api "\",\"kind\":\"" kind "\",\"name\":\"x\",\"uid\":\"" uid "\",\"controller\":true}"
#define WHOLE(name, created, phase)                                                                                    \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"creationTimestamp\":\"" created                     \
    "\"},\"spec\":{\"initContainers\":[{\"name\":\"prepare\"}],\"containers\":[{\"name\":\"main\"},{\"name\":\"side\"" \
    "}]},\"status\":{\"phase\":\"" phase "\",\"containerStatuses\":[{\"name\":\"main\",\"restartCount\":2,\"state\":"  \
    "{\"terminated\":{\"exitCode\":3,\"reason\":\"Error\"}}},{\"name\":\"side\",\"ready\":true,\"state\":{\"running\"" \
    ":{}}}]}}"

// Two pods of a Job of the JobSet, one of a second page, one of a ReplicaSet, one of nobody, one whose owners are in a
// circle.
static const struct answer jobset[] = {
    {"/api/v1/namespaces/a/pods?limit=500",
     "{\"metadata\":{\"continue\":\"x/=\"},\"items\":[" POD("one", OWNER("batch/v1", "Job", "j1")) "," POD(
         "stranger",
         OWNER("apps/v1", "ReplicaSet",
               "r1")) "," POD("alone", "") "," POD("round", OWNER("batch/v1", "Job",
                                                                  "c1")) "," POD("wild",
                                                                                 OWNER("../../x", "Job", "w1")) "]}"},
    {"/api/v1/namespaces/a/pods?limit=500&continue=x%2F%3D",
     "{\"metadata\":{},\"items\":[" POD("two", OWNER("batch/v1", "Job", "j2")) "," POD(
         "driven", OWNER("v1", "Pod", "u-one")) "]}"},
    {"/apis/batch/v1", "{\"resources\":[{\"name\":\"jobs/status\",\"kind\":\"Job\",\"namespaced\":true},{\"name\":"
                       "\"jobs\",\"kind\":\"Job\",\"namespaced\":true}]}"},
    {"/apis/apps/v1", "{\"resources\":[{\"name\":\"replicasets\",\"kind\":\"ReplicaSet\",\"namespaced\":true}]}"},
    {"/apis/apps/v1/namespaces/a/replicasets?limit=500", NULL},
    {"/apis/batch/v1/namespaces/a/jobs?limit=500",
     "{\"items\":[" POD(
         "j1",
         OWNER("jobset.x-k8s.io/v1alpha2", "JobSet",
               "mirror")) ","
                          "{\"metadata\":{\"name\":"
                          "\"job2\",\"uid\":\"j2\",\"ownerReferences\":[" OWNER(
                              "jobset.x-k8s.io/v1alpha2", "JobSet",
                              "mirror") "]}},"
                                        "{\"metadata\":{\"name\":\"job1\",\"uid\":\"j1\",\"ownerReferences\":[" OWNER(
                                            "jobset.x-k8s.io/v1alpha2", "JobSet",
                                            "mirror") "]}},"
                                                      "{\"metadata\":{\"name\":\"c1\",\"uid\":\"c1\","
                                                      "\"ownerReferences\":[" OWNER(
                                                          "batch/v1", "Job",
                                                          "c2") "]}},"
                                                                "{\"metadata\":{\"name\":\"c2\",\"uid\":\"c2\","
                                                                "\"ownerReferences\":[" OWNER("batch/v1", "Job",
                                                                                              "c1") "]}}]}"},
    {"/api/v1/namespaces/a/pods/one", WHOLE("one", "2026-01-01T00:00:01Z", "Failed")},
    {"/api/v1/namespaces/a/pods/two", WHOLE("two", "2026-01-01T00:00:02Z", "Running")},
};
#define N_JOBSET (sizeof jobset / sizeof jobset[0])

static void owners_are_followed_to_the_mirror(void **state) {
    (void)state;
    struct worker worker = {.answers = jobset, .count = N_JOBSET};
    struct pods pods;
    assert_null(pods_find(&(struct pods_source){.get = get, .ctx = &worker}, "a", "mirror", PODS_MAX, &pods));
    // The third one, "driven", is gone when it is read.
    assert_int_equal(pods.count, 2);
    assert_string_equal(pods.list[0].name, "two");
    assert_string_equal(pods.list[1].name, "one");
    assert_string_equal(pods.list[0].phase, "Running");
    assert_false(pods.truncated);
    assert_non_null(pods.blind);
    assert_string_equal(pods.blind->message, "owners of kind ReplicaSet: forbidden");
    pods_clear(&pods);
}

static void a_pods_containers_are_read_with_their_states(void **state) {
    (void)state;
    struct worker worker = {.answers = jobset, .count = N_JOBSET};
    struct pods pods;
    assert_null(pods_find(&(struct pods_source){.get = get, .ctx = &worker}, "a", "mirror", PODS_MAX, &pods));
    const struct pod *pod = &pods.list[0];
    assert_string_equal(pod->default_container, "main");
    assert_int_equal(pod->n_containers, 3);
    const struct pod_container *ended = pod_container_find(pod, "main"), *side = pod_container_find(pod, "side");
    assert_true(ended->terminated && !ended->running && !ended->init);
    assert_int_equal(ended->exit_code, 3);
    assert_int_equal(ended->restarts, 2);
    assert_string_equal(ended->reason, "Error");
    assert_true(side->running && side->ready);
    assert_true(pod_container_find(pod, "prepare")->init);
    assert_null(pod_container_find(pod, "nothing"));
    pods_clear(&pods);
}

static void objects_of_each_kind_are_listed_once(void **state) {
    (void)state;
    struct worker worker = {.answers = jobset, .count = N_JOBSET};
    const struct pods_source source = {.get = get, .ctx = &worker};
    struct pods pods;
    assert_null(pods_find(&source, "a", "mirror", 10, &pods));
    // Two pages of pods, two kinds with their discovery, three pods; the JobSets' discovery is not there.
    assert_int_equal(worker.asked, 7 - 1 + 3);
    assert_false(pods.truncated);
    pods_clear(&pods);
    worker.asked = 0;
    assert_null(pods_find(&source, "a", "mirror", 2, &pods));
    assert_int_equal(worker.asked, 7 - 1 + 2);
    assert_true(pods.truncated);
    pods_clear(&pods);
}

static void a_namespace_that_is_none_is_not_asked_for(void **state) {
    (void)state;
    struct worker worker = {.count = 0};
    struct pods pods;
    struct error *error =
        pods_find(&(struct pods_source){.get = get, .ctx = &worker}, "a/../../secrets", "mirror", PODS_MAX, &pods);
    assert_int_equal(error->code, ERROR_INVALID);
    assert_int_equal(worker.asked, 0);
    error_free(error);
}

// Names go into paths: of a worker behind a gateway this one would be a path of another worker.
static void a_pod_whose_name_is_a_path_is_left_out(void **state) {
    (void)state;
    static const struct answer answers[] = {
        {"/api/v1/namespaces/a/pods?limit=500",
         "{\"metadata\":{},\"items\":[" POD(
             "../../../../w2/api/v1/namespaces/a/pods/x",
             OWNER("batch/v1", "Job",
                   "m")) "," POD("a?x=y", OWNER("batch/v1", "Job",
                                                "m")) "," POD("a\\r\\nb",
                                                              OWNER("batch/v1", "Job",
                                                                    "m")) "," POD("good",
                                                                                  OWNER("batch/v1", "Job", "m")) "]}"},
        {"/api/v1/namespaces/a/pods/good", WHOLE("good", "2026-01-02T03:04:05Z", "Running")}};
    struct worker worker = {.answers = answers, .count = 2};
    const struct pods_source source = {.get = get, .ctx = &worker};
    struct pods pods;
    assert_null(pods_find(&source, "a", "m", PODS_MAX, &pods));
    assert_int_equal(pods.count, 1);
    assert_string_equal(pods.list[0].name, "good");
    assert_int_equal(worker.asked, 2);
    pods_clear(&pods);
}

// Pages without an end, each with one pod of `bytes`.
struct endless {
    size_t bytes;
    int asked;
};

static struct error *get_endless(void *ctx, const char *path, bool metadata, struct json **out) {
    struct endless *endless = ctx;
    (void)path;
    (void)metadata;
    AUTO_BUFFER(page, 4 << 20);
    buffer_printf(&page, "{\"metadata\":{\"continue\":\"c\"},\"items\":[");
    buffer_printf(&page, "{\"metadata\":{\"name\":\"p\",\"uid\":\"%d%0*d\"}}", endless->asked, (int)endless->bytes, 0);
    buffer_text(&page, "]}");
    endless->asked++;
    return json_parse(page.data, page.len, out);
}

static void no_more_is_kept_of_large_objects_than_of_many_small_ones(void **state) {
    (void)state;
    struct endless endless = {.bytes = 1 << 20};
    struct pods pods;
    assert_null(pods_find(&(struct pods_source){.get = get_endless, .ctx = &endless}, "a", "mirror", PODS_MAX, &pods));
    assert_int_equal(endless.asked, 16);
    assert_true(pods.truncated);
    assert_int_equal(pods.count, 0);
    pods_clear(&pods);
}

static void pods_that_may_not_be_listed_are_an_error(void **state) {
    (void)state;
    static const struct answer answers[] = {{"/api/v1/namespaces/a/pods?limit=500", NULL}};
    struct worker worker = {.answers = answers, .count = 1};
    struct pods pods;
    struct error *error = pods_find(&(struct pods_source){.get = get, .ctx = &worker}, "a", "mirror", PODS_MAX, &pods);
    assert_int_equal(error->code, ERROR_REFUSED);
    error_free(error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_are_followed_to_the_mirror),
        cmocka_unit_test(a_pods_containers_are_read_with_their_states),
        cmocka_unit_test(objects_of_each_kind_are_listed_once),
        cmocka_unit_test(a_namespace_that_is_none_is_not_asked_for),
        cmocka_unit_test(a_pod_whose_name_is_a_path_is_left_out),
        cmocka_unit_test(pods_that_may_not_be_listed_are_an_error),
        cmocka_unit_test(no_more_is_kept_of_large_objects_than_of_many_small_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
