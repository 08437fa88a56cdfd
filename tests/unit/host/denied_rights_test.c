// SPDX-License-Identifier: Apache-2.0
// Whose rights are reviewed after a 403 for a write, and what is told, on a fake transport and virtual time.
#include "core/host/watchers/watcher.h"

#include "core/base/text.h"
#include "tests/unit/kube/fake_transport.h"

#define REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define ANSWER(allowed)                                                                                                \
    "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/"                                     \
    "v1\",\"metadata\":{},\"status\":{\"allowed\":" allowed "}}"

struct stand {
    struct fake_transport fake;
    struct kind kind, *kinds[1];
    struct cluster_scope scope;
    void *watch;
    struct buffer told;
    struct moment now;
};

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    assert_int_equal(event->type, EVENT_DENIED);
    buffer_printf(&stand->told, "%s;", event->problem ? event->problem : "none");
}

static void expect(struct stand *stand, const char *text) {
    assert_string_equal(stand->told.data ? stand->told.data : "", text);
    buffer_free(&stand->told);
}

static void pass(struct stand *stand, int64_t ns) {
    stand->now.mono_ns += ns;
    for (int i = 0; i < 3; i++) {
        (void)denied_rights_watcher.step(stand->watch, stand->now);
        (void)client_tick(stand->scope.client, stand->now);
    }
}

static void begin(struct stand *stand) {
    *stand = (struct stand){.now = {1000 * CLOCK_SECOND, 1767323045 * CLOCK_SECOND}};
    fake_init(&stand->fake);
    buffer_init(&stand->told, 1 << 20);
    stand->kind.abi.plural = "jobs";
    stand->kind.abi.group = "batch";
    stand->kinds[0] = &stand->kind;
    struct client_options options = {.cluster = "w1", .transport = &stand->fake.base};
    stand->scope = (struct cluster_scope){
        .cluster = 1, .name = "w1", .settings = {.kinds = stand->kinds, .n_kinds = 1}, .post = take, .ctx = stand};
    assert_null(client_new(&options, &stand->scope.client));
    assert_null(watcher_start(&denied_rights_watcher, &stand->scope, &stand->watch));
}

static void end(struct stand *stand) {
    client_free(stand->scope.client);
    watcher_stop(&denied_rights_watcher, stand->watch);
    buffer_free(&stand->told);
    fake_free(&stand->fake);
}

// The review after a refused create in namespace `a`.
static const struct http_request *refuse(struct stand *stand, const char *tenant) {
    struct written_object written = {.verb = VERB_CREATE, .namespace_ = "a"};
    text_copy(written.tenant, sizeof written.tenant, tenant);
    denied_rights_watcher.handle(stand->watch, &(struct cluster_notice){.type = NOTICE_FORBIDDEN, .written = &written});
    pass(stand, 0);
    const struct http_request *review = &fake_at(&stand->fake, stand->fake.count)->request;
    assert_true(text_has_prefix(review->path, REVIEWS));
    return review;
}

static void answer(struct stand *stand, const char *body) {
    fake_answer(&stand->fake, stand->fake.count, 201, body);
    pass(stand, 0);
}

static void a_denied_right_of_the_host_is_told_and_its_grant(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    assert_null(refuse(&stand, "")->tenant);
    answer(&stand, ANSWER("false"));
    expect(&stand, "the host may not create jobs.batch in namespace a;");
    pass(&stand, 3 * CLOCK_SECOND);
    answer(&stand, ANSWER("true"));
    expect(&stand, "none;");
    end(&stand);
}

static void of_a_tenant_the_tenants_right_is_reviewed_and_only_a_grant_is_told(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    assert_string_equal(refuse(&stand, "a")->tenant, "a");
    answer(&stand, ANSWER("false"));
    expect(&stand, "");
    pass(&stand, 3 * CLOCK_SECOND);
    answer(&stand, ANSWER("true"));
    expect(&stand, "none;");
    end(&stand);
}

static void what_admission_refuses_is_no_denied_right(void **state) {
    (void)state;
    struct stand stand;
    begin(&stand);
    (void)refuse(&stand, "a");
    answer(&stand, ANSWER("true"));
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
