// SPDX-License-Identifier: Apache-2.0
#include "core/kube/client/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define JSON "application/json"
#define TEXT "text/plain; charset=utf-8"
#define STATUS(code, reason, message, details)                                                                         \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason        \
    "\",\"message\":\"" message "\",\"details\":" details "}"
#define OBJECT "{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"5\"}}"

struct answer {
    enum verb verb;
    int code;
    const char *type, *body;
    enum reason reason;
    const char *message; // a part of it
};

static void read_answer(struct response *response, const struct answer *answer) {
    struct http_result result = {.outcome = HTTP_ANSWERED,
                                 .status = answer->code,
                                 .body = answer->body,
                                 .body_len = strlen(answer->body),
                                 .content_type = answer->type,
                                 .retry_after_ns = -1};
    response_read(response, &result, answer->verb);
}

static void check(const struct answer *answers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct response response;
        read_answer(&response, &answers[i]);
        if (response.reason != answers[i].reason || !strstr(response.message, answers[i].message)) {
            fail_msg("%d %s: got %s, \"%s\"", answers[i].code, answers[i].body, reason_text(response.reason),
                     response.message);
        }
        response_clear(&response);
    }
}
#define CHECK(answers) check(answers, sizeof(answers) / sizeof((answers)[0]))

static void a_status_is_understood_by_its_reason_and_details(void **state) {
    (void)state;
    static const struct answer answers[] = {
        {VERB_CREATE, 400, JSON, STATUS(400, "BadRequest", "no", "{}"), REASON_BAD_REQUEST, "no"},
        {VERB_GET, 401, JSON, STATUS(401, "Unauthorized", "who", "{}"), REASON_UNAUTHORIZED, "who"},
        {VERB_GET, 403, JSON, STATUS(403, "Forbidden", "User u cannot", "{}"), REASON_FORBIDDEN, "User u cannot"},
        {VERB_CREATE, 403, JSON,
         STATUS(403, "Forbidden",
                "users \\\"wharf:a\\\" is forbidden: User \\\"w\\\" cannot impersonate resource \\\"users\\\" in API "
                "group "
                "\\\"\\\" at the cluster scope",
                "{\"name\":\"wharf:a\",\"kind\":\"users\"}"),
         REASON_NOT_TENANT, "wharf:a"},
        {VERB_DELETE, 403, JSON,
         STATUS(403, "Forbidden",
                "jobs.batch \\\"a\\\" is forbidden: User \\\"w\\\" cannot impersonate-on:user-info:delete resource "
                "\\\"jobs\\\" in "
                "API group \\\"batch\\\" in the namespace \\\"n\\\"",
                "{\"name\":\"a\",\"kind\":\"jobs\"}"),
         REASON_NOT_TENANT, "impersonate-on"},
        {VERB_CREATE, 403, JSON, STATUS(403, "Forbidden", "jobs a is forbidden: exceeded quota: q", "{}"), REASON_QUOTA,
         "exceeded"},
        {VERB_CREATE, 403, JSON,
         STATUS(403, "Forbidden", "no", "{\"causes\":[{\"reason\":\"NamespaceTerminating\",\"message\":\"m\"}]}"),
         REASON_NAMESPACE_TERMINATING, "no"},
        {VERB_CREATE, 403, JSON,
         STATUS(403, "Forbidden", "unable to create new content in namespace x because it is being terminated", "{}"),
         REASON_NAMESPACE_TERMINATING, "unable"},
        {VERB_GET, 404, JSON, STATUS(404, "NotFound", "m", "{\"name\":\"a\",\"kind\":\"jobs\"}"), REASON_NOT_FOUND,
         "m"},
        {VERB_CREATE, 404, JSON, STATUS(404, "NotFound", "m", "{\"name\":\"n\",\"kind\":\"namespaces\"}"),
         REASON_NAMESPACE_NOT_FOUND, "m"},
        {VERB_GET, 404, JSON, STATUS(404, "NotFound", "m", "{\"name\":\"n\",\"kind\":\"namespaces\"}"),
         REASON_NOT_FOUND, "m"},
        {VERB_GET, 404, JSON, STATUS(404, "NotFound", "m", "{}"), REASON_KIND_NOT_FOUND, "m"},
        {VERB_CREATE, 409, JSON, STATUS(409, "AlreadyExists", "m", "{}"), REASON_ALREADY_EXISTS, "m"},
        {VERB_CREATE, 409, JSON, STATUS(409, "Conflict", "m", "{}"), REASON_CONFLICT, "m"},
        {VERB_GET, 410, JSON, STATUS(410, "Expired", "m", "{}"), REASON_EXPIRED, "m"},
        {VERB_GET, 410, JSON, STATUS(410, "Gone", "m", "{}"), REASON_EXPIRED, "m"},
        {VERB_CREATE, 422, JSON, STATUS(422, "Invalid", "field is immutable", "{}"), REASON_INVALID, "immutable"},
        {VERB_CREATE, 429, JSON, STATUS(429, "TooManyRequests", "m", "{}"), REASON_TOO_MANY, "m"},
        {VERB_CREATE, 500, JSON, STATUS(500, "ServerTimeout", "m", "{}"), REASON_UNKNOWN_OUTCOME, "m"},
        {VERB_CREATE, 500, JSON, STATUS(500, "InternalError", "webhook", "{}"), REASON_SERVER_ERROR, "webhook"},
        {VERB_CREATE, 500, JSON, STATUS(500, "", "etcdserver: request is too large", "{}"), REASON_BAD_REQUEST,
         "too large"},
        {VERB_CREATE, 500, JSON, STATUS(500, "", "etcdserver: request timed out", "{}"), REASON_UNKNOWN_OUTCOME,
         "timed out"},
        {VERB_CREATE, 503, JSON, STATUS(503, "ServiceUnavailable", "m", "{}"), REASON_SERVER_ERROR, "m"},
        {VERB_CREATE, 504, JSON, STATUS(504, "Timeout", "m", "{}"), REASON_UNKNOWN_OUTCOME, "m"},
        {VERB_GET, 504, JSON, STATUS(504, "Timeout", "m", "{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}"),
         REASON_TOO_LARGE_VERSION, "m"},
        {VERB_GET, 504, JSON,
         STATUS(504, "Timeout", "m", "{\"causes\":[{\"message\":\"Too large resource version\"}]}"),
         REASON_TOO_LARGE_VERSION, "m"},
        {VERB_CREATE, 413, JSON, STATUS(413, "RequestEntityTooLarge", "m", "{}"), REASON_BAD_REQUEST, "m"},
        // Unknown or no reason: the code counts. No message: one is made.
        {VERB_CREATE, 422, JSON, STATUS(422, "Whatever", "m", "{}"), REASON_INVALID, "m"},
        {VERB_CREATE, 409, JSON, STATUS(409, "", "", "null"), REASON_ALREADY_EXISTS, "409"},
        {VERB_MERGE_PATCH, 409, JSON, STATUS(409, "", "", "7"), REASON_CONFLICT, "409"},
        {VERB_CREATE, 500, JSON, STATUS(500, "Novelty", "m", "[]"), REASON_SERVER_ERROR, "m"},
    };
    CHECK(answers);
}

static void an_answer_that_is_no_status_is_understood_by_its_code(void **state) {
    (void)state;
    static const struct answer answers[] = {
        {VERB_GET, 400, TEXT, "bad", REASON_BAD_REQUEST, "400 (BadRequest): bad"},
        {VERB_GET, 401, TEXT, "", REASON_UNAUTHORIZED, "401"},
        {VERB_GET, 403, TEXT, "no", REASON_FORBIDDEN, "403"},
        {VERB_GET, 404, TEXT, "404 page not found\n", REASON_KIND_NOT_FOUND, "404 page not found"},
        {VERB_CREATE, 404, TEXT, "404 page not found\n", REASON_KIND_NOT_FOUND, "404 page not found"},
        {VERB_GET, 405, TEXT, "", REASON_BAD_REQUEST, "405"},
        {VERB_GET, 406, TEXT, "", REASON_BAD_REQUEST, "406"},
        {VERB_CREATE, 409, TEXT, "", REASON_ALREADY_EXISTS, "409"},
        {VERB_DELETE, 409, TEXT, "", REASON_CONFLICT, "409"},
        {VERB_GET, 410, TEXT, "", REASON_EXPIRED, "410"},
        {VERB_CREATE, 413, TEXT, "", REASON_BAD_REQUEST, "413"},
        {VERB_MERGE_PATCH, 415, TEXT, "", REASON_BAD_REQUEST, "415"},
        {VERB_CREATE, 422, TEXT, "", REASON_INVALID, "422"},
        {VERB_CREATE, 429, TEXT, "Too many requests, please try again later.\n", REASON_TOO_MANY, "try again later."},
        {VERB_CREATE, 500, TEXT, "etcdserver: request is too large", REASON_BAD_REQUEST, "too large"},
        {VERB_CREATE, 500, TEXT, "boom", REASON_SERVER_ERROR, "boom"},
        {VERB_CREATE, 502, "text/html", "<html>\nmore", REASON_UNKNOWN_OUTCOME, "502 (UnknownOutcome): <html>"},
        {VERB_CREATE, 503, TEXT, "", REASON_SERVER_ERROR, "503"},
        {VERB_CREATE, 504, TEXT, "", REASON_UNKNOWN_OUTCOME, "504"},
        {VERB_CREATE, 503, JSON, "{\"kind\":\"Sta", REASON_SERVER_ERROR, "503"},
        {VERB_CREATE, 503, JSON, "[\"Status\"]", REASON_SERVER_ERROR, "503"},
        {VERB_GET, 500, TEXT,
         "a\x01\xff"
         "b",
         REASON_SERVER_ERROR, "a??b"},
        {VERB_GET, 301, "text/html", "moved", REASON_GARBAGE, "redirect, which is not followed"},
        {VERB_GET, 304, JSON, "", REASON_GARBAGE, "304"},
        {VERB_GET, 100, JSON, "", REASON_GARBAGE, "100"},
    };
    CHECK(answers);
}

static void a_good_answer_must_be_what_the_api_answers(void **state) {
    (void)state;
    static const struct answer answers[] = {
        {VERB_GET, 200, JSON, OBJECT, REASON_OK, "200"},
        {VERB_CREATE, 201, "application/json;charset=utf-8", OBJECT, REASON_OK, "201"},
        {VERB_GET, 200, "", OBJECT, REASON_OK, "200"},
        {VERB_DELETE, 200, JSON, "{\"kind\":\"Status\",\"status\":\"Success\"}", REASON_OK, "200"},
        {VERB_GET, 200, JSON, STATUS(404, "NotFound", "m", "{\"name\":\"a\"}"), REASON_NOT_FOUND, "m"},
        {VERB_GET, 200, "text/html", OBJECT, REASON_GARBAGE, "text/html where JSON is expected"},
        {VERB_GET, 200, "application/jsonlines", OBJECT, REASON_GARBAGE, "JSON is expected"},
        {VERB_GET, 200, JSON, "{\"kind\":\"Job\",\"metad", REASON_GARBAGE, "invalid JSON"},
        {VERB_GET, 200, JSON, "", REASON_GARBAGE, "invalid JSON"},
        {VERB_GET, 200, JSON, OBJECT "x", REASON_GARBAGE, "invalid JSON"},
        {VERB_GET, 200, JSON, "{\"kind\":\"Job\"}", REASON_GARBAGE, "not a Kubernetes object"},
        {VERB_GET, 200, JSON, "7", REASON_GARBAGE, "not a Kubernetes object"},
        {VERB_CREATE, 201, JSON, "{\"kind\":\"Job\",\"metadata\":{}}", REASON_GARBAGE, "not a Kubernetes object"},
    };
    CHECK(answers);
}

static void an_object_a_document_and_a_review_come_where_the_header_says(void **state) {
    (void)state;
    struct response response;
    read_answer(&response, &(struct answer){VERB_GET, 200, JSON, OBJECT, REASON_OK, ""});
    assert_string_equal(object_name(response.object->value), "a");
    assert_null(response.value);
    response_clear(&response);

    read_answer(&response, &(struct answer){VERB_RAW_GET, 200, JSON, "{\"kind\":\"Status\"}", REASON_OK, ""});
    assert_int_equal(response.reason, REASON_OK);
    assert_null(response.object);
    assert_string_equal(json_string(json_get(response.value, "kind")), "Status");
    response_clear(&response);

    static const char review[] = "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\","
                                 "\"metadata\":{\"creationTimestamp\":null},\"status\":{\"allowed\":true}}";
    read_answer(&response, &(struct answer){VERB_CREATE, 201, JSON, review, REASON_OK, ""});
    assert_int_equal(response.reason, REASON_OK);
    assert_true(json_bool(json_path(response.value, "status", "allowed", NULL), false));
    response_clear(&response);
}

static void without_an_answer_the_outcome_says_whether_it_may_have_happened(void **state) {
    (void)state;
    struct response response;
    struct http_result refused = {
        .outcome = HTTP_REFUSED, .body = "", .content_type = "", .retry_after_ns = -1, .problem = "no route"};
    response_read(&response, &refused, VERB_CREATE);
    assert_int_equal(response.reason, REASON_NOT_SENT);
    assert_int_equal(response.code, 0);
    assert_string_equal(response.message, "no route");
    response_clear(&response);

    struct http_result broken = {
        .outcome = HTTP_BROKEN, .status = 200, .body = "{", .body_len = 1, .content_type = "", .retry_after_ns = -1};
    response_read(&response, &broken, VERB_CREATE);
    assert_int_equal(response.reason, REASON_UNKNOWN_OUTCOME);
    assert_int_equal(response.code, 0);
    assert_non_null(response.message);
    response_clear(&response);
}

static void a_wait_comes_from_the_header_or_from_the_status(void **state) {
    (void)state;
    struct response response;
    read_answer(&response,
                &(struct answer){VERB_GET, 429, JSON, STATUS(429, "TooManyRequests", "m", "{\"retryAfterSeconds\":7}"),
                                 REASON_TOO_MANY, ""});
    assert_int_equal(response.retry_after_ns, 7 * CLOCK_SECOND);
    response_clear(&response);

    struct http_result result = {
        .outcome = HTTP_ANSWERED, .status = 503, .body = "", .content_type = TEXT, .retry_after_ns = 5 * CLOCK_SECOND};
    response_read(&response, &result, VERB_GET);
    assert_int_equal(response.retry_after_ns, 5 * CLOCK_SECOND);
    response_clear(&response);

    read_answer(&response, &(struct answer){VERB_GET, 503, TEXT, "", REASON_SERVER_ERROR, ""});
    assert_int_equal(response.retry_after_ns, -1);
    response_clear(&response);
}

// Texts of API servers, some of which quote the value "hunter2" of a Secret.
static void messages_about_a_secret_have_no_values(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *type, *body, *message;
    } cases[] = {
        {404, JSON, STATUS(404, "NotFound", "secrets a not found", "{\"name\":\"a\",\"kind\":\"secrets\"}"),
         "secrets a not found"},
        {409, JSON, STATUS(409, "AlreadyExists", "secrets a already exists", "{}"), "secrets a already exists"},
        {403, JSON,
         STATUS(403, "Forbidden",
                "secrets \\\"a\\\" is forbidden: User \\\"u\\\" cannot get resource \\\"secrets\\\" in API group "
                "\\\"\\\"",
                "{}"),
         "secrets \"a\" is forbidden: User \"u\" cannot get resource \"secrets\" in API group \"\""},
        {403, JSON, STATUS(403, "Forbidden", "secrets a is forbidden: the plugin dislikes hunter2", "{}"),
         "secrets a is forbidden"},
        {403, JSON, STATUS(403, "Forbidden", "admission webhook w denied the request: hunter2 is weak", "{}"),
         "admission webhook w denied the request"},
        {422, JSON,
         STATUS(422, "Invalid", "Secret a is invalid: ValidatingAdmissionPolicy p denied request: hunter2", "{}"),
         "Secret a is invalid: ValidatingAdmissionPolicy p denied request"},
        {404, JSON, STATUS(404, "NotFound", "admission webhook w denied the request: hunter2", "{}"),
         "admission webhook w denied the request"},
        {422, JSON,
         STATUS(422, "Invalid", "Secret a is invalid: data[.dockercfg]: Invalid value: hunter2",
                "{\"causes\":[{\"field\":\"data[.dockercfg]\",\"reason\":\"FieldValueInvalid\",\"message\":"
                "\"Invalid value: hunter2\"},{\"field\":\"type\"}]}"),
         "Secret a is invalid: data[.dockercfg] (FieldValueInvalid), type (invalid)"},
        {400, JSON, STATUS(400, "BadRequest", "cannot parse hunter2", "{}"), "the server answered 400 (BadRequest)"},
        {500, JSON, STATUS(500, "InternalError", "hunter2", "{}"), "the server answered 500 (ServerError)"},
        {502, TEXT, "upstream said hunter2", "the server answered 502 (UnknownOutcome)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        SENSITIVE_WHILE(true);
        struct response response;
        read_answer(&response,
                    &(struct answer){VERB_CREATE, cases[i].code, cases[i].type, cases[i].body, REASON_OK, ""});
        assert_true(response.sensitive);
        assert_string_equal(response.message, cases[i].message);
        response_clear(&response);
    }
}

static void refusals_are_permanent_and_what_passes_by_itself_is_not(void **state) {
    (void)state;
    static const enum reason permanent[] = {
        REASON_BAD_REQUEST, REASON_UNAUTHORIZED,          REASON_FORBIDDEN,           REASON_QUOTA,
        REASON_INVALID,     REASON_NAMESPACE_TERMINATING, REASON_NAMESPACE_NOT_FOUND, REASON_KIND_NOT_FOUND,
        REASON_NOT_TENANT};
    size_t found = 0;
    for (int reason = REASON_OK; reason <= REASON_GARBAGE; reason++)
        found += reason_is_permanent((enum reason)reason);
    assert_int_equal(found, sizeof permanent / sizeof permanent[0]);
    for (size_t i = 0; i < found; i++)
        assert_true(reason_is_permanent(permanent[i]));
    for (int reason = REASON_OK; reason <= REASON_GARBAGE; reason++)
        assert_int_equal(reason_is_refusal((enum reason)reason),
                         reason == REASON_UNAUTHORIZED || reason == REASON_FORBIDDEN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_is_understood_by_its_reason_and_details),
        cmocka_unit_test(an_answer_that_is_no_status_is_understood_by_its_code),
        cmocka_unit_test(a_good_answer_must_be_what_the_api_answers),
        cmocka_unit_test(an_object_a_document_and_a_review_come_where_the_header_says),
        cmocka_unit_test(without_an_answer_the_outcome_says_whether_it_may_have_happened),
        cmocka_unit_test(a_wait_comes_from_the_header_or_from_the_status),
        cmocka_unit_test(messages_about_a_secret_have_no_values),
        cmocka_unit_test(refusals_are_permanent_and_what_passes_by_itself_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
