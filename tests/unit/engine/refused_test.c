// SPDX-License-Identifier: Apache-2.0
// The engine's reaction to an adapter's failed calls of services: an Event with the cause, and no hot loop.
#include "tests/unit/engine/stage.h"

#include <string.h>

static unsigned calls;

// Treats labels as an object without checks, as the ABI allows.
static wharf_result careless(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    (void)workload;
    calls++;
    services_table()->set_string(call, mirror, "/metadata/annotations/labels", "oops");
    services_table()->set_string(call, mirror, "/metadata/annotations/labels/app", "x");
    return WHARF_OK;
}

static wharf_result careless_change(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                                    wharf_value *desired) {
    (void)workload;
    (void)mirror;
    calls++;
    services_table()->set_string(call, desired, "/metadata/name/first", "a");
    return WHARF_OK;
}

static void bad_input_of_a_service_becomes_an_event_and_waits(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.kind->abi.mirror = careless;
    calls = 0;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 20 * CLOCK_SECOND);
    assert_in_range(calls, 1, 4);
    assert_true(stage_told(&stage, "/metadata/annotations/labels/app: cannot be set below a string") > 0);
    assert_null(stage_job(&stage, 1, "a"));
    assert_null(stage_job(&stage, 2, "a"));
    stage_end(&stage);
}

static void a_change_that_fails_so_is_told_too(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.kind->abi.update = careless_change;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 5 * CLOCK_SECOND);
    size_t where = stage_where(&stage, "a");
    assert_non_null(stage_job(&stage, where, "a"));
    calls = 0;
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'spec':{'parallelism':3}}"), 200);
    stage_run(&stage, 20 * CLOCK_SECOND);
    assert_in_range(calls, 1, 6);
    assert_true(stage_told(&stage, "/metadata/name/first: cannot be set below a string") > 0);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_of_a_service_becomes_an_event_and_waits),
        cmocka_unit_test(a_change_that_fails_so_is_told_too),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
