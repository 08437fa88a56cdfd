// SPDX-License-Identifier: Apache-2.0
// What people see of texts that others have written.
#include "core/cmd/status/status.h"

#include "core/base/text.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CLEAR "\\u001b[2J\\u001b]0;title\\u0007\\u009b31m\\r\\nroot@host# "
#define STATUS                                                                                                         \
    "{\"version\":\"1" CLEAR "\",\"origin\":\"o" CLEAR "\",\"reasons\":[\"w1: " CLEAR "\"],"                           \
    "\"workers\":{\"problems\":[{\"from\":\"ClusterProfile a/b" CLEAR "\",\"message\":\"found " CLEAR "\"}]},"         \
    "\"config\":{\"lastReload\":{\"successful\":false,\"message\":\"" CLEAR "\"}},"                                    \
    "\"workloads\":{\"total\":2,\"byPhase\":{\"Run" CLEAR "\":2}}}"

// What `print` writes to standard output.
static char *printed(void (*print)(const struct json *), const struct json *value) {
    char path[] = "/tmp/wharf-status-XXXXXX";
    int file = mkstemp(path), own = dup(STDOUT_FILENO);
    AUTO_BUFFER(text, 1 << 20);
    fflush(stdout);
    assert_true(file >= 0 && own >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    print(value);
    fflush(stdout);
    assert_true(dup2(own, STDOUT_FILENO) >= 0);
    assert_null(text_read_file(path, text.max, &text));
    close(file);
    close(own);
    unlink(path);
    return buffer_take(&text, NULL);
}

static void print_workers(const struct json *value) {
    struct text_table table = {.n_columns = 0};
    status_fill(&status_workers, true, value, &table);
    assert_null(text_table_end(&table, 0, stdout));
}

static void assert_harmless(const char *text, size_t lines) {
    size_t found = 0;
    for (const char *c = text; *c; c++) {
        found += *c == '\n';
        if ((unsigned char)*c < ' ' && *c != '\n')
            fail_msg("a control character in: %s", text);
    }
    assert_null(strstr(text, "\xc2\x9b"));
    assert_int_equal(found, lines);
}

static void no_text_controls_the_terminal(void **state) {
    (void)state;
    AUTO_JSON status = NULL;
    AUTO_JSON workers = NULL;
    static const char list[] = "[{\"name\":\"w1" CLEAR "\",\"state\":\"Refused" CLEAR "\",\"reason\":\"" CLEAR
                               "\",\"source\":\"Secret\",\"from\":\"" CLEAR "\",\"labels\":{\"a\":\"" CLEAR "\"}}]";
    assert_null(json_parse(STATUS, strlen(STATUS), &status));
    assert_null(json_parse(list, strlen(list), &workers));
    AUTO_TEXT summary = printed(status_print_summary, status);
    assert_harmless(summary, 6);
    assert_non_null(strstr(summary, "  ClusterProfile a/b\\u001b[2J"));
    assert_non_null(strstr(summary, "workloads: 2: 2 Run\\u001b"));
    AUTO_TEXT table = printed(print_workers, workers);
    assert_harmless(table, 2);
}

static void a_worker_with_a_limit_shows_it(void **state) {
    (void)state;
    AUTO_JSON workers = NULL;
    static const char list[] = "[{\"name\":\"w1\",\"active\":3,\"maxActive\":10},{\"name\":\"w2\",\"active\":4}]";
    assert_null(json_parse(list, strlen(list), &workers));
    AUTO_TEXT table = printed(print_workers, workers);
    assert_non_null(strstr(table, " 3/10 "));
    assert_non_null(strstr(table, " 4 "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_text_controls_the_terminal),
        cmocka_unit_test(a_worker_with_a_limit_shows_it),
    };
    return cmocka_run_group_tests_name("wharf status on a terminal", tests, NULL, NULL);
}
