// SPDX-License-Identifier: Apache-2.0
// Whose rights are reviewed after a 403 for a write, and what is told, on a fake transport and virtual time.
#include "tests/unit/host/watcher_stand.h"

#define REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define ANSWER(allowed)                                                                                                \
    "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/"                                     \
    "v1\",\"metadata\":{},\"status\":{\"allowed\":" allowed "}}"

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    assert_int_equal(event->type, EVENT_DENIED);
    buffer_printf(&stand->told, "%s;", event->problem ? event->problem : "none");
}

static void begin(struct stand *stand) {
    static struct kind jobs = {.abi = {.plural = "jobs", .group = "batch"}}, *kinds[] = {&jobs};
    start(stand, &denied_rights_watcher,
          &(struct cluster_scope){.cluster = 1, .settings = {.kinds = kinds, .n_kinds = 1}}, take);
}

// The review after a refused create in namespace `a`.
static const struct http_request *refuse(struct stand *stand, const char *tenant) {
    struct written_object written = {.verb = VERB_CREATE, .namespace_ = "a"};
    text_copy(written.tenant, sizeof written.tenant, tenant);
    notify(stand, &(struct cluster_notice){.type = NOTICE_FORBIDDEN, .written = &written});
    pass(stand, 0);
    const struct http_request *review = &fake_at(&stand->fake, stand->fake.count)->request;
    assert_true(text_has_prefix(review->path, REVIEWS));
    return review;
}

static void review(struct stand *stand, bool allowed) {
    assert_true(fake_last(&stand->fake)->live);
    answer(stand, REVIEWS, 201, allowed ? ANSWER("true") : ANSWER("false"));
}

static void a_denied_right_of_the_host_is_told_and_its_grant(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    assert_null(refuse(&stand, "")->tenant);
    review(&stand, false);
    expect(&stand, "the host may not create jobs.batch in namespace a;");
    pass(&stand, 3 * CLOCK_SECOND);
    review(&stand, true);
    expect(&stand, "none;");
    end(&stand);
}

static void of_a_tenant_the_tenants_right_is_reviewed_and_only_a_grant_is_told(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    assert_string_equal(refuse(&stand, "a")->tenant, "a");
    review(&stand, false);
    expect(&stand, "");
    pass(&stand, 3 * CLOCK_SECOND);
    review(&stand, true);
    expect(&stand, "none;");
    end(&stand);
}

static void what_admission_refuses_is_no_denied_right(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    (void)refuse(&stand, "a");
    review(&stand, true);
    expect(&stand, "");
    end(&stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_denied_right_of_the_host_is_told_and_its_grant),
        cmocka_unit_test(of_a_tenant_the_tenants_right_is_reviewed_and_only_a_grant_is_told),
        cmocka_unit_test(what_admission_refuses_is_no_denied_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
