// SPDX-License-Identifier: Apache-2.0
// What the management cluster's Kueue wrote into pod templates does not reach a mirror, and what a worker's wrote
// stays.
#include "core/engine/kueue/kueue_object.h"

#include "core/base/text.h"
#include "tests/unit/plugins/job_harness.h"

#define JOB(template) "{'metadata':{'labels':{'kueue.x-k8s.io/podset':'kept'}},'spec':{'template':{" template "}}}"

static void check(const char *mirror, const char *present, const char *expected) {
    AUTO_JSON value = harness_json(mirror);
    AUTO_JSON there = present ? harness_json(present) : NULL;
    AUTO_JSON wanted = harness_json(expected);
    assert_true(kueue_strip(value, there));
    if (!json_equal(value, wanted)) {
        AUTO_TEXT text = json_text(value, NULL);
        fail_msg("%s, expected %s", text, expected);
    }
}

static void what_admission_wrote_is_taken_out(void **state) {
    (void)state;
    check(
        JOB("'metadata':{'labels':{'a':'b','kueue.x-k8s.io/podset':'main','kueue.x-k8s.io/cluster-queue-name':'q',"
            "'kueue.x-k8s.io/local-queue-name':'q'},'annotations':{'kueue.x-k8s.io/workload':'w'}},'spec':{"
            "'nodeSelector':{'pool':'spot'},'schedulingGates':[{'name':'mine'},{'name':'kueue.x-k8s.io/topology'}]}"),
        NULL,
        JOB("'metadata':{'labels':{'a':'b'}},'spec':{'nodeSelector':{'pool':'spot'},'schedulingGates':[{'name':'mine'}]"
            "}"));
    check("{'spec':{'groups':[{'template':{'metadata':{'annotations':{'kueue.x-k8s.io/workload':'w','x':'y'}}}}]}}",
          NULL, "{'spec':{'groups':[{'template':{'metadata':{'annotations':{'x':'y'}}}}]}}");
}

static void what_a_workers_kueue_wrote_stays(void **state) {
    (void)state;
    check(
        JOB("'metadata':{'labels':{'a':'new','kueue.x-k8s.io/podset':'main'},'annotations':{'kueue.x-k8s.io/workload':"
            "'ours'}}"),
        JOB("'metadata':{'labels':{'a':'old','kueue.x-k8s.io/local-queue-name':'theirs'},'annotations':{"
            "'kueue.x-k8s.io/workload':'theirs'}}"),
        JOB("'metadata':{'labels':{'a':'new','kueue.x-k8s.io/local-queue-name':'theirs'},'annotations':{"
            "'kueue.x-k8s.io/workload':'theirs'}}"));
    check("{'spec':{'schedulingGates':[{'name':'mine'}]}}",
          "{'spec':{'schedulingGates':[{'name':'mine'},{'name':'kueue.x-k8s.io/topology'}]}}",
          "{'spec':{'schedulingGates':[{'name':'mine'},{'name':'kueue.x-k8s.io/topology'}]}}");
}

// A merge patch would write an empty map each time, which API servers drop.
static void a_map_that_becomes_empty_goes_unless_the_mirror_has_it(void **state) {
    (void)state;
    check("{'spec':{'labels':{'kueue.x-k8s.io/podset':'main'}}}", "{'spec':{}}", "{'spec':{}}");
    check("{'spec':{'labels':{'kueue.x-k8s.io/podset':'main'}}}", "{'spec':{'labels':{}}}", "{'spec':{'labels':{}}}");
    check("{'spec':{'labels':{}}}", NULL, "{'spec':{'labels':{}}}");
    check("{'spec':{'labels':7,'annotations':[],'schedulingGates':{}}}", NULL,
          "{'spec':{'labels':7,'annotations':[],'schedulingGates':{}}}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_admission_wrote_is_taken_out),
        cmocka_unit_test(what_a_workers_kueue_wrote_stays),
        cmocka_unit_test(a_map_that_becomes_empty_goes_unless_the_mirror_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
