// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/main.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_last_word_of_a_session_is_its_exit_code_or_a_reason(void **state) {
    (void)state;
    static const struct {
        const char *status;
        int code;
        const char *error; // NULL: none
    } cases[] = {
        {"{\"metadata\":{},\"status\":\"Success\"}", 0, NULL},
        {"{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\",\"message\":\"m\",\"details\":{\"causes\":[{"
         "\"reason\":"
         "\"Other\",\"message\":\"1\"},{\"reason\":\"ExitCode\",\"message\":\"42\"}]}}",
         42, NULL},
        {"{\"status\":\"Failure\",\"reason\":\"InternalError\",\"message\":\"container not found\"}", 0,
         "container not found"},
        {"{\"status\":\"Failure\",\"message\":\"m\",\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":"
         "\"x\"}"
         "]}}",
         0, "m"},
        {"{\"status\":\"Failure\",\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"999\"}]}}", 0,
         "without a code"},
        {"", 0, "not a Status"},
        {"[1", 0, "not a Status"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = -1;
        struct error *error = session_result(cases[i].status, strlen(cases[i].status), &code);
        if (!error != !cases[i].error || (error && !strstr(error->message, cases[i].error)))
            fail_msg("%s: %s", cases[i].status, error_text(error));
        if (!error)
            assert_int_equal(code, cases[i].code);
        error_free(error);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_last_word_of_a_session_is_its_exit_code_or_a_reason)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
