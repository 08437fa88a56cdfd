// SPDX-License-Identifier: Apache-2.0
// Pods of a Job start when the objects that they name are there.
#include "tests/unit/world/helper.h"

#define CORE "/api/v1/namespaces/default/"

struct lack {
    const char *name, *members; // of the PodSpec; "@" in front: of its container
    const char *path, *object;  // what is missing, NULL: nothing
    int64_t active;             // pods meanwhile
};

#define NAMED(kind) "{\"apiVersion\":\"v1\",\"kind\":\"" kind "\",\"metadata\":{\"name\":\"x\"}}"
#define CLASS(group, kind, more)                                                                                       \
    "{\"apiVersion\":\"" group "/v1\",\"kind\":\"" kind "\",\"metadata\":{\"name\":\"x\"}," more "}"
#define CLAIM                                                                                                          \
    "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\",\"metadata\":{\"name\":\"x\"},\"spec\":{"               \
    "\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}"
#define VOLUME(source) "\"volumes\":[{\"name\":\"v\"," source "}]"

static const struct lack lacks[] = {
    {"volume", VOLUME("\"configMap\":{\"name\":\"x\"}"), CORE "configmaps", NAMED("ConfigMap"), 1},
    {"optional", VOLUME("\"configMap\":{\"name\":\"x\",\"optional\":true}"), NULL, NULL, 1},
    {"secret", VOLUME("\"secret\":{\"secretName\":\"x\"}"), CORE "secrets", NAMED("Secret"), 1},
    {"projected", VOLUME("\"projected\":{\"sources\":[{\"secret\":{\"name\":\"x\"}}]}"), CORE "secrets",
     NAMED("Secret"), 1},
    {"claim", VOLUME("\"persistentVolumeClaim\":{\"claimName\":\"x\"}"), CORE "persistentvolumeclaims", CLAIM, 1},
    {"env-from", "@\"envFrom\":[{\"configMapRef\":{\"name\":\"x\"}}]", CORE "configmaps", NAMED("ConfigMap"), 1},
    {"env", "@\"env\":[{\"name\":\"e\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"x\",\"key\":\"k\"}}}]",
     CORE "secrets", NAMED("Secret"), 1},
    {"pull-secret", "\"imagePullSecrets\":[{\"name\":\"x\"}]", NULL, NULL, 1},
    {"default-account", "\"serviceAccountName\":\"default\"", NULL, NULL, 1},
    {"account", "\"serviceAccountName\":\"x\"", CORE "serviceaccounts", NAMED("ServiceAccount"), 0},
    {"priority", "\"priorityClassName\":\"x\"", "/apis/scheduling.k8s.io/v1/priorityclasses",
     CLASS("scheduling.k8s.io", "PriorityClass", "\"value\":1"), 0},
    {"runtime", "\"runtimeClassName\":\"x\"", "/apis/node.k8s.io/v1/runtimeclasses",
     CLASS("node.k8s.io", "RuntimeClass", "\"handler\":\"runc\""), 0},
};

static void make_needy_job(struct fixture *f, const struct lack *lack) {
    bool container = *lack->members == '@';
    AUTO_TEXT body =
        text_format("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                    "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",%s%s\"containers\":[{\"name\":\"m\","
                    "\"image\":\"i\"%s%s}]}}}}",
                    lack->name, container ? "" : lack->members, container ? "" : ",", container ? "," : "",
                    container ? lack->members + 1 : "");
    assert_int_equal(ask(f, "POST", JOBS, body, NULL), 201);
}

static void pods_start_when_what_they_name_is_there(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        struct fixture f;
        print_message("%s\n", lacks[i].name);
        begin(&f, &(struct world_options){.seed = i});
        make_needy_job(&f, &lacks[i]);
        run_until(&f, 20 * CLOCK_SECOND);
        assert_int_equal(is_true(job_of(&f, lacks[i].name), "Complete"), !lacks[i].path);
        if (lacks[i].path) {
            assert_int_equal(number_at(job_of(&f, lacks[i].name), "/status/active"), lacks[i].active);
            assert_int_equal(number_at(job_of(&f, lacks[i].name), "/status/ready"), 0);
            assert_int_equal(ask(&f, "POST", lacks[i].path, lacks[i].object, NULL), 201);
        }
        run_until(&f, 40 * CLOCK_SECOND);
        assert_true(is_true(job_of(&f, lacks[i].name), "Complete"));
        end(&f);
    }
}

static void a_pod_without_its_config_map_shows_why(void **state) {
    (void)state;
    struct fixture f;
    begin(&f, &(struct world_options){.pods = true});
    make_needy_job(&f, &lacks[0]);
    run_until(&f, CLOCK_SECOND);
    const void *cursor = NULL;
    const struct json *pod = world_next(f.cluster, "", "pods", &cursor);
    assert_string_equal(text_at(pod, "/status/phase"), "Pending");
    assert_string_equal(text_at(pod, "/status/containerStatuses/0/state/waiting/reason"), "CreateContainerConfigError");
    end(&f);
}

static void a_claim_is_bound_and_goes_when_no_pod_uses_it(void **state) {
    (void)state;
    struct fixture f;
    begin(&f, &(struct world_options){.pod_run_ns = 10 * CLOCK_SECOND});
    assert_int_equal(ask(&f, "POST", CORE "persistentvolumeclaims", CLAIM, NULL), 201);
    make_needy_job(&f, &lacks[4]);
    run_until(&f, CLOCK_SECOND);
    const struct json *claim = world_object(f.cluster, "", "persistentvolumeclaims", "default", "x");
    assert_string_equal(text_at(claim, "/status/phase"), "Bound");
    assert_true(pointer_find(claim, "/spec/volumeName"));
    assert_int_equal(ask(&f, "DELETE", CORE "persistentvolumeclaims/x", NULL, NULL), 200);
    run_until(&f, 5 * CLOCK_SECOND);
    assert_int_equal(ask(&f, "POST", CORE "persistentvolumeclaims", CLAIM, NULL), 409);
    run_until(&f, 20 * CLOCK_SECOND);
    assert_true(is_true(job_of(&f, "claim"), "Complete"));
    assert_null(world_object(f.cluster, "", "persistentvolumeclaims", "default", "x"));
    end(&f);
}

static void a_denial_lets_requests_by_name_pass(void **state) {
    (void)state;
    struct fixture f;
    begin(&f, &(struct world_options){0});
    world_deny_unnamed(f.cluster, "secrets");
    assert_int_equal(ask(&f, "GET", CORE "secrets", NULL, NULL), 403);
    assert_int_equal(ask(&f, "GET", CORE "secrets/x", NULL, NULL), 404);
    assert_int_equal(ask(&f, "GET", CORE "secrets?fieldSelector=metadata.name%3Dx", NULL, NULL), 200);
    assert_int_equal(ask(&f, "GET", CORE "configmaps", NULL, NULL), 200);
    struct world_response refused;
    assert_null(world_watch(f.cluster, CORE "secrets?watch=true", f.now_ns, NULL, NULL, &refused));
    assert_int_equal(refused.status, 403);
    world_response_clear(&refused);
    struct world_watch *watch = world_watch(f.cluster, CORE "secrets?watch=true&fieldSelector=metadata.name%3Dx",
                                            f.now_ns, NULL, NULL, &refused);
    assert_non_null(watch);
    world_watch_close(watch);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_start_when_what_they_name_is_there),
        cmocka_unit_test(a_pod_without_its_config_map_shows_why),
        cmocka_unit_test(a_claim_is_bound_and_goes_when_no_pod_uses_it),
        cmocka_unit_test(a_denial_lets_requests_by_name_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
