// SPDX-License-Identifier: Apache-2.0
// The table of `wharf top`, and its comma-separated values.
#include "core/cmd/top/top.h"

#include "core/base/text.h"
#include "tests/unit/quoted.h"

#include <unistd.h>

#define ITEM(space, plural, worker, seconds, resources)                                                                \
    "{'kind':'K','group':'batch','resource':'" plural "','namespace':" space ",'cluster':'" worker                     \
    "','workloads':2,'running':1,'seconds':" seconds ",'resources':{" resources "}}"

static const char items[] =
    "[" ITEM("'a'", "jobs", "w1", "3600", "'pods':9,'cpu':1800,'memory':3865470566400") "," ITEM(
        "'b'", "jobs", "w1", "7200",
        "'nvidia.com/gpu':720000,'cpu':36000") "," ITEM("'a'", "jobsets", "w2", "36",
                                                        "'cpu':36") "," ITEM("null", "jobs", "w,\\\"2", "1", "") "]";

static char *printed(const char *text, enum top_by by, bool csv) {
    AUTO_JSON value = parsed(text);
    char path[] = "/tmp/wharf-top-XXXXXX";
    int file = mkstemp(path), own = dup(STDOUT_FILENO);
    AUTO_BUFFER(out, 1 << 20);
    fflush(stdout);
    assert_true(file >= 0 && own >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    struct error *error = top_print(value, by, csv);
    fflush(stdout);
    assert_true(dup2(own, STDOUT_FILENO) >= 0);
    assert_null(error);
    assert_null(text_read_file(path, out.max, &out));
    close(file);
    close(own);
    unlink(path);
    return buffer_take(&out, NULL);
}

static void assert_printed(const char *text, enum top_by by, bool csv, const char *expected) {
    AUTO_TEXT found = printed(text, by, csv);
    assert_string_equal(found, expected);
}

static void the_largest_use_of_cpu_comes_first(void **state) {
    (void)state;
    assert_printed(items, TOP_NAMESPACE, false,
                   "NAMESPACE   WORKLOADS   RUNNING   TIME    CPU     MEMORY     nvidia.com/gpu\n"
                   "b           2           1         2.00h   10.0h   0.00GiBh   200h\n"
                   "a           4           2         1.01h   0.51h   1.00GiBh   0.00h\n"
                   "(others)    2           1         0.00h   0.00h   0.00GiBh   0.00h\n"
                   "TOTAL       8           4         3.01h   10.5h   1.00GiBh   200h\n");
    assert_printed(items, TOP_KIND, false,
                   "KIND            WORKLOADS   RUNNING   TIME    CPU     MEMORY     nvidia.com/gpu\n"
                   "jobs.batch      6           3         3.00h   10.5h   1.00GiBh   200h\n"
                   "jobsets.batch   2           1         0.01h   0.01h   0.00GiBh   0.00h\n"
                   "TOTAL           8           4         3.01h   10.5h   1.00GiBh   200h\n");
}

static void csv_has_all_resources_in_seconds(void **state) {
    (void)state;
    assert_printed(items, TOP_WORKER, true,
                   "worker,workloads,running,seconds,cpu,memory,nvidia.com/gpu,pods\n"
                   "w1,4,2,10800.000,37800.000,3865470566400.000,720000.000,9.000\n"
                   "w2,2,1,36.000,36.000,0.000,0.000,0.000\n"
                   "\"w,\"\"2\",2,1,1.000,0.000,0.000,0.000,0.000\n");
    assert_printed("[]", TOP_KIND, true, "kind,workloads,running,seconds\n");
}

static void one_row_needs_no_total(void **state) {
    (void)state;
    assert_printed("[" ITEM("'a'", "jobs", "w1", "360000", "") "]", TOP_WORKER, false,
                   "WORKER   WORKLOADS   RUNNING   TIME\n"
                   "w1       2           1         100h\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_use_of_cpu_comes_first),
        cmocka_unit_test(csv_has_all_resources_in_seconds),
        cmocka_unit_test(one_row_needs_no_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
