// SPDX-License-Identifier: Apache-2.0
// Mirrors of a Job, with the adapter as it is shipped, and each allocation of the host failing.
#include "core/engine/mirror.h"
#include "tests/unit/fault/fault.h"
#include "tests/unit/plugins/job_harness.h"

#define WORKLOAD                                                                                                       \
    "{'apiVersion':'batch/"                                                                                            \
    "v1','kind':'Job','metadata':{'name':'a','namespace':'default','uid':'u-1','resourceVersion':"                     \
    "'5','generation':2,'labels':{'team':'x','later':'y'},'annotations':{'note':'n'},'finalizers':['f']},'spec':{"     \
    "'managedBy':'wharf.dev/host','parallelism':3,'suspend':false,'ttlSecondsAfterFinished':9,'selector':"             \
    "{'matchLabels':{'batch.kubernetes.io/controller-uid':'u-1'}},'template':{'metadata':{'labels':{"                  \
    "'controller-uid':'u-1','batch.kubernetes.io/controller-uid':'u-1','app':'a'}},'spec':{'containers':["             \
    "{'name':'c','image':'i'}]}}},'status':{'active':1,'startTime':'2026-03-01T11:00:00Z'}}"
#define MIRROR                                                                                                         \
    "{'apiVersion':'batch/"                                                                                            \
    "v1','kind':'Job','metadata':{'name':'a','namespace':'default','uid':'m-1','resourceVersion':"                     \
    "'9','generation':1,'labels':{'team':'x','wharf.dev/origin':'here','wharf.dev/uid':'u-1','wharf.dev/kind':"        \
    "'jobs.batch'},'annotations':{'wharf.dev/attempt':'1'}},'spec':{'parallelism':2,'suspend':false,'template':{"      \
    "'metadata':{'labels':{'app':'a'}},'spec':{'containers':[{'name':'c','image':'i'}]}}},'status':{'active':2,"       \
    "'ready':1,'failed':1,'startTime':'2026-03-01T11:00:00Z','uncountedTerminatedPods':{'failed':['p']}}}"

static struct kind *kind;
static struct json *workload, *mirror;
static struct json *whole, *change, *status; // what comes out when nothing fails

static struct error *call_with(wharf_result (*make)(const struct mirror_context *, struct json **), bool with_mirror,
                               void **out) {
    struct call_context context = {.kind = &kind->abi,
                                   .given = kind->given,
                                   .cluster = "w1",
                                   .attempt = 1,
                                   .version = "v1",
                                   .object = "default/a",
                                   .mirror_state = with_mirror ? WHARF_MIRROR_PRESENT : WHARF_MIRROR_NONE};
    clock_parse_rfc3339(HARNESS_NOW, &context.now.wall_ns);
    struct adapter_call call;
    adapter_call_begin(&call, &context);
    struct mirror_context job = {.kind = kind,
                                 .origin = "here",
                                 .call = &call,
                                 .workload = workload,
                                 .mirror = with_mirror ? mirror : NULL,
                                 .attempt = 1};
    struct json *made = NULL;
    wharf_result result = make(&job, &made);
    adapter_call_end(&call);
    *out = made;
    if (result == WHARF_OK)
        return NULL;
    json_free(made);
    return result == WHARF_RETRY ? error_no_memory() : error_new(ERROR_REFUSED, "refused");
}

static struct error *make_whole(void **out) {
    return call_with(mirror_make, false, out);
}

static struct error *make_change(void **out) {
    return call_with(mirror_patch, true, out);
}

static wharf_result status_patch(const struct mirror_context *job, struct json **out) {
    uint64_t wanted = 0;
    return mirror_status(job, out, &wanted);
}

static struct error *make_status(void **out) {
    return call_with(status_patch, true, out);
}

static bool is_whole(const void *made) {
    return json_equal(made, whole);
}

static bool is_change(const void *made) {
    return json_equal(made, change);
}

static bool is_status(const void *made) {
    return json_equal(made, status);
}

static void drop(void *made) {
    json_free(made);
}

static int setup(void **state) {
    harness_load(state);
    struct error *error = kind_check(job_kind, NULL, "wharf.dev/host", &kind);
    if (error)
        fail_msg("%s", error_text(error));
    workload = harness_json(WORKLOAD);
    mirror = harness_json(MIRROR);
    assert_null(make_whole((void **)&whole));
    assert_null(make_change((void **)&change));
    assert_null(make_status((void **)&status));
    assert_true(whole && change && status);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    json_free(workload);
    json_free(mirror);
    json_free(whole);
    json_free(change);
    json_free(status);
    kind_free(kind);
    return 0;
}

static struct error *check_kind(void **out) {
    struct kind *checked = NULL;
    struct error *error = kind_check(job_kind, "example.com/x", "wharf.dev/host", &checked);
    *out = checked;
    return error;
}

static bool is_kind(const void *checked) {
    const struct kind *k = checked;
    return strcmp(k->managed_by, "example.com/x") == 0 && strcmp(k->plural_group, "jobs.batch") == 0;
}

static void drop_kind(void *checked) {
    kind_free(checked);
}

// Half a mirror would be worse than none: one that keeps its time to live deletes itself.
static void a_mirror_is_whole_or_tried_again(void **state) {
    (void)state;
    static const struct fault_case cases[] = {
        {"kind_check", check_kind, is_kind, drop_kind},
        {"mirror_make", make_whole, is_whole, drop},
        {"mirror_patch", make_change, is_change, drop},
        {"mirror_status", make_status, is_status, drop},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        fault_try(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_mirror_is_whole_or_tried_again)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
