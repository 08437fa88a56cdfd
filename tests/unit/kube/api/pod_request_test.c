// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/requests.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct resource_amount *)a)->name, ((const struct resource_amount *)b)->name);
}

// "cpu=100 pods=1"
static void check(const char *spec_text, const char *status_text, const char *expected) {
    AUTO_JSON spec = NULL;
    AUTO_JSON status = NULL;
    assert_null(json_parse(spec_text, strlen(spec_text), &spec));
    if (status_text)
        assert_null(json_parse(status_text, strlen(status_text), &status));
    struct resource_list list;
    pod_request_read(spec, status, &list);
    qsort(list.items, list.count, sizeof *list.items, by_name);
    AUTO_BUFFER(found, 4096);
    for (size_t i = 0; i < list.count; i++)
        buffer_printf(&found, "%s%s=%lld", i > 0 ? " " : "", list.items[i].name, (long long)list.items[i].amount);
    if (strcmp(found.data, expected) != 0)
        fail_msg("%s: found \"%s\", expected \"%s\"", spec_text, found.data, expected);
}

#define CPU(cpu) "{\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}"
#define SIDECAR(cpu) "{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}"

static void a_pod_asks_for_what_the_scheduler_counts(void **state) {
    (void)state;
    check("{}", NULL, "pods=1");
    check("{\"containers\":[{}]}", NULL, "pods=1");
    check("{\"containers\":[" CPU("1") "," CPU("250m") "]}", NULL, "cpu=1250 pods=1");
    check("{\"containers\":[" CPU("1") "],\"initContainers\":[" CPU("300m") "]}", NULL, "cpu=1000 pods=1");
    check("{\"containers\":[" CPU("1") "],\"initContainers\":[" CPU("3") "," CPU("2") "]}", NULL, "cpu=3000 pods=1");
    // KEP-753: a sidecar counts with the containers, and with the init containers after it.
    check("{\"containers\":[" CPU("1") "],\"initContainers\":[" SIDECAR("2") "," CPU("500m") "]}", NULL,
          "cpu=3000 pods=1");
    check("{\"containers\":[" CPU("1") "],\"initContainers\":[" SIDECAR("2") "," CPU("5") "]}", NULL,
          "cpu=7000 pods=1");
    check("{\"containers\":[" CPU("1") "],\"initContainers\":[" CPU("5") "," SIDECAR("2") "]}", NULL,
          "cpu=5000 pods=1");
    check("{\"containers\":[" CPU("1") "],\"overhead\":{\"cpu\":\"250m\",\"memory\":\"1Ki\"}}", NULL,
          "cpu=1250 memory=1024 pods=1");
    check("{\"containers\":[" CPU("1") "],\"resources\":{\"requests\":{\"cpu\":\"4\"}},\"overhead\":{\"cpu\":\"1\"}}",
          NULL, "cpu=5000 pods=1");
}

static void a_limit_without_a_request_is_one(void **state) {
    (void)state;
    check("{\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":2,\"cpu\":\"1\"},"
          "\"requests\":{\"cpu\":\"500m\"}}}]}",
          NULL, "cpu=500 nvidia.com/gpu=2 pods=1");
    check("{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"1\"},\"requests\":{\"cpu\":\"0\"}}}]}", NULL,
          "pods=1");
}

static void what_cannot_be_read_counts_as_nothing(void **state) {
    (void)state;
    check("{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"lots\",\"memory\":\"-1\",\"a\":null}}},7]}", NULL,
          "pods=1");
    check("{\"containers\":{\"resources\":1},\"initContainers\":\"x\",\"overhead\":[1]}", NULL, "pods=1");
    check("{\"containers\":[" CPU("8E") "," CPU("8E") "]}", NULL, "cpu=9223372036854775807 pods=1");
}

static void a_container_that_was_resized_counts_with_the_most(void **state) {
    (void)state;
    const char *spec = "{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}";
    check(spec, "{\"containerStatuses\":[{\"name\":\"a\",\"allocatedResources\":{\"cpu\":\"2\"}}]}", "cpu=2000 pods=1");
    check(spec, "{\"containerStatuses\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"3\"}}}]}",
          "cpu=3000 pods=1");
    check(spec, "{\"containerStatuses\":[{\"name\":\"b\",\"allocatedResources\":{\"cpu\":\"2\"}}]}", "cpu=1000 pods=1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_asks_for_what_the_scheduler_counts),
        cmocka_unit_test(a_limit_without_a_request_is_one),
        cmocka_unit_test(what_cannot_be_read_counts_as_nothing),
        cmocka_unit_test(a_container_that_was_resized_counts_with_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
