// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/kube/client/client.h"
#include "tests/unit/kube/fake_transport.h"

#include <unistd.h>

#define OBJECT "{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"5\"}}"

struct answers {
    size_t count;
    enum reason last;
    struct client *client;
    const struct request *again; // submitted from within the handler, once
};

struct fixture {
    struct fake_transport fake;
    struct client *client;
    struct answers answers;
};

static const struct resource jobs = {.group = "batch", .version = "v1", .plural = "jobs"};
static const struct request get_a = {
    .verb = VERB_GET, .resource = {"batch", "v1", "jobs", false}, .namespace_ = "n", .name = "a"};

static struct moment at(int64_t mono_ns) {
    return (struct moment){.mono_ns = mono_ns};
}

static void begin(struct fixture *fixture, size_t max_in_flight) {
    *fixture = (struct fixture){0};
    fake_init(&fixture->fake);
    struct client_options options = {.cluster = "w1", .transport = &fixture->fake.base, .max_in_flight = max_in_flight};
    assert_null(client_new(&options, &fixture->client));
    fixture->answers.client = fixture->client;
    assert_ptr_equal(client_transport(fixture->client), &fixture->fake.base);
}

static void end(struct fixture *fixture) {
    client_free(fixture->client);
    fake_free(&fixture->fake);
}

static void count_answer(void *ctx, struct response *response) {
    struct answers *answers = ctx;
    answers->count++;
    answers->last = response->reason;
    if (answers->again) {
        const struct request *again = answers->again;
        answers->again = NULL;
        assert_null(client_submit(answers->client, again, count_answer, answers, NULL));
    }
}

static uint64_t submit(struct fixture *fixture, const struct request *request) {
    uint64_t id = 0;
    assert_null(client_submit(fixture->client, request, count_answer, &fixture->answers, &id));
    return id;
}

static void a_request_is_the_tenants_or_the_hosts(void **state) {
    (void)state;
    static const char *const invalid[] = {"", "a b", "a\r\nX: y", "Team"};
    struct fixture fixture;
    struct request request = get_a;
    begin(&fixture, 0);
    char tenant[] = "team-a";
    request.tenant = tenant;
    submit(&fixture, &request);
    memset(tenant, 'x', sizeof tenant - 1); // copied
    submit(&fixture, &get_a);
    (void)client_tick(fixture.client, at(0));
    assert_string_equal(fake_at(&fixture.fake, 1)->request.tenant, "team-a");
    assert_null(fake_at(&fixture.fake, 2)->request.tenant);
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        request.tenant = invalid[i];
        struct error *error = client_submit(fixture.client, &request, count_answer, &fixture.answers, NULL);
        assert_non_null(error);
        assert_int_equal(error->code, ERROR_INVALID);
        error_free(error);
    }
    end(&fixture);
}

static void each_verb_has_its_method_path_and_content_type(void **state) {
    (void)state;
    static const struct {
        struct request request;
        enum http_method method;
        const char *path, *content_type;
    } cases[] = {
        {{.verb = VERB_GET, .namespace_ = "n", .name = "a"}, HTTP_GET, "/apis/batch/v1/namespaces/n/jobs/a", NULL},
        {{.verb = VERB_CREATE, .namespace_ = "n", .body = "{}", .body_len = 2},
         HTTP_POST,
         "/apis/batch/v1/namespaces/n/jobs?fieldManager=wharf",
         "application/json"},
        {{.verb = VERB_CREATE, .namespace_ = "n", .name = "in-the-body", .body = "{}", .body_len = 2},
         HTTP_POST,
         "/apis/batch/v1/namespaces/n/jobs?fieldManager=wharf",
         "application/json"},
        {{.verb = VERB_CREATE, .namespace_ = "n", .body = "{}", .body_len = 2, .dry_run = DRY_RUN_STRICT},
         HTTP_POST,
         "/apis/batch/v1/namespaces/n/jobs?fieldManager=wharf&dryRun=All&fieldValidation=Strict",
         "application/json"},
        {{.verb = VERB_MERGE_PATCH, .namespace_ = "n", .name = "a", .body = "{}", .body_len = 2},
         HTTP_PATCH,
         "/apis/batch/v1/namespaces/n/jobs/a?fieldManager=wharf",
         "application/merge-patch+json"},
        {{.verb = VERB_MERGE_PATCH, .namespace_ = "n", .name = "a", .body = "{}", .body_len = 2, .dry_run = DRY_RUN},
         HTTP_PATCH,
         "/apis/batch/v1/namespaces/n/jobs/a?fieldManager=wharf&dryRun=All",
         "application/merge-patch+json"},
        {{.verb = VERB_STATUS_PATCH, .namespace_ = "n", .name = "a", .body = "{}", .body_len = 2},
         HTTP_PATCH,
         "/apis/batch/v1/namespaces/n/jobs/a/status?fieldManager=wharf",
         "application/merge-patch+json"},
        {{.verb = VERB_DELETE, .namespace_ = "n", .name = "a", .body = "{}", .body_len = 2},
         HTTP_DELETE,
         "/apis/batch/v1/namespaces/n/jobs/a",
         "application/json"},
        {{.verb = VERB_DELETE, .namespace_ = "n", .name = "a"},
         HTTP_DELETE,
         "/apis/batch/v1/namespaces/n/jobs/a",
         NULL},
        {{.verb = VERB_RAW_GET, .name = "/apis/batch/v1?x=y"}, HTTP_GET, "/apis/batch/v1?x=y", NULL},
        {{.verb = VERB_CREATE, .namespace_ = "n", .name = "a", .subresource = "token", .body = "{}", .body_len = 2},
         HTTP_POST,
         "/apis/batch/v1/namespaces/n/jobs/a/token?fieldManager=wharf",
         "application/json"},
    };
    struct fixture fixture;
    begin(&fixture, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct request request = cases[i].request;
        request.resource = jobs;
        submit(&fixture, &request);
        client_tick(fixture.client, at(0));
        const struct http_request *sent = &fake_last(&fixture.fake)->request;
        assert_int_equal(sent->method, cases[i].method);
        assert_string_equal(sent->path, cases[i].path);
        assert_true(!sent->content_type == !cases[i].content_type);
        if (sent->content_type) {
            assert_string_equal(sent->content_type, cases[i].content_type);
            assert_string_equal(sent->body, "{}");
        }
        assert_int_equal(sent->timeout_ns, 40 * CLOCK_SECOND);
        assert_false(sent->stream);
        assert_true(sent->max_body > 0);
        fake_answer(&fixture.fake, fixture.fake.count, 200, OBJECT);
    }
    assert_int_equal(fixture.answers.count, sizeof(cases) / sizeof(cases[0]));
    end(&fixture);
}

static void paths_are_those_of_the_api(void **state) {
    (void)state;
    static const struct {
        struct resource resource;
        const char *namespace_, *name, *subresource, *path;
    } cases[] = {
        {{"", "v1", "pods", false}, "n", "a", NULL, "/api/v1/namespaces/n/pods/a"},
        {{"", "v1", "pods", false}, NULL, NULL, NULL, "/api/v1/pods"},
        {{"", "v1", "pods", false}, "", NULL, NULL, "/api/v1/pods"},
        {{"", "v1", "namespaces", true}, "ignored", "n", NULL, "/api/v1/namespaces/n"},
        {{"batch", "v1", "jobs", false}, "n", "a", "status", "/apis/batch/v1/namespaces/n/jobs/a/status"},
        {{"x.io", "v1", "things", true}, NULL, "system:a b", NULL, "/apis/x.io/v1/things/system%3Aa%20b"},
        {{"x.io", "v1", "things", true}, NULL, "..", NULL, NULL},
        {{"x.io", "v1", "things", true}, NULL, ".", NULL, NULL},
        {{"x.io", "v1", "things", true}, NULL, "a/b", NULL, NULL},
        {{"x.io", "v1", "things", true}, NULL, "a%2fb", NULL, NULL},
        {{"x.io", "v1", "things", true}, NULL, "", NULL, NULL},
        {{"x.io", "v1", "things", false}, "a/b", "n", NULL, NULL},
        {{"x/io", "v1", "things", false}, "a", "n", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buffer out;
        buffer_init(&out, 4096);
        struct error *error =
            resource_path(&cases[i].resource, cases[i].namespace_, cases[i].name, cases[i].subresource, &out);
        assert_true(!error == !!cases[i].path);
        if (!error)
            assert_string_equal(out.data, cases[i].path);
        else
            assert_int_equal(error->code, ERROR_INVALID);
        error_free(error);
        buffer_free(&out);
    }
}

static void a_request_that_cannot_be_made_is_refused_and_not_answered(void **state) {
    (void)state;
    static const struct request cases[] = {
        {.verb = VERB_GET, .resource = {"batch", "v1", "jobs", false}, .namespace_ = "n", .name = "a/b"},
        {.verb = VERB_GET, .resource = {"batch", "v1", "jobs", false}, .namespace_ = "n"},
        {.verb = VERB_GET, .resource = {"batch", "v1", "jobs", false}, .namespace_ = "", .name = "a"},
        {.verb = VERB_CREATE, .resource = {"batch", "v1", "jobs", false}},
        {.verb = VERB_RAW_GET, .name = "apis"},
        {.verb = VERB_RAW_GET, .name = "/a b"},
        {.verb = VERB_RAW_GET, .name = "/a\r\nX: y"},
        {.verb = VERB_RAW_GET},
    };
    struct fixture fixture;
    begin(&fixture, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error *error = client_submit(fixture.client, &cases[i], count_answer, &fixture.answers, NULL);
        assert_non_null(error);
        assert_int_equal(error->code, ERROR_INVALID);
        error_free(error);
    }
    client_tick(fixture.client, at(0));
    assert_int_equal(client_pending(fixture.client), 0);
    assert_int_equal(fixture.fake.count, 0);
    end(&fixture);
}

static void requests_over_the_number_in_flight_wait_in_their_order(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d"};
    struct fixture fixture;
    begin(&fixture, 2);
    for (size_t i = 0; i < 4; i++) {
        struct request request = get_a;
        request.name = names[i];
        submit(&fixture, &request);
    }
    assert_int_equal(client_tick(fixture.client, at(0)), CLOCK_NEVER);
    assert_int_equal(fixture.fake.count, 2);
    fake_answer(&fixture.fake, 2, 200, OBJECT);
    client_tick(fixture.client, at(0));
    assert_int_equal(fixture.fake.count, 3);
    assert_string_equal(fake_last(&fixture.fake)->request.path, "/apis/batch/v1/namespaces/n/jobs/c");
    fake_refuse(&fixture.fake, 1);
    assert_int_equal(fixture.answers.last, REASON_NOT_SENT);
    client_tick(fixture.client, at(0));
    assert_string_equal(fake_last(&fixture.fake)->request.path, "/apis/batch/v1/namespaces/n/jobs/d");
    assert_int_equal(client_pending(fixture.client), 2);
    end(&fixture);
}

static void after_a_401_it_is_sent_once_more_with_new_credentials(void **state) {
    (void)state;
    static const struct {
        bool can_refresh;
        int second;
        size_t sent, refreshes;
        enum reason reason;
    } cases[] = {
        {true, 200, 2, 1, REASON_OK},
        {true, 401, 2, 1, REASON_UNAUTHORIZED},
        {false, 0, 1, 1, REASON_UNAUTHORIZED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture fixture;
        begin(&fixture, 0);
        fixture.fake.can_refresh = cases[i].can_refresh;
        submit(&fixture, &get_a);
        client_tick(fixture.client, at(0));
        fake_answer(&fixture.fake, 1, 401, "");
        client_tick(fixture.client, at(0));
        assert_int_equal(fixture.fake.count, cases[i].sent);
        if (cases[i].sent == 2) {
            assert_int_equal(fixture.answers.count, 0);
            fake_answer(&fixture.fake, 2, cases[i].second, cases[i].second == 200 ? OBJECT : "");
            client_tick(fixture.client, at(0));
        }
        assert_int_equal(fixture.fake.count, cases[i].sent);
        assert_int_equal(fixture.fake.refreshes, cases[i].refreshes);
        assert_int_equal(fixture.answers.count, 1);
        assert_int_equal(fixture.answers.last, cases[i].reason);
        assert_int_equal(client_pending(fixture.client), 0);
        end(&fixture);
    }
}

static void what_is_cancelled_is_not_answered_and_makes_room(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, 1);
    uint64_t sent = submit(&fixture, &get_a);
    uint64_t waiting = submit(&fixture, &get_a);
    submit(&fixture, &get_a);
    client_tick(fixture.client, at(0));
    client_cancel(fixture.client, waiting);
    client_cancel(fixture.client, sent);
    client_cancel(fixture.client, sent);
    client_cancel(fixture.client, 4711);
    assert_int_equal(fixture.fake.cancelled, 1);
    assert_int_equal(client_pending(fixture.client), 1);
    client_tick(fixture.client, at(0));
    assert_int_equal(fixture.fake.count, 2);
    fake_answer(&fixture.fake, 2, 200, OBJECT);
    assert_int_equal(fixture.answers.count, 1);
    end(&fixture);
}

static void a_handler_may_submit_the_next_request(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, 1);
    fixture.answers.again = &get_a;
    submit(&fixture, &get_a);
    client_tick(fixture.client, at(0));
    fake_answer(&fixture.fake, 1, 200, OBJECT);
    client_tick(fixture.client, at(0));
    assert_int_equal(fixture.fake.count, 2);
    assert_int_equal(fixture.answers.count, 1);
    end(&fixture);
}

static void a_transport_without_memory_is_an_answer_and_no_hot_loop(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0);
    fixture.fake.out_of_memory = true;
    fixture.answers.again = &get_a;
    submit(&fixture, &get_a);
    int64_t next_ns = client_tick(fixture.client, at(7));
    assert_int_equal(fixture.answers.count, 1);
    assert_int_equal(fixture.answers.last, REASON_NOT_SENT);
    assert_in_range(next_ns, 8, CLOCK_SECOND);
    end(&fixture);
}

static void nothing_is_answered_after_the_client_is_gone(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, 1);
    submit(&fixture, &get_a);
    submit(&fixture, &get_a);
    client_tick(fixture.client, at(0));
    end(&fixture);
    assert_int_equal(fixture.answers.count, 0);
    assert_int_equal(fixture.fake.cancelled, 1);
}

static void a_warning_of_the_server_is_logged_once(void **state) {
    (void)state;
    struct fixture fixture;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    log_to(ends[1]);
    begin(&fixture, 0);
    static const char *const warnings[] = {"old version", "old version", "other", NULL, "old version"};
    for (size_t i = 0; i < 5; i++) {
        fixture.fake.warning = warnings[i];
        submit(&fixture, &get_a);
        client_tick(fixture.client, at(0));
        fake_answer(&fixture.fake, fixture.fake.count, 200, OBJECT);
    }
    log_to(2);
    close(ends[1]);
    char text[4096];
    ssize_t len = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    assert_true(len > 0);
    text[len] = '\0';
    char *first = strstr(text, "old version");
    assert_non_null(first);
    assert_null(strstr(first + 1, "old version"));
    assert_non_null(strstr(text, "other"));
    end(&fixture);
}

static void keep_response(void *ctx, struct response *response) {
    *(struct response *)ctx = *response;
    *response = (struct response){.retry_after_ns = -1};
}

static void a_dry_run_is_answered_with_a_document_and_the_warnings(void **state) {
    (void)state;
    static const struct {
        const char *body, *warning;
        int status;
        enum reason reason;
    } cases[] = {
        {"{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}", "old version", 201, REASON_OK},
        {"{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}", NULL, 201, REASON_OK},
        {"{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"code\":409}", "x", 409, REASON_ALREADY_EXISTS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture fixture;
        struct response response;
        begin(&fixture, 0);
        fixture.fake.warning = cases[i].warning;
        struct request request = {
            .verb = VERB_CREATE, .resource = jobs, .namespace_ = "n", .body = "{}", .body_len = 2, .dry_run = DRY_RUN};
        assert_null(client_submit(fixture.client, &request, keep_response, &response, NULL));
        client_tick(fixture.client, at(0));
        fake_answer(&fixture.fake, fixture.fake.count, cases[i].status, cases[i].body);
        assert_int_equal(response.reason, cases[i].reason);
        assert_null(response.object);
        assert_true(!response.value != (cases[i].reason == REASON_OK));
        assert_true(text_equal(response.warning, cases[i].warning));
        response_clear(&response);
        end(&fixture);
    }
}

// Whoever gives up a lease waits for them.
static void requests_of_a_gate_are_counted_until_they_have_ended(void **state) {
    (void)state;
    struct fixture fixture;
    struct gate gate = {.until_ns = CLOCK_MINUTE};
    struct request request = get_a;
    request.gate = &gate;
    begin(&fixture, 4);
    for (int i = 0; i < 4; i++)
        submit(&fixture, &request);
    assert_int_equal(atomic_load(&gate.in_flight), 4); // also before they are sent
    client_tick(fixture.client, at(0));
    atomic_store(&gate.draining, true);
    submit(&fixture, &request);
    fake_answer(&fixture.fake, 1, 200, OBJECT);
    assert_int_equal(atomic_load(&gate.in_flight), 4);
    client_tick(fixture.client, at(0)); // the one that was not begun yet is not
    assert_int_equal(fixture.answers.last, REASON_NOT_SENT);
    assert_int_equal(fixture.fake.count, 4);
    assert_int_equal(atomic_load(&gate.in_flight), 3);
    fake_refuse(&fixture.fake, 2);
    assert_int_equal(atomic_load(&gate.unknown), 0);
    fake_break(&fixture.fake, 3, 0);
    assert_int_equal(fixture.answers.last, REASON_UNKNOWN_OUTCOME);
    assert_int_equal(atomic_load(&gate.in_flight), 1);
    assert_int_equal(atomic_load(&gate.unknown), 1);
    end(&fixture); // a connection that is given up
    assert_int_equal(atomic_load(&gate.in_flight), 0);
    assert_int_equal(atomic_load(&gate.unknown), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_the_tenants_or_the_hosts),
        cmocka_unit_test(each_verb_has_its_method_path_and_content_type),
        cmocka_unit_test(paths_are_those_of_the_api),
        cmocka_unit_test(a_request_that_cannot_be_made_is_refused_and_not_answered),
        cmocka_unit_test(requests_over_the_number_in_flight_wait_in_their_order),
        cmocka_unit_test(after_a_401_it_is_sent_once_more_with_new_credentials),
        cmocka_unit_test(what_is_cancelled_is_not_answered_and_makes_room),
        cmocka_unit_test(a_handler_may_submit_the_next_request),
        cmocka_unit_test(a_transport_without_memory_is_an_answer_and_no_hot_loop),
        cmocka_unit_test(nothing_is_answered_after_the_client_is_gone),
        cmocka_unit_test(a_warning_of_the_server_is_logged_once),
        cmocka_unit_test(a_dry_run_is_answered_with_a_document_and_the_warnings),
        cmocka_unit_test(requests_of_a_gate_are_counted_until_they_have_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
