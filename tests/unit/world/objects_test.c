// SPDX-License-Identifier: Apache-2.0
// Garbage collection, namespaces, permissions, admission, hooks and counters.
#include "tests/unit/world/helper.h"

static void make_owned(struct fixture *fixture, const char *name, const char *uid) {
    AUTO_TEXT body = text_format("{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","
                                 "\"kind\":\"Job\",\"name\":\"owner\",\"uid\":\"%s\",\"controller\":true}]},"
                                 "\"spec\":{\"managedBy\":\"example.org/x\",\"template\":{\"spec\":" POD_SPEC "}}}",
                                 name, uid);
    assert_int_equal(ask(fixture, "POST", JOBS, body, NULL), 201);
}

static void dependents_follow_the_policy_of_a_delete(void **state) {
    (void)state;
    static const struct {
        const char *policy;
        bool dependent_stays;
    } cases[] = {{"Background", false}, {"Foreground", false}, {"Orphan", true}, {NULL, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        begin(&fixture, &(struct world_options){0});
        make_job(&fixture, "owner", "\"managedBy\":\"example.org/x\"", "");
        make_owned(&fixture, "child", text_at(job_of(&fixture, "owner"), "/metadata/uid"));
        run_until(&fixture, CLOCK_SECOND);
        assert_non_null(job_of(&fixture, "child"));
        assert_int_equal(
            world_delete(fixture.cluster, "batch", "jobs", "default", "owner", cases[i].policy, fixture.now_ns), 200);
        run_until(&fixture, 2 * CLOCK_SECOND);
        assert_null(job_of(&fixture, "owner"));
        assert_int_equal(!!job_of(&fixture, "child"), cases[i].dependent_stays);
        if (cases[i].dependent_stays)
            assert_null(pointer_find(job_of(&fixture, "child"), "/metadata/ownerReferences"));
        end(&fixture);
    }
}

static void an_object_whose_owner_never_existed_is_collected(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){0});
    make_owned(&fixture, "child", "11111111-1111-1111-1111-111111111111");
    run_until(&fixture, CLOCK_SECOND);
    assert_null(job_of(&fixture, "child"));
    end(&fixture);
}

static void a_namespace_goes_with_its_content(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){0});
    assert_int_equal(ask(&fixture, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}", NULL), 201);
    const char *body = "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"example.org/x\"]},\"spec\":{\"template\":{"
                       "\"spec\":" POD_SPEC "}}}";
    assert_int_equal(ask(&fixture, "POST", "/apis/batch/v1/namespaces/n/jobs", body, NULL), 201);
    assert_int_equal(ask(&fixture, "DELETE", "/api/v1/namespaces/n", NULL, NULL), 200);
    run_until(&fixture, CLOCK_SECOND);
    assert_int_equal(ask(&fixture, "GET", "/api/v1/namespaces/n", NULL, NULL), 200); // held by the finalizer
    assert_int_equal(
        ask(&fixture, "PATCH", "/apis/batch/v1/namespaces/n/jobs/a", "{\"metadata\":{\"finalizers\":null}}", NULL),
        200);
    run_until(&fixture, 2 * CLOCK_SECOND);
    assert_int_equal(ask(&fixture, "GET", "/api/v1/namespaces/n", NULL, NULL), 404);
    assert_int_equal(world_count(fixture.cluster, "batch", "jobs"), 0);
    end(&fixture);
}

static int refuse_or_change(void *ctx, enum world_verb verb, const char *plural, struct json *object,
                            char message[256]) {
    (void)plural;
    if (verb == WORLD_CREATE && strcmp(text_at(object, "/metadata/name"), "refused") == 0) {
        snprintf(message, 256, "exceeded quota: %s", (const char *)ctx);
        return 403;
    }
    assert_true(pointer_set(object, "/metadata/annotations/mutated", json_new_string("yes")));
    return 0;
}

static void admission_can_refuse_and_change(void **state) {
    (void)state;
    struct fixture fixture;
    struct json *answer = NULL;
    begin(&fixture, &(struct world_options){0});
    world_set_admission(fixture.cluster, refuse_or_change, (void *)(uintptr_t) "jobs");
    make_job(&fixture, "a", "", "\"x\":\"1\"");
    assert_string_equal(text_at(job_of(&fixture, "a"), "/metadata/annotations/mutated"), "yes");
    assert_int_equal(ask(&fixture, "POST", JOBS, "{\"metadata\":{\"name\":\"refused\"}}", &answer), 403);
    assert_string_equal(text_at(answer, "/message"), "jobs.batch \"refused\" is forbidden: exceeded quota: jobs");
    json_free(answer);
    end(&fixture);
}

static void a_permission_that_is_taken_away_is_403_and_no_in_reviews(void **state) {
    (void)state;
    static const struct {
        const char *verb, *resource, *method, *path, *review;
        int status;
    } cases[] = {
        {"create", "jobs.batch", "POST", JOBS, "\"verb\":\"create\",\"group\":\"batch\",\"resource\":\"jobs\"", 403},
        {"*", "jobs.batch/status", "PATCH", JOBS "/a/status",
         "\"verb\":\"patch\",\"group\":\"batch\",\"resource\":\"jobs\",\"subresource\":\"status\"", 403},
        {"list", "*", "GET", JOBS, "\"verb\":\"list\",\"group\":\"batch\",\"resource\":\"jobs\"", 403},
        {"delete", "jobs.batch", "GET", JOBS "/a", "\"verb\":\"get\",\"group\":\"batch\",\"resource\":\"jobs\"", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        struct json *review = NULL;
        begin(&fixture, &(struct world_options){.no_controllers = true});
        make_job(&fixture, "a", "", "");
        world_deny(fixture.cluster, cases[i].verb, cases[i].resource);
        const char *body = strcmp(cases[i].method, "GET") == 0 ? NULL : "{}";
        assert_int_equal(ask(&fixture, cases[i].method, cases[i].path, body, NULL), cases[i].status);
        AUTO_TEXT question = text_format("{\"spec\":{\"resourceAttributes\":{%s}}}", cases[i].review);
        assert_int_equal(
            ask(&fixture, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", question, &review), 201);
        assert_int_equal(json_bool(pointer_find(review, "/status/allowed"), true), cases[i].status == 200);
        json_free(review);
        world_allow_all(fixture.cluster);
        assert_int_not_equal(ask(&fixture, cases[i].method, cases[i].path, body, NULL), 403);
        end(&fixture);
    }
}

struct seen {
    size_t writes, refused, internal, noops;
    bool old_was_whole;
};

static void look(void *ctx, const struct world_write *write) {
    struct seen *seen = ctx;
    seen->writes += write->status < 400 && !write->noop;
    seen->refused += write->status >= 400;
    seen->internal += write->internal;
    seen->noops += write->noop;
    if (write->verb == WORLD_UPDATE_STATUS && write->old)
        seen->old_was_whole = pointer_find(write->old, "/spec/template") && !pointer_find(write->old, "/status/active");
}

static void a_hook_sees_every_write_and_refusal(void **state) {
    (void)state;
    struct fixture fixture;
    struct seen seen = {0};
    begin(&fixture, &(struct world_options){.no_controllers = true});
    world_set_hook(fixture.cluster, look, &seen);
    make_job(&fixture, "a", "", "");
    assert_int_equal(ask(&fixture, "PATCH", JOBS "/a/status", "{\"status\":{\"active\":1}}", NULL), 200);
    assert_true(seen.old_was_whole);
    assert_int_equal(ask(&fixture, "PATCH", JOBS "/a/status", "{\"status\":{\"active\":1}}", NULL), 200);
    assert_int_equal(ask(&fixture, "PATCH", JOBS "/a/status", "{\"status\":{\"failed\":-1}}", NULL), 422);
    assert_int_equal(ask(&fixture, "PATCH", JOBS "/none", "{}", NULL), 404);
    assert_int_equal(ask(&fixture, "DELETE", JOBS "/a", "{\"propagationPolicy\":\"Background\"}", NULL), 200);
    assert_int_equal(seen.writes, 3);
    assert_int_equal(seen.noops, 1);
    assert_int_equal(seen.refused, 2);
    assert_int_equal(seen.internal, 0);
    const struct world_counts *counts = world_counts(fixture.cluster);
    assert_int_equal(counts->writes[WORLD_UPDATE_STATUS], 1);
    assert_int_equal(counts->refused[422], 1);
    assert_int_equal(counts->refused[404], 1);
    end(&fixture);
}

static void a_refused_status_leaves_the_object_as_it_was(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){.no_controllers = true});
    make_job(&fixture, "a", "\"parallelism\":3", "");
    struct json *before = NULL, *after = NULL;
    assert_int_equal(ask(&fixture, "GET", JOBS "/a", NULL, &before), 200);
    static const char *const bad[] = {"{\"status\":{\"failed\":-1}}",
                                      "{\"status\":{\"active\":\"x\"}}",
                                      "{\"metadata\":{\"uid\":\"other\"}}",
                                      "{\"status\":[]}",
                                      "[]",
                                      "null"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(ask(&fixture, "PATCH", JOBS "/a/status", bad[i], NULL) >= 400);
    assert_int_equal(ask(&fixture, "PATCH", JOBS "/a/status", "{}", NULL), 200);
    assert_int_equal(ask(&fixture, "PATCH", JOBS "/a/status?dryRun=All", "{\"status\":{\"active\":1}}", NULL), 200);
    assert_int_equal(ask(&fixture, "GET", JOBS "/a", NULL, &after), 200);
    assert_true(json_equal(before, after));
    assert_int_equal(number_at(job_of(&fixture, "a"), "/spec/parallelism"), 3);
    json_free(before);
    json_free(after);
    end(&fixture);
}

static void the_same_seed_gives_the_same_world(void **state) {
    (void)state;
    struct json *lists[2] = {NULL, NULL};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        begin(&fixture, &(struct world_options){.seed = 42, .managed_fields = true});
        for (int j = 0; j < 20; j++) {
            AUTO_TEXT name = text_format("j%d", j);
            make_job(&fixture, name, "", j % 3 ? "" : "\"world.test/fail\":\"2\"");
        }
        run_until(&fixture, 30 * CLOCK_SECOND);
        assert_int_equal(ask(&fixture, "GET", JOBS, NULL, &lists[i]), 200);
        end(&fixture);
    }
    assert_true(json_equal(lists[0], lists[1]));
    assert_non_null(pointer_find(lists[0], "/items/0/metadata/managedFields/0/fieldsV1"));
    json_free(lists[0]);
    json_free(lists[1]);
}

static void what_is_too_large_is_refused(void **state) {
    (void)state;
    static const struct {
        size_t size;
        int status;
    } cases[] = {{(size_t)1 << 20, 422}, {(size_t)2 << 20, 500}, {(size_t)4 << 20, 413}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        begin(&fixture, &(struct world_options){0});
        struct buffer body;
        buffer_init(&body, (size_t)8 << 20);
        buffer_text(&body, "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"x\":\"");
        for (size_t j = 0; j < cases[i].size; j += 64)
            buffer_text(&body, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
        buffer_text(&body, "\"}},\"spec\":{\"template\":{\"spec\":" POD_SPEC "}}}");
        assert_int_equal(ask(&fixture, "POST", JOBS, body.data, NULL), cases[i].status);
        buffer_free(&body);
        end(&fixture);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependents_follow_the_policy_of_a_delete),
        cmocka_unit_test(an_object_whose_owner_never_existed_is_collected),
        cmocka_unit_test(a_namespace_goes_with_its_content),
        cmocka_unit_test(admission_can_refuse_and_change),
        cmocka_unit_test(a_permission_that_is_taken_away_is_403_and_no_in_reviews),
        cmocka_unit_test(a_hook_sees_every_write_and_refusal),
        cmocka_unit_test(a_refused_status_leaves_the_object_as_it_was),
        cmocka_unit_test(the_same_seed_gives_the_same_world),
        cmocka_unit_test(what_is_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
