// SPDX-License-Identifier: Apache-2.0
// activeDeadlineSeconds of Kubeflow's kinds after a re-dispatch: the mirror has what is left of it.
#include "core/base/clock.h"
#include "tests/unit/plugins/one_kind.h"

#define DEADLINE "/spec/runPolicy/activeDeadlineSeconds"
#define START "/status/startTime"

static const struct {
    const char *adapter, *kind;
} kinds[] = {{"kubeflow", "PyTorchJob"}, {"kubeflow", "TFJob"},     {"kubeflow", "XGBoostJob"},
             {"kubeflow", "JAXJob"},     {"kubeflow", "PaddleJob"}, {"mpijob", "MPIJob"}};

static void begin(struct adapter_call *call, const wharf_kind *kind) {
    struct call_context context = {.kind = kind, .version = kind->versions[0], .attempt = 2};
    assert_true(clock_parse_rfc3339("2026-03-01T12:00:00Z", &context.now.wall_ns));
    adapter_call_begin(call, &context);
}

// The mirror that is made of the workload, as far as it matters here.
static struct json *make(const wharf_kind *kind, const struct json *workload) {
    struct adapter_call call;
    struct json *mirror = json_copy(workload);
    json_remove(mirror, "status");
    begin(&call, kind);
    assert_int_equal(adapter_mirror(&call, workload, mirror), WHARF_OK);
    adapter_call_end(&call);
    return mirror;
}

static int64_t deadline_of(const struct json *object) {
    return json_int64(pointer_find(object, DEADLINE), -1);
}

static void check_made(const wharf_kind *kind) {
    static const struct {
        const char *policy, *status;
        int64_t left;
    } rows[] = {
        {"'activeDeadlineSeconds':7200", "", 7200},
        {"'activeDeadlineSeconds':7200", "'startTime':'2026-03-01T11:00:00Z'", 3600},
        {"'activeDeadlineSeconds':7200", "'startTime':'2026-03-01T09:00:00Z'", 1},
        {"'activeDeadlineSeconds':7200", "'startTime':'2026-03-01T12:00:09Z'", 7200}, // another clock
        {"'activeDeadlineSeconds':7200", "'startTime':'lately'", 7200},
        {"'activeDeadlineSeconds':7200,'suspend':true", "'startTime':'2026-03-01T11:00:00Z'", 7200},
        {"", "'startTime':'2026-03-01T11:00:00Z'", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT text =
            text_format("{'metadata':{},'spec':{'runPolicy':{%s}},'status':{%s}}", rows[i].policy, rows[i].status);
        AUTO_JSON workload = parsed(text);
        AUTO_JSON mirror = make(kind, workload);
        if (deadline_of(mirror) != rows[i].left)
            fail_msg("%s: %lld s are left of %s", kind->kind, (long long)deadline_of(mirror), text);
    }
}

static int64_t carried(const wharf_kind *kind, const struct json *workload, struct json *mirror) {
    struct adapter_call call;
    AUTO_JSON desired = json_copy(mirror); // the host has carried the field
    assert_true(pointer_set(desired, DEADLINE, json_copy(pointer_find(workload, DEADLINE))));
    begin(&call, kind);
    assert_int_equal(adapter_update(&call, workload, mirror, desired), WHARF_OK);
    adapter_call_end(&call);
    int64_t deadline = deadline_of(desired);
    assert_true(json_set(mirror, "metadata", json_copy(json_get(desired, "metadata"))));
    return deadline;
}

static const char *start_after(const wharf_kind *kind, const struct json *workload, struct json *mirror,
                               struct json **object) {
    struct adapter_call call;
    *object = parsed("{'status':{'startTime':'2026-03-01T12:00:05Z'}}");
    assert_true(json_set(mirror, "status", json_copy(json_get(*object, "status"))));
    begin(&call, kind);
    assert_int_equal(adapter_status(&call, workload, mirror, *object), WHARF_OK);
    adapter_call_end(&call);
    return json_string_or(pointer_find(*object, START), "");
}

static void a_further_attempt_has_what_is_left_of_the_deadline(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const wharf_kind *kind = find_kind(kinds[i].adapter, kinds[i].kind);
        check_made(kind);
        AUTO_JSON workload = parsed("{'metadata':{},'spec':{'runPolicy':{'activeDeadlineSeconds':7200}},"
                                    "'status':{'startTime':'2026-03-01T11:00:00Z'}}");
        AUTO_JSON mirror = make(kind, workload);
        AUTO_JSON kept = NULL;
        AUTO_JSON copied = NULL;
        // The first start stays, for a third attempt; a changed deadline is less, too.
        assert_string_equal(start_after(kind, workload, mirror, &kept), "2026-03-01T11:00:00Z");
        assert_true(pointer_set(workload, DEADLINE, json_new_int64(10000)));
        assert_int_equal(carried(kind, workload, mirror), 6400);
        // Suspended: it starts anew.
        assert_true(pointer_set(workload, "/spec/runPolicy/suspend", json_new_bool(true)));
        assert_int_equal(carried(kind, workload, mirror), 10000);
        assert_true(pointer_set(workload, "/spec/runPolicy/suspend", json_new_bool(false)));
        assert_int_equal(carried(kind, workload, mirror), 10000);
        assert_string_equal(start_after(kind, workload, mirror, &copied), "2026-03-01T12:00:05Z");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_further_attempt_has_what_is_left_of_the_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
