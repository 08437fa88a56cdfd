// SPDX-License-Identifier: Apache-2.0
// Marks, and calls that do not return.
#include "core/adapter/services/net.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    text_copy(folder, sizeof folder, "/tmp/wharf-marks-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    struct marks marks;
    error_free(marks_open(folder, &marks));
    for (size_t i = 0; i < marks.count; i++)
        mark_remove(marks.list[i]);
    marks_free(&marks);
    return rmdir(folder);
}

static void leave(const char *object) {
    struct net_note note = {.adapter = "farm",
                            .function = "status",
                            .kind = "jobs.batch",
                            .uid = "u-1",
                            .reason = "signal 11 (Segmentation fault)"};
    text_copy(note.object, sizeof note.object, object);
    mark_leave(&note);
}

// Frees the former ones.
static void reopen(struct marks *marks) {
    marks_free(marks);
    struct error *error = marks_open(folder, marks);
    assert_null(error);
}

static void put_file(const char *name, const char *text) {
    AUTO_TEXT path = text_format("%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && text_write_fd(fd, text, strlen(text)));
    close(fd);
}

static void without_a_folder_no_mark_is_left(void **state) {
    (void)state;
    struct marks marks;
    leave("default/a");
    struct error *error = marks_open("/nonexistent/wharf", &marks);
    assert_non_null(error);
    assert_string_equal(error_text(error), "/nonexistent/wharf: No such file or directory");
    assert_int_equal(marks.count, 0);
    error_free(error);
}

static void a_mark_says_which_call_it_was(void **state) {
    (void)state;
    struct marks marks = {0};
    reopen(&marks);
    assert_int_equal(marks.count, 0);
    leave("default/a");
    leave("default/a");
    reopen(&marks);
    assert_int_equal(marks.count, 1);
    const struct mark *mark = marks.list[0];
    assert_string_equal(mark->adapter, "farm");
    assert_string_equal(mark->function, "status");
    assert_string_equal(mark->kind, "jobs.batch");
    assert_string_equal(mark->object, "default/a");
    assert_string_equal(mark->uid, "u-1");
    assert_string_equal(mark->reason, "signal 11 (Segmentation fault)");
    mark_remove(mark);
    reopen(&marks);
    assert_int_equal(marks.count, 0);
}

static void marks_are_bounded_in_number_and_age(void **state) {
    (void)state;
    struct marks marks = {0};
    reopen(&marks);
    for (int i = 0; i < MARKS_MAX + 10; i++) {
        char object[32];
        snprintf(object, sizeof object, "default/%d", i);
        leave(object);
    }
    reopen(&marks);
    assert_int_equal(marks.count, MARKS_MAX);
    const struct timespec old[] = {{.tv_sec = time(NULL) - MARKS_AGE_S - 1}, {.tv_sec = time(NULL) - MARKS_AGE_S - 1}};
    AUTO_TEXT path = text_format("%s/%s", folder, marks.list[0]->file);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    reopen(&marks);
    assert_int_equal(marks.count, MARKS_MAX - 1); // the ten others are gone
    marks_free(&marks);
}

static void what_is_no_mark_is_removed_and_other_files_stay(void **state) {
    (void)state;
    static const char *const texts[] = {"", "adapter farm\n", "farm\nstatus\njobs\na\nb\nc\n",
                                        "adapter f\nfunction s\nkind \nobject a/b\nuid u\nreason r\n"};
    struct marks marks = {0};
    reopen(&marks);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "adapter-mark-%zu", i);
        put_file(name, texts[i]);
    }
    put_file("seal.keys", "x");
    AUTO_TEXT link = text_format("%s/adapter-mark-link", folder);
    AUTO_TEXT other = text_format("%s/seal.keys", folder);
    assert_int_equal(symlink(other, link), 0);
    reopen(&marks);
    assert_int_equal(marks.count, 0);
    assert_int_equal(access(link, F_OK), -1);
    assert_int_equal(unlink(other), 0); // it was there
    marks_free(&marks);
}

// -- calls --

static const wharf_kind kind = {.plural = "jobs", .group = "batch", .kind = "Job"};

static void begin(struct adapter_call *call, const struct json *object) {
    *call = (struct adapter_call){
        .kind = &kind, .adapter = "farm", .object = "default/a", .workload = object, .function = FUNCTION_STATUS};
    net_enter(call);
}

static void a_call_is_over_time_only_if_the_same_one_is_seen_again_and_again(void **state) {
    (void)state;
    struct adapter_call call;
    begin(&call, NULL);
    assert_false(net_look(0));
    net_leave();
    begin(&call, NULL); // another one
    for (int64_t ns = 0; ns < NET_WAIT_NS; ns += NET_LOOK_NS)
        assert_false(net_look(ns));
    assert_true(net_look(NET_WAIT_NS));
    assert_string_equal(net_verdict(), "no result after 60 s");
    net_leave();
    assert_false(net_look(2 * NET_WAIT_NS));
}

static void a_suspended_process_is_no_call_over_time(void **state) {
    (void)state;
    struct adapter_call call;
    begin(&call, NULL);
    assert_false(net_look(0));
    assert_false(net_look(10 * NET_WAIT_NS));
    net_leave();
}

// In the text and the JSON format, with what may not be in a line.
static void a_report_names_the_call(void **state) {
    (void)state;
    static const struct {
        enum log_format format;
        const char *line;
    } cases[] = {{LOG_TEXT, " ERROR the process ends in an adapter adapter=farm function=status kind=jobs.batch "
                            "object=default/a reason=\"signal 6 (Aborted)\"\n"},
                 {LOG_JSON,
                  "\",\"level\":\"error\",\"message\":\"the process ends in an adapter\",\"adapter\":\"farm\","
                  "\"function\":\"status\",\"kind\":\"jobs.batch\",\"object\":\"default/a\","
                  "\"reason\":\"signal 6 (Aborted)\"}\n"}};
    static const char text[] = "{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\",\"uid\":\"4-\\\"5\\n\"}}";
    for (size_t i = 0; i < 2; i++) {
        struct adapter_call call;
        AUTO_JSON object = NULL;
        int ends[2];
        char line[1024] = "";
        struct marks marks = {0};
        reopen(&marks);
        assert_int_equal(pipe(ends), 0);
        assert_null(json_parse(text, strlen(text), &object));
        log_setup(cases[i].format, LOG_INFO);
        log_to(ends[1]);
        assert_false(net_report("signal 6 (Aborted)")); // of no call
        begin(&call, object);
        assert_true(net_report("signal 6 (Aborted)"));
        net_leave();
        log_to(STDERR_FILENO);
        assert_true(read(ends[0], line, sizeof line - 1) > 0);
        assert_non_null(strstr(line, cases[i].line));
        reopen(&marks);
        assert_int_equal(marks.count, 1);
        assert_string_equal(marks.list[0]->uid, "4-?5?");
        marks_free(&marks);
        close(ends[0]);
        close(ends[1]);
    }
    log_setup(LOG_TEXT, LOG_INFO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_folder_no_mark_is_left),
        cmocka_unit_test_setup_teardown(a_mark_says_which_call_it_was, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(marks_are_bounded_in_number_and_age, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_no_mark_is_removed_and_other_files_stay, make_folder, remove_folder),
        cmocka_unit_test(a_call_is_over_time_only_if_the_same_one_is_seen_again_and_again),
        cmocka_unit_test(a_suspended_process_is_no_call_over_time),
        cmocka_unit_test_setup_teardown(a_report_names_the_call, make_folder, remove_folder),
    };
    net_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
