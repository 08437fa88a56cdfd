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

static char *printed(const char *text, enum top_by by, enum top_format format) {
    AUTO_JSON value = parsed(text);
    char path[] = "/tmp/wharf-top-XXXXXX";
    int file = mkstemp(path), own = dup(STDOUT_FILENO);
    AUTO_BUFFER(out, 1 << 20);
    fflush(stdout);
    assert_true(file >= 0 && own >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    struct error *error = top_print(value, by, format);
    fflush(stdout);
    assert_true(dup2(own, STDOUT_FILENO) >= 0);
    assert_null(error);
    assert_null(text_read_file(path, out.max, &out));
    close(file);
    close(own);
    unlink(path);
    return buffer_take(&out, NULL);
}

static void assert_printed(const char *text, enum top_by by, enum top_format format, const char *expected) {
    AUTO_TEXT found = printed(text, by, format);
    assert_string_equal(found, expected);
}

static void the_largest_use_of_cpu_comes_first(void **state) {
    (void)state;
    assert_printed(items, TOP_NAMESPACE, TOP_TABLE,
                   "NAMESPACE   WORKLOADS   RUNNING   TIME    CPU       MEMORY     nvidia.com/gpu\n"
                   "b           2           1         2.00h   10.0h     0          200h\n"
                   "a           4           2         1.01h   30.6min   1.00GiBh   0\n"
                   "(others)    2           1         1.00s   0         0          0\n"
                   "TOTAL       8           4         3.01h   10.5h     1.00GiBh   200h\n");
    assert_printed(items, TOP_KIND, TOP_TABLE,
                   "KIND            WORKLOADS   RUNNING   TIME    CPU     MEMORY     nvidia.com/gpu\n"
                   "jobs.batch      6           3         3.00h   10.5h   1.00GiBh   200h\n"
                   "jobsets.batch   2           1         36.0s   36.0s   0          0\n"
                   "TOTAL           8           4         3.01h   10.5h   1.00GiBh   200h\n");
}

static void small_use_is_in_minutes_or_seconds(void **state) {
    (void)state;
    assert_printed("[" ITEM("'a'", "jobs", "w1", "75", "'cpu':0.5,'memory':161061273600") "]", TOP_WORKER, TOP_TABLE,
                   "WORKER   WORKLOADS   RUNNING   TIME      CPU     MEMORY\n"
                   "w1       2           1         1.25min   0.50s   2.50GiBmin\n");
}

static void documents_have_the_rows_with_all_resources_in_seconds(void **state) {
    (void)state;
    AUTO_TEXT text = printed(items, TOP_NAMESPACE, TOP_JSON);
    AUTO_JSON document = NULL;
    assert_null(json_parse(text, strlen(text), &document));
    const struct json *rows = json_get(document, "items"), *a = json_at(rows, 1);
    assert_int_equal(json_size(rows), 3);
    assert_string_equal(json_string(json_get(a, "namespace")), "a");
    assert_true(json_double(json_get(a, "seconds"), 0) == 3636);
    assert_true(json_double(json_path(a, "resources", "pods", NULL), 0) == 9);
    assert_true(json_is(json_get(json_at(rows, 2), "namespace"), JSON_NULL));
    assert_printed("[]", TOP_KIND, TOP_JSON, "{\n    \"items\": []\n}\n");
    assert_printed("[" ITEM("'a'", "jobs", "w1", "36", "") "]", TOP_WORKER, TOP_YAML,
                   "items:\n- worker: w1\n  workloads: 2\n  running: 1\n  seconds: 36.000\n  resources: {}\n");
}

static void csv_has_all_resources_in_seconds(void **state) {
    (void)state;
    assert_printed(items, TOP_WORKER, TOP_CSV,
                   "worker,workloads,running,time_seconds,cpu_core_seconds,memory_byte_seconds,"
                   "nvidia.com/gpu_seconds,pods_seconds\n"
                   "w1,4,2,10800.000,37800.000,3865470566400.000,720000.000,9.000\n"
                   "w2,2,1,36.000,36.000,0.000,0.000,0.000\n"
                   "\"w,\"\"2\",2,1,1.000,0.000,0.000,0.000,0.000\n");
    assert_printed("[]", TOP_KIND, TOP_CSV, "kind,workloads,running,time_seconds\n");
}

static void one_row_needs_no_total(void **state) {
    (void)state;
    assert_printed("[" ITEM("'a'", "jobs", "w1", "360000", "") "]", TOP_WORKER, TOP_TABLE,
                   "WORKER   WORKLOADS   RUNNING   TIME\n"
                   "w1       2           1         100h\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_use_of_cpu_comes_first),
        cmocka_unit_test(small_use_is_in_minutes_or_seconds),
        cmocka_unit_test(documents_have_the_rows_with_all_resources_in_seconds),
        cmocka_unit_test(csv_has_all_resources_in_seconds),
        cmocka_unit_test(one_row_needs_no_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
