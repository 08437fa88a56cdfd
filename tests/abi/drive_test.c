// SPDX-License-Identifier: Apache-2.0
// drive_test FULL.so DATA.so NEWER.so: adapters built against some header (full.c, data.c), loaded and driven through
// the whole life of a workload by the host that this program was built with. With GROWN, that is a host whose structs
// are larger than those of ABI 1.0; NEWER.so says that it needs such a host.
#include "core/adapter/pods.h"
#include "core/adapter/references.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW_NS INT64_C(1767323045000000000)
#define NOW "2026-01-02T03:04:05Z"

static char **files;
static const char *program; // of adapters in processes of their own; NULL: they are in this one
static struct adapters *adapters;
static const struct kind *full, *data;

// JSON with ' for ", so that it can be read in C.
static struct json *parsed(const char *text) {
    AUTO_TEXT quoted = strdup(text);
    assert_non_null(quoted);
    for (char *p = quoted; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    struct json *value = NULL;
    assert_null(json_parse(quoted, strlen(quoted), &value));
    return value;
}

static void assert_json(const struct json *value, const char *expected) {
    AUTO_JSON wanted = parsed(expected);
    if (json_equal(value, wanted))
        return;
    AUTO_TEXT found = value ? json_text(value, NULL) : strdup("nothing");
    fail_msg("found %s, expected %s", found, expected);
}

static struct adapter_wanted wanted(const char *name, const char *file, const char *settings) {
    struct adapter_wanted adapter = {
        .name = name, .file = realpath(file, NULL), .file_given = true, .settings = parsed(settings)};
    assert_non_null(adapter.file);
    return adapter;
}

static struct adapters *load(struct adapter_wanted *list, size_t count, struct problems *problems) {
    struct adapters_options options = {.controller_name = "wharf.dev/host",
                                       .directory = "/",
                                       .wanted = list,
                                       .n_wanted = count,
                                       .isolation = program ? ISOLATION_ALL : ISOLATION_NONE,
                                       .patient = true,
                                       .program = program};
    struct adapters *loaded = NULL;
    assert_null(adapters_load(&options, problems, &loaded));
    for (size_t i = 0; i < count; i++) {
        free((char *)list[i].file);
        json_free((struct json *)list[i].settings);
    }
    return loaded;
}

static int setup(void **state) {
    (void)state;
    struct adapter_wanted list[] = {wanted("full", files[0], "{'greeting':'hello'}"), wanted("data", files[1], "{}")};
    struct problems problems = {.list = NULL};
    adapters = load(list, 2, &problems);
    if (problems.count)
        print_error("%s\n", problems.list[0]);
    bool good = problems.count == 0 && adapters->n_kinds == 2;
    problems_free(&problems);
    full = good ? adapters->kinds[0] : NULL;
    data = good ? adapters->kinds[1] : NULL;
    return good ? 0 : 1;
}

static int teardown(void **state) {
    (void)state;
    adapters_free(adapters);
    return 0;
}

static void begin(struct adapter_call *call, const struct kind *kind, wharf_mirror_state state) {
    struct call_context context = {.kind = &kind->abi,
                                   .given = kind->given,
                                   .adapter = "full",
                                   .now = {.mono_ns = 1, .wall_ns = NOW_NS},
                                   .cluster = "w1",
                                   .attempt = 2,
                                   .version = "v2",
                                   .object = "ns/a",
                                   .mirror_state = state};
    adapter_call_begin(call, &context);
}

#define WORKLOAD                                                                                                       \
    "{'apiVersion':'full.example.com/v2','kind':'Full','metadata':{'name':'a','namespace':'ns','uid':'u-1',"           \
    "'resourceVersion':'7','generation':3},'spec':{'manager':'full.example.com/third','ttl':5,'size':3,"               \
    "'state':'Running','list':[9007199254740993,2.5,true],'driver':{'spec':{}},"                                       \
    "'parts':[{'name':'a','count':1,'owner':'x','template':{'spec':{'n':1}}},{'name':'b','count':2}],"                 \
    "'pools':[{'pool':'p','max':1}]}}"

static struct json *mirror_of(const struct json *workload) {
    struct adapter_call call;
    begin(&call, full, WHARF_MIRROR_NONE);
    struct json *mirror = NULL;
    assert_int_equal(
        mirror_make(
            &(struct mirror_context){.kind = full, .origin = "here", .call = &call, .workload = workload, .attempt = 2},
            &mirror),
        WHARF_OK);
    adapter_call_end(&call);
    assert_true(pointer_set(mirror, "/metadata/uid", json_new_string("m-1")));
    assert_true(pointer_set(mirror, "/metadata/resourceVersion", json_new_string("70")));
    assert_true(pointer_set(mirror, "/metadata/generation", json_new_int64(1)));
    return mirror;
}

static void set(struct json *object, const char *pointer, const char *value) {
    assert_true(pointer_set(object, pointer, parsed(value)));
}

static void all_data_of_a_kind_is_read(void **state) {
    (void)state;
    const wharf_kind *abi = &full->abi;
    assert_string_equal(full->plural_group, "fulls.full.example.com");
    assert_string_equal(full->managed_by, "full.example.com/third");
    assert_string_equal(abi->versions[1], "v1");
    assert_string_equal(abi->suspend_value, "Suspended");
    assert_string_equal(abi->carried[3].key, "pool");
    assert_string_equal(abi->pods->counts[1], "/spec/size");
    assert_null(abi->pods[1].templates);
    assert_int_equal(abi->carried[4].when, WHARF_CARRY_WHILE_SUSPENDED);
    assert_null(abi->carried[5].pointer);
    assert_string_equal(abi->phases[1].status, "False");
    assert_string_equal(abi->phases[2].reason, "FullHeld");
    assert_int_equal(abi->phases[2].flags, WHARF_RULE_WHILE_SUSPENDED);
    assert_int_equal(abi->phases[3].phase, WHARF_PENDING);
    assert_null(abi->phases[4].pointer);
    assert_string_equal(abi->suspended_status[0].message, "{name} is held");
    assert_int_equal(abi->suspended_status[3].change, WHARF_REMOVE);
    assert_null(abi->suspended_status[4].name);
    assert_int_equal(abi->resumed_status[0].when, WHARF_IF_TRUE);
    assert_string_equal(abi->condition_time, "lastUpdateTime");
    assert_string_equal(abi->finished_at, "/status/end");
    assert_true(abi->phase && abi->accept && abi->mirror && abi->update && abi->status && abi->pod_sets);
    assert_ptr_equal(full->given->group, abi->group);
}

static void what_an_adapter_does_not_have_is_absent(void **state) {
    (void)state;
    const wharf_kind *abi = &data->abi;
    assert_string_equal(data->managed_by, "wharf.dev/host");
    assert_true(!abi->suspend && !abi->carried && !abi->removed && !abi->pods && !abi->phase && !abi->pod_sets);
#ifdef GROWN
    assert_null(abi->added_at_end);
    assert_null(full->abi.added_at_end);
    const char *later = full->given->carried_size == sizeof(wharf_carried) ? "later" : NULL;
    for (size_t i = 0; i < 5; i++)
        assert_true(text_equal(full->abi.carried[i].added_at_end, later));
    assert_true(text_equal(full->abi.pods[0].added_at_end, later));
    assert_true(text_equal(full->abi.phases[3].added_at_end, later));
    assert_true(text_equal(full->abi.suspended_status[3].added_at_end, later));
#endif
}

static void a_mirror_is_made_with_every_service(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    assert_null(pointer_find(mirror, "/spec/manager"));
    assert_null(pointer_find(mirror, "/spec/ttl"));
    assert_string_equal(json_string(pointer_find(mirror, "/spec/parts/0/owner")), "x");
    assert_null(pointer_find(mirror, "/spec/parts/0/template"));
    assert_json(pointer_find(mirror, "/spec/parts/0/edited"), "1");
    assert_json(pointer_find(mirror, "/spec/kept"), "{'name':'a','count':1,'owner':'x','template':{'spec':{'n':1}}}");
    assert_string_equal(json_string(pointer_find(mirror, "/metadata/annotations/full.example.com~1now")), NOW);
    assert_string_equal(json_string(pointer_find(mirror, "/metadata/annotations/full.example.com~1text")),
                        "{\"list\":[null,true,7,\"s\"],\"number\":8,\"truth\":false}");
}

static void a_refusal_has_its_reason(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    struct adapter_call call;
    begin(&call, full, WHARF_MIRROR_NONE);
    assert_int_equal(adapter_accept(&call, workload), WHARF_OK);
    set(workload, "/spec/unwanted", "true");
    assert_int_equal(adapter_accept(&call, workload), WHARF_REFUSED);
    assert_string_equal(adapter_answer_reason(&call, "Other"), "Unwanted");
    assert_string_equal(adapter_answer_message(&call, "other"), "it is not wanted");
    adapter_call_end(&call);
}

static void a_service_that_fails_decides_the_result(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    set(workload, "/spec/broken", "true");
    struct adapter_call call;
    begin(&call, full, WHARF_MIRROR_NONE);
    AUTO_JSON mirror = NULL;
    struct mirror_context job = {.kind = full, .origin = "here", .call = &call, .workload = workload, .attempt = 2};
    assert_int_equal(mirror_make(&job, &mirror), WHARF_REFUSED);
    assert_string_equal(adapter_answer_message(&call, "other"), "/spec/state/text: cannot be set below a string");
    adapter_call_end(&call);
}

static void a_change_is_carried(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(workload, "/spec/size", "4");
    set(workload, "/spec/parts/1/count", "5");
    set(workload, "/spec/pools/0/max", "6");
    set(workload, "/spec/paused", "1"); // waits for the mirror to be suspended
    struct adapter_call call;
    begin(&call, full, WHARF_MIRROR_PRESENT);
    AUTO_JSON patch = NULL;
    struct mirror_context job = {
        .kind = full, .origin = "here", .call = &call, .workload = workload, .mirror = mirror, .attempt = 2};
    assert_int_equal(mirror_patch(&job, &patch), WHARF_OK);
    adapter_call_end(&call);
    assert_json(pointer_find(patch, "/spec/size"), "4");
    assert_json(pointer_find(patch, "/spec/parts/1/count"), "5");
    assert_json(pointer_find(patch, "/spec/pools"), "[{'pool':'p','max':6}]");
    assert_null(pointer_find(patch, "/spec/paused"));
    assert_json(pointer_find(patch, "/metadata/annotations/full.example.com~1size"), "4");
}

static void a_status_comes_back(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    AUTO_JSON mirror = mirror_of(workload);
    set(mirror, "/status", "{'node':'n1','state':'ready','seen':1}");
    struct adapter_call call;
    begin(&call, full, WHARF_MIRROR_PRESENT);
    AUTO_JSON patch = NULL;
    uint64_t hash = 0;
    struct mirror_context job = {
        .kind = full, .origin = "here", .call = &call, .workload = workload, .mirror = mirror, .attempt = 2};
    assert_int_equal(mirror_status(&job, &patch, &hash), WHARF_OK);
    adapter_call_end(&call);
    assert_json(pointer_find(patch, "/status/conditions"),
                "[{'type':'Copied','status':'True','reason':'Copied','message':'" NOW "','lastTransitionTime':'" NOW
                "','lastUpdateTime':'" NOW "','observedGeneration':3}]");
    assert_string_equal(json_string(pointer_find(patch, "/status/state")), "ready");
    assert_null(pointer_find(patch, "/status/node"));
}

// The status that the host would write without a mirror.
static struct json *status_without_mirror(const char *state, const char *status) {
    AUTO_JSON workload = parsed(WORKLOAD);
    set(workload, "/spec/state", state);
    set(workload, "/status", status);
    struct adapter_call call;
    begin(&call, full, WHARF_MIRROR_NONE);
    struct json *patch = NULL;
    uint64_t hash = 0;
    struct mirror_context job = {.kind = full, .origin = "here", .call = &call, .workload = workload, .attempt = 2};
    assert_int_equal(mirror_status(&job, &patch, &hash), WHARF_OK);
    adapter_call_end(&call);
    return patch;
}

static void what_is_owed_without_a_mirror_is_written(void **state) {
    (void)state;
    AUTO_JSON held = status_without_mirror("'Suspended'", "{'active':2,'start':'then'}");
    assert_json(json_get(held, "status"),
                "{'conditions':[{'type':'Held','status':'True','reason':'FullHeld','message':'a is held',"
                "'lastTransitionTime':'" NOW "','lastUpdateTime':'" NOW "'},{'type':'Copied','status':'False','reason':"
                "'Copied','message':'no mirror','lastTransitionTime':'" NOW "','lastUpdateTime':'" NOW
                "','observedGeneration':3}],'state':'waiting','active':0,'start':null}");
    AUTO_JSON resumed = status_without_mirror(
        "'Running'",
        "{'conditions':[{'type':'Held','status':'True','reason':'FullHeld','lastTransitionTime':'then'}]}");
    assert_json(pointer_find(resumed, "/status/conditions/0"),
                "{'type':'Held','status':'False','reason':'FullHeld','lastTransitionTime':'" NOW
                "','lastUpdateTime':'" NOW "'}");
}

static void phases_are_told_by_rules_and_by_the_function(void **state) {
    (void)state;
    static const struct {
        const char *status;
        wharf_phase_kind phase;
        const char *reason;
        int64_t since_ns;
    } cases[] = {
        {"{}", WHARF_PENDING, NULL, 0},
        {"{'state':'waiting'}", WHARF_PENDING, "waiting", 0},
        {"{'state':'ready'}", WHARF_ACTIVE, NULL, 0},
        {"{'conditions':[{'type':'Held','status':'True','reason':'FullHeld'}]}", WHARF_ACTIVE, NULL, 0},
        {"{'conditions':[{'type':'Done','status':'True','reason':'AllWell'}],'end':'" NOW "'}", WHARF_SUCCEEDED,
         "AllWell", NOW_NS},
        {"{'conditions':[{'type':'Done','status':'False','lastTransitionTime':'" NOW "'}]}", WHARF_FAILED, NULL,
         NOW_NS},
        {"{'conditions':[{'type':'Stuck','status':'True'}],'state':'waiting'}", WHARF_ACTIVE, "Stuck", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_JSON workload = parsed(WORKLOAD);
        set(workload, "/status", cases[i].status);
        struct adapter_call call;
        begin(&call, full, WHARF_MIRROR_NONE);
        wharf_phase phase;
        assert_int_equal(adapter_phase(&call, workload, &phase), WHARF_OK);
        assert_int_equal(phase.phase, cases[i].phase);
        assert_int_equal(phase.since_ns, cases[i].since_ns);
        assert_true(text_equal(phase.reason, cases[i].reason));
        if (text_equal(phase.reason, "Stuck"))
            assert_string_equal(phase.message, "Full of v2");
        adapter_call_end(&call);
    }
}

static void a_kind_of_data_alone_has_phases_too(void **state) {
    (void)state;
    AUTO_JSON object = parsed("{'status':{'state':'done'}}");
    struct adapter_call call;
    begin(&call, data, WHARF_MIRROR_NONE);
    wharf_phase phase;
    assert_int_equal(adapter_phase(&call, object, &phase), WHARF_OK);
    assert_int_equal(phase.phase, WHARF_SUCCEEDED);
    adapter_call_end(&call);
}

static void pods_are_listed(void **state) {
    (void)state;
    AUTO_JSON workload = parsed(WORKLOAD);
    struct adapter_call call;
    begin(&call, full, WHARF_MIRROR_NONE);
    AUTO_JSON sets = NULL;
    assert_int_equal(pods_of(&call, workload, &sets), WHARF_OK);
    adapter_call_end(&call);
    assert_json(sets, "[{'template':{'spec':{'n':1}},'count':3},{'template':{'spec':{}},'count':1}]");
}

// Those of its pods, which the host knows; what an adapter of 1.0 cannot name is no reference.
static void references_are_listed(void **state) {
    (void)state;
    static const char *const older[] = {"secrets ns/a", NULL};
    static const char *const newer[] = {"plans.full.example.com ns/p",   "plans.full.example.com ns/r",
                                        "plans.full.example.com team/q", "secrets ns/a",
                                        "serviceaccounts ns/s",          NULL};
    const char *const *expected = full->abi.references ? newer : older;
    AUTO_JSON workload =
        parsed("{'metadata':{'namespace':'ns'},'spec':{'parts':[{'plan':'p','template':{'spec':{"
               "'imagePullSecrets':[{'name':'a'}]}}},{'plan':'q','team':'team','maybe':true}],'driver':"
               "{'plan':'r','spec':{'serviceAccountName':'s'}}}}");
    set(workload, full->abi.references ? "/spec/x" : "/spec/driver", "{}");
    struct adapter_call call;
    struct references found;
    begin(&call, full, WHARF_MIRROR_NONE);
    assert_int_equal(references_of(&call, workload, &found), WHARF_OK);
    adapter_call_end(&call);
    for (size_t i = 0; i < found.count; i++) {
        const struct reference *one = found.list[i];
        AUTO_TEXT shown = text_format("%s %s/%s", one->resource, one->namespace_, one->name);
        assert_string_equal(shown, expected[i] ? expected[i] : "nothing");
        assert_int_equal(one->optional, text_has_suffix(shown, "/q"));
    }
    assert_null(expected[found.count]);
    references_clear(&found);
}

// An adapter of 1.0 has none of it.
static void further_attempts_get_what_was_done(void **state) {
    (void)state;
    bool newer = full->abi.references;
    AUTO_JSON workload = parsed("{'status':{'done':7,'step':12}}");
    static const char *const mirrors[] = {"{'status':{}}", "{'status':{'done':7}}"};
    for (size_t i = 0; i < 2; i++) {
        AUTO_JSON mirror = parsed(mirrors[i]);
        AUTO_JSON given = json_new_object();
        AUTO_JSON child = json_new_object();
        struct adapter_call call;
        begin(&call, full, WHARF_MIRROR_NONE);
        assert_int_equal(adapter_progress(&call, workload, mirror, given), WHARF_OK);
        assert_int_equal(adapter_child_progress(&call, workload, mirror, child), WHARF_OK);
        adapter_call_end(&call);
        assert_json(given, newer && i == 0 ? "{'status':{'done':7}}" : "{}");
        assert_json(child, newer && i == 0 ? "{'status':{'done':7}}" : "{}");
    }
    assert_true(!full->abi.children == !newer && !full->abi.continuity == !newer);
    if (!newer)
        return;
    assert_string_equal(full->abi.children[0].label, "full.example.com/full");
    assert_null(full->abi.children[1].plural);
    assert_string_equal(full->abi.continuity[1].name, "STEP");
    assert_null(full->abi.continuity[2].pointer);
}

// What the adapter says at its start, and what the host knows by itself.
static void bad_settings_are_refused(void **state) {
    (void)state;
    static const char *const settings[] = {"{'greeting':1}", "{'greetings':'hello'}"};
    for (size_t i = 0; i < 2; i++) {
        struct adapter_wanted list[] = {wanted("full", files[0], settings[i])};
        struct problems problems = {.list = NULL};
        struct adapters *none = load(list, 1, &problems);
        assert_int_equal(problems.count, 1);
        assert_non_null(strstr(problems.list[0], "greeting"));
        assert_int_equal(none->count, 0);
        problems_free(&problems);
        adapters_free(none);
    }
}

static void a_host_that_is_too_old_is_told_from_one_that_is_not(void **state) {
    (void)state;
    struct adapter_wanted list[] = {wanted("full", files[2], "{'greeting':'hello'}")};
    struct problems problems = {.list = NULL};
    struct adapters *loaded = load(list, 1, &problems);
#ifdef GROWN
    assert_int_equal(problems.count, 0);
    assert_int_equal(loaded->count, 1);
#else
    assert_int_equal(problems.count, 1);
    char expected[64];
    snprintf(expected, sizeof expected, "abi_minor: found %d, expected at most %d", WHARF_ABI_MINOR + 1,
             WHARF_ABI_MINOR);
    assert_non_null(strstr(problems.list[0], expected));
#endif
    problems_free(&problems);
    adapters_free(loaded);
}

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_data_of_a_kind_is_read),
        cmocka_unit_test(what_an_adapter_does_not_have_is_absent),
        cmocka_unit_test(a_mirror_is_made_with_every_service),
        cmocka_unit_test(a_refusal_has_its_reason),
        cmocka_unit_test(a_service_that_fails_decides_the_result),
        cmocka_unit_test(what_is_owed_without_a_mirror_is_written),
        cmocka_unit_test(a_change_is_carried),
        cmocka_unit_test(a_status_comes_back),
        cmocka_unit_test(phases_are_told_by_rules_and_by_the_function),
        cmocka_unit_test(a_kind_of_data_alone_has_phases_too),
        cmocka_unit_test(pods_are_listed),
        cmocka_unit_test(references_are_listed),
        cmocka_unit_test(further_attempts_get_what_was_done),
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(a_host_that_is_too_old_is_told_from_one_that_is_not),
    };
    files = arguments + 1;
    program = count > 4 ? arguments[4] : NULL;
    return count >= 4 ? cmocka_run_group_tests(tests, setup, teardown) : EXIT_FAILURE;
}
