// SPDX-License-Identifier: Apache-2.0
// Mirrors of a Job, with the adapter as it is shipped, and each allocation of the host failing.
#include "core/engine/mirror/mirror.h"
#include "tests/unit/fault/fault.h"
#include "tests/unit/plugins/job_harness.h"

#define WORKLOAD                                                                                                       \
    "{'apiVersion':'batch/"                                                                                            \
    "v1','kind':'Job','metadata':{'name':'a','namespace':'default','uid':'u-1','resourceVersion':"                     \
    "'5','generation':2,'labels':{'team':'x','later':'y'},'annotations':{'note':'n','wharf.dev/"                       \
    "attempt-env':'true'},'finalizers':['f']},'spec':{"                                                                \
    "'managedBy':'wharf.dev/host','parallelism':3,'suspend':false,'ttlSecondsAfterFinished':9,'selector':"             \
    "{'matchLabels':{'batch.kubernetes.io/controller-uid':'u-1'}},'template':{'metadata':{'labels':{"                  \
    "'controller-uid':'u-1','batch.kubernetes.io/controller-uid':'u-1','app':'a'}},'spec':{'containers':["             \
    "{'name':'c','image':'i'}]}}},'status':{'active':1,'startTime':'2026-03-01T11:00:00Z'}}"
#define MIRROR                                                                                                         \
    "{'apiVersion':'batch/"                                                                                            \
    "v1','kind':'Job','metadata':{'name':'a','namespace':'default','uid':'m-1','resourceVersion':"                     \
    "'9','generation':1,'labels':{'team':'x','wharf.dev/origin':'here','wharf.dev/uid':'u-1','wharf.dev/kind':"        \
    "'jobs.batch'},'annotations':{'wharf.dev/attempt':'1','wharf.dev/attempt-env':'true','wharf.dev/"                  \
    "previous':'{\\'A\\':\\'$\\'}'}},'spec':{'parallelism':2,'suspend':false,'template':{"                             \
    "'metadata':{'labels':{'app':'a'}},'spec':{'containers':[{'name':'c','image':'i'}]}}},'status':{'active':2,"       \
    "'ready':1,'failed':1,'startTime':'2026-03-01T11:00:00Z','uncountedTerminatedPods':{'failed':['p']}}}"

static struct kind *kind;
static struct json *workload, *mirror;
static struct json *whole, *change, *status, *all_services, *suspended_one; // what comes out when nothing fails

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

// Calls every service that makes or changes something, and checks nothing.
static wharf_result busy(const wharf_call *call, const wharf_value *from, wharf_value *to) {
    const wharf_host *host = services_table();
    const char *text = host->print(call, host->find(from, "/spec"), NULL);
    host->set(call, to, "/spec/made/list", host->new_array(call));
    host->set(call, to, "/spec/made/list/-", host->new_object(call));
    host->set(call, to, "/spec/made/list/-", host->parse(call, text, text ? strlen(text) : 0));
    host->set_string(call, to, "/spec/made/list/*/text", host->format(call, "%d", 7));
    host->set_integer(call, to, "/spec/made/list/0/text", 8);
    host->set(call, to, "/spec/made/copy", host->copy(call, host->find(from, "/spec/template")));
    host->set(call, to, "/spec/made/copy/*", host->new_null(call));
    host->take(call, to, from, "/spec/template/spec/containers/*/image");
    host->take(call, to, from, "/spec/selector/*");
    host->remove(call, to, "/spec/made/list/*/managedBy");
    host->set_boolean(call, host->edit(call, to, "/spec/template"), "/edited", 1);
    host->set_condition(call, to, "Busy", "True", "Busy", host->format_time(call, 0));
    return host->memory(call, 100) ? WHARF_OK : WHARF_RETRY;
}

static const wharf_status_change held[] = {
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Held", "True", "{kind}Held", "{namespace}/{name}"},
    {.change = WHARF_SET_TEXT, .name = "/status/state", .value = "held"},
    {.change = WHARF_SET_ZERO, .name = "/status/*"},
    {.change = WHARF_REMOVE, .name = "/status/startTime"},
    {.name = NULL},
};

static struct kind *busy_kind;

static struct error *with_busy_kind(struct error *(*make)(void **out), void **out) {
    struct kind *usual = kind;
    kind = busy_kind;
    struct error *error = make(out);
    kind = usual;
    return error;
}

static struct error *make_busy(void **out) {
    return with_busy_kind(make_whole, out);
}

static wharf_result owed_patch(const struct mirror_context *job, struct json **out) {
    uint64_t wanted = 0;
    AUTO_JSON suspended = json_copy(job->workload);
    struct mirror_context context = *job;
    context.workload = suspended;
    if (!suspended || !json_set(json_get(suspended, "spec"), "suspend", json_new_bool(true)))
        return WHARF_RETRY;
    return mirror_status(&context, out, &wanted);
}

static struct error *owed(void **out) {
    return call_with(owed_patch, false, out);
}

static struct error *make_owed(void **out) {
    return with_busy_kind(owed, out);
}

// The annotation that a second placement writes.
static struct error *keep_values(void **out) {
    static const wharf_continuity values[] = {
        {"/status/active", "ACTIVE"}, {"/status/startTime", "START"}, {.pointer = NULL}};
    struct kind with_values = *kind;
    with_values.abi.continuity = values;
    AUTO_BUFFER(text, 4096);
    AUTO_BUFFER(left_out, 4096);
    if (!values_keep(&with_values, workload, 2, &text, &left_out))
        return error_no_memory();
    *out = buffer_take(&text, NULL);
    return NULL;
}

static bool is_kept(const void *made) {
    return made && strcmp(made, ",\"wharf.dev/previous\":\"{\\\"ACTIVE\\\":1,\\\"START\\\":"
                                "\\\"2026-03-01T11:00:00Z\\\",\\\"uid\\\":\\\"u-1\\\"}\"") == 0;
}

static bool is_busy(const void *made) {
    return json_equal(made, all_services);
}

static bool is_owed(const void *made) {
    return json_equal(made, suspended_one);
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

static void drop_text(void *made) {
    free(made);
}

static int setup(void **state) {
    harness_load(state);
    struct error *error = kind_check(job_kind, NULL, "wharf.dev/host", &kind);
    if (error)
        fail_msg("%s", error_text(error));
    error = kind_check(job_kind, NULL, "wharf.dev/host", &busy_kind);
    if (error)
        fail_msg("%s", error_text(error));
    busy_kind->abi.mirror = busy;
    busy_kind->abi.suspended_status = held;
    busy_kind->abi.status = NULL;
    workload = harness_json(WORKLOAD);
    mirror = harness_json(MIRROR);
    assert_null(make_whole((void **)&whole));
    assert_null(make_change((void **)&change));
    assert_null(make_status((void **)&status));
    assert_null(make_busy((void **)&all_services));
    assert_null(make_owed((void **)&suspended_one));
    assert_true(whole && change && status && all_services && suspended_one);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    json_free(workload);
    json_free(mirror);
    json_free(whole);
    json_free(change);
    json_free(status);
    json_free(all_services);
    json_free(suspended_one);
    kind_free(kind);
    kind_free(busy_kind);
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
        {"kind_check", check_kind, is_kind, drop_kind},   {"mirror_make", make_whole, is_whole, drop},
        {"mirror_patch", make_change, is_change, drop},   {"mirror_status", make_status, is_status, drop},
        {"services", make_busy, is_busy, drop},           {"status without a mirror", make_owed, is_owed, drop},
        {"values_keep", keep_values, is_kept, drop_text},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        fault_try(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_mirror_is_whole_or_tried_again)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
