// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include "core/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int ends[2];

static int open_pipe(void **state) {
    (void)state;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    log_to(ends[1]);
    return 0;
}

static int close_pipe(void **state) {
    (void)state;
    log_to(STDERR_FILENO);
    log_setup(LOG_TEXT, LOG_INFO);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

// What was logged since the last time.
static const char *logged(void) {
    static char text[128 * 1024];
    ssize_t len = read(ends[0], text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

static void a_text_line_has_time_level_message_and_fields(void **state) {
    (void)state;
    log_setup(LOG_TEXT, LOG_INFO);
    log_fields(LOG_WARN, "placed a workload", {"cluster", "w1"}, {"left", NULL}, {"error", "no \"such\" thing\n"},
               {"empty", ""}, {"path", "/a=b"});
    const char *line = logged();
    assert_int_equal(line[10], 'T');
    assert_int_equal(line[26], 'Z');
    assert_string_equal(line + 27, " WARN  placed a workload cluster=w1 error=\"no \\\"such\\\" thing\\n\" empty=\"\" "
                                   "path=\"/a=b\"\n");
}

static void a_json_line_is_one_document(void **state) {
    (void)state;
    log_setup(LOG_JSON, LOG_INFO);
    log_fields(LOG_ERROR, "it \"broke\"\n", {"error", "byte \xff here"}, {"left", NULL}, {"uid", "1"});
    const char *line = logged();
    AUTO_JSON document = NULL;
    assert_null(json_parse(line, strlen(line), &document));
    assert_string_equal(json_string(json_get(document, "level")), "error");
    assert_string_equal(json_string(json_get(document, "message")), "it \"broke\"\n");
    assert_string_equal(json_string(json_get(document, "error")), "byte \xEF\xBF\xBD here");
    assert_string_equal(json_string(json_get(document, "uid")), "1");
    assert_null(json_get(document, "left"));
    assert_non_null(json_get(document, "time"));
}

static void a_number_is_one_in_json_too(void **state) {
    (void)state;
    log_setup(LOG_JSON, LOG_INFO);
    size_t bytes = 12;
    log_fields(LOG_INFO, "m", {"cluster", "w1"}, LOG_INT("bytes", bytes), LOG_INT("least", INT64_MIN), {"left", NULL});
    const char *line = logged();
    AUTO_JSON document = NULL;
    assert_null(json_parse(line, strlen(line), &document));
    assert_true(json_is(json_get(document, "bytes"), JSON_NUMBER));
    assert_int_equal(json_int64(json_get(document, "bytes"), 0), 12);
    assert_non_null(strstr(line, ",\"cluster\":\"w1\",\"bytes\":12,\"least\":-9223372036854775808}\n"));
    log_setup(LOG_TEXT, LOG_INFO);
    log_fields(LOG_INFO, "m", LOG_INT("code", 0), {"error", "none"}, LOG_INT_IF(false, "left", 1), LOG_INT("after", -7),
               LOG_DECIMAL("ms", 0.25));
    assert_string_equal(logged() + 27, " INFO  m code=0 error=none after=-7 ms=0.2\n");
    log_setup(LOG_JSON, LOG_INFO);
    log_fields(LOG_INFO, "m", LOG_INT_IF(false, "left", 1), LOG_DECIMAL("ms", 1234.5));
    assert_non_null(strstr(logged(), "\"message\":\"m\",\"ms\":1234.5}\n"));
}

static void lines_below_the_level_are_left_out(void **state) {
    (void)state;
    log_setup(LOG_TEXT, LOG_WARN);
    log_plain(LOG_INFO, "not seen");
    log_plain(LOG_DEBUG, "not seen");
    assert_string_equal(logged(), "");
    assert_true(log_enabled(LOG_ERROR));
    assert_false(log_enabled(LOG_INFO));
    log_plain(LOG_WARN, "seen");
    assert_non_null(strstr(logged(), "seen\n"));
}

static void a_message_cannot_forge_a_second_line(void **state) {
    (void)state;
    log_setup(LOG_TEXT, LOG_INFO);
    log_fields(LOG_INFO, "first\n2026-01-01 ERROR forged", {"name", "a\nb"});
    const char *line = logged();
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void what_acts_on_a_terminal_is_escaped(void **state) {
    (void)state;
    log_setup(LOG_TEXT, LOG_INFO);
    log_fields(LOG_INFO,
               "evil \xC2\x9B"
               "2J",
               {"name", "a\xE2\x80\xAE"
                        "b"},
               {"fine", "gr\xC3\xBC\xC3\x9F"});
    assert_string_equal(logged() + 27, " INFO  \"evil \\u009b2J\" name=\"a\\u202eb\" fine=gr\xC3\xBC\xC3\x9F\n");
    log_setup(LOG_JSON, LOG_INFO);
    log_fields(LOG_INFO, "m", {"name", "\x7f\xD8\x9C\xE2\x81\xA6\xE2\x80\x8F"});
    assert_non_null(strstr(logged(), "\"name\":\"\\u007f\\u061c\\u2066\\u200f\"}"));
}

static void long_values_are_cut_between_characters(void **state) {
    (void)state;
    static char value[20001];
    log_setup(LOG_JSON, LOG_INFO);
    for (size_t shift = 0; shift < 3; shift++) {
        memset(value, 'x', shift);
        for (size_t i = shift; i + 3 < sizeof value; i++)
            value[i] = "\xE2\x82\xAC"[(i - shift) % 3];
        log_fields(LOG_INFO, "long", {"value", value});
        const char *line = logged();
        AUTO_JSON document = NULL;
        assert_null(json_parse(line, strlen(line), &document));
        const char *shown = json_string(json_get(document, "value"));
        assert_true(strlen(shown) <= 4096 && strlen(shown) > 4090);
        assert_null(strstr(shown, "\xEF\xBF\xBD"));
    }
}

static void logging_leaves_errno_alone(void **state) {
    (void)state;
    log_setup(LOG_TEXT, LOG_INFO);
    log_to(-1);
    errno = ENOENT;
    log_plain(LOG_INFO, "nowhere");
    assert_int_equal(errno, ENOENT);
    log_to(ends[1]);
}

static void *log_many(void *ctx) {
    for (int i = 0; i < 50; i++)
        log_fields(LOG_INFO, "a line from a thread", {"thread", ctx});
    return NULL;
}

static void lines_of_several_threads_do_not_mix(void **state) {
    (void)state;
    log_setup(LOG_JSON, LOG_INFO);
    char names[] = "a\0b\0c\0d";
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, names + 2 * i), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    size_t lines = 0;
    for (const char *line = logged(); *line; lines++) {
        size_t len = strcspn(line, "\n");
        AUTO_JSON document = NULL;
        assert_null(json_parse(line, len, &document));
        line += len + 1;
    }
    assert_int_equal(lines, 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_line_has_time_level_message_and_fields),
        cmocka_unit_test(a_json_line_is_one_document),
        cmocka_unit_test(a_number_is_one_in_json_too),
        cmocka_unit_test(lines_below_the_level_are_left_out),
        cmocka_unit_test(a_message_cannot_forge_a_second_line),
        cmocka_unit_test(what_acts_on_a_terminal_is_escaped),
        cmocka_unit_test(long_values_are_cut_between_characters),
        cmocka_unit_test(logging_leaves_errno_alone),
        cmocka_unit_test(lines_of_several_threads_do_not_mix),
    };
    return cmocka_run_group_tests(tests, open_pipe, close_pipe);
}
