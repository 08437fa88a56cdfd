// SPDX-License-Identifier: Apache-2.0
// KubeRay writes a mirror whole, in the form in which Go writes objects: the host leaves that form as it is.
#include "tests/unit/plugins/one_kind.h"

#define GROUP(fields, resources)                                                                                       \
    "{'groupName':'g','template':{'spec':{'containers':[{'name':'c'" resources "}]}}" fields "}"
#define CLUSTER(head, groups)                                                                                          \
    "{'headGroupSpec':{'template':{'spec':{'containers':[{'name':'c'}]}" head "}},'workerGroupSpecs':[" groups "]}"
#define CONFIG(head, groups) "{'rayClusterConfig':" CLUSTER(head, groups) "}"

struct row {
    const char *workload, *mirror; // specs
    const char *desired;           // NULL: as the mirror
};

static void expect_desired(const wharf_kind *kind, const struct row *row) {
    AUTO_TEXT workload_text = text_format("{'spec':%s}", row->workload);
    AUTO_TEXT mirror_text = text_format("{'spec':%s}", row->mirror);
    AUTO_TEXT desired_text = text_format("{'spec':%s}", row->desired ? row->desired : row->mirror);
    AUTO_JSON workload = parsed(workload_text);
    AUTO_JSON mirror = parsed(mirror_text);
    AUTO_JSON desired = parsed(workload_text);
    AUTO_JSON expected = parsed(desired_text);
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = kind, .version = kind->versions[0]});
    assert_int_equal(adapter_update(&call, workload, mirror, desired), WHARF_OK);
    adapter_call_end(&call);
    if (!json_equal(desired, expected)) {
        AUTO_TEXT found = json_text(desired, NULL);
        fail_msg("%s: found %s, expected %s", kind->kind, found, desired_text);
    }
}

static void expect(const char *kind_name, const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        expect_desired(find_kind("rayjob", kind_name), &rows[i]);
}

static void zero_values_that_kuberay_omits_stay_omitted(void **state) {
    (void)state;
    static const struct row job[] = {
        {"{'suspend':false,'shutdownAfterJobFinishes':false,'ttlSecondsAfterFinished':0}", "{}", NULL},
        {"{'suspend':true,'shutdownAfterJobFinishes':true,'ttlSecondsAfterFinished':9}", "{}",
         "{'suspend':true,'shutdownAfterJobFinishes':true,'ttlSecondsAfterFinished':9}"},
        {"{'suspend':false}", "{'suspend':true}", "{'suspend':false}"}, // a resumption
        {"{'ttlSecondsAfterFinished':0}", "{'ttlSecondsAfterFinished':9}", "{'ttlSecondsAfterFinished':0}"},
    };
    static const struct row service[] = {
        {"{'suspend':false,'excludeHeadPodFromServeSvc':false}", "{}", NULL},
        {"{'suspend':false}", "{'suspend':true}", "{'suspend':false}"},
    };
    expect("RayJob", job, sizeof job / sizeof *job);
    expect("RayService", service, sizeof service / sizeof *service);
}

static void empty_structs_that_kuberay_adds_stay(void **state) {
    (void)state;
    static const struct row rows[] = {
        {CONFIG("", GROUP("", "")), CONFIG(",'metadata':{}", GROUP(",'scaleStrategy':{}", ",'resources':{}")), NULL},
        // Others are changes.
        {CONFIG("", GROUP("", "")), CONFIG("", GROUP(",'scaleStrategy':{'workersToDelete':['w']}", "")),
         CONFIG("", GROUP("", ""))},
        {CONFIG("", GROUP("", ",'resources':{'limits':{'cpu':'1'}}")), CONFIG("", GROUP("", ",'resources':{}")),
         CONFIG("", GROUP("", ",'resources':{'limits':{'cpu':'1'}}"))},
        {CONFIG("", ""), CONFIG("", GROUP(",'scaleStrategy':{}", "")), CONFIG("", "")},
    };
    static const struct row cluster[] = {
        {CLUSTER("", GROUP("", "")), CLUSTER("", GROUP(",'scaleStrategy':{}", "")), NULL}};
    expect("RayService", rows, sizeof rows / sizeof *rows);
    expect("RayCluster", cluster, sizeof cluster / sizeof *cluster);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_values_that_kuberay_omits_stay_omitted),
        cmocka_unit_test(empty_structs_that_kuberay_adds_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
