// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"
#include "core/json/json.h"
#include "core/kube/api/requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_request_names_the_account_the_life_and_the_audience(void **state) {
    (void)state;
    struct token_request request;
    assert_null(token_request_make("wharf-system", "wharf", 3600, "wharf.dev", &request));
    assert_string_equal(request.request.subresource, "token");
    assert_string_equal(request.request.name, "wharf");
    assert_string_equal(request.body, "{\"spec\":{\"expirationSeconds\":3600,\"audiences\":[\"wharf.dev\"]},"
                                      "\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\"}");
    token_request_clear(&request);
    assert_null(token_request_make("wharf-system", "wharf", 600, NULL, &request));
    assert_null(strstr(request.body, "audiences"));
    token_request_clear(&request);
}

static void an_answer_without_a_token_is_an_error_that_says_so(void **state) {
    (void)state;
    static const struct {
        const char *value, *token, *error;
        int64_t expires_ns;
    } cases[] = {
        {"{\"status\":{\"token\":\"abc\",\"expirationTimestamp\":\"1970-01-01T00:10:00Z\"}}", "abc", NULL,
         600 * CLOCK_SECOND},
        {"{\"status\":{\"token\":\"abc\"}}", "abc", NULL, 0},
        {"{\"status\":{}}", NULL, "found no status.token", 0},
        {"{\"status\":{\"token\":\"\"}}", NULL, "found no status.token", 0},
        {"{\"status\":{\"token\":\"a\",\"expirationTimestamp\":\"soon\"}}", NULL, "found \"soon\", expected a time", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct response response = {.reason = REASON_OK};
        assert_null(json_parse(cases[i].value, strlen(cases[i].value), &response.value));
        char *token = NULL;
        int64_t expires_ns = 0;
        struct error *error = token_request_read(&response, &token, &expires_ns);
        if (cases[i].error) {
            assert_non_null(strstr(error_text(error), cases[i].error));
            assert_null(token);
        } else {
            assert_null(error);
            assert_string_equal(token, cases[i].token);
            assert_int_equal(expires_ns, cases[i].expires_ns);
        }
        error_free(error);
        free(token);
        json_free(response.value);
    }
}

static void a_refused_request_is_an_error_with_the_servers_sentence(void **state) {
    (void)state;
    char message[] = "serviceaccounts \"wharf\" not found";
    char *token = NULL;
    int64_t expires_ns = 0;
    struct error *error =
        token_request_read(&(struct response){.reason = REASON_NOT_FOUND, .message = message}, &token, &expires_ns);
    assert_non_null(strstr(error_text(error), message));
    error_free(error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_request_names_the_account_the_life_and_the_audience),
        cmocka_unit_test(an_answer_without_a_token_is_an_error_that_says_so),
        cmocka_unit_test(a_refused_request_is_an_error_with_the_servers_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
