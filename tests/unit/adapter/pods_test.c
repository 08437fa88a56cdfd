// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/pods.h"
#include "core/base/text.h"
#include "tests/unit/quoted.h"

static const wharf_host *host;

// Adds one valid set and some invalid ones.
static wharf_result more(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    (void)workload;
    static const char text[] = "[{\"template\":{},\"count\":5},{\"template\":{}},{\"count\":1},7,"
                               "{\"template\":{},\"count\":-1}]";
    wharf_value *made = host->parse(call, text, sizeof text - 1);
    for (const wharf_value *set = host->first(made); set; set = host->next(set))
        host->set(call, sets, "/-", set);
    return WHARF_OK;
}

static void assert_sets(const wharf_pods *pods, const char *text, const char *sets_text) {
    for (int added = 0; added < 2; added++) {
        wharf_kind kind = {.pods = pods, .pod_sets = added ? more : NULL};
        struct adapter_call call;
        adapter_call_begin(&call, &(struct call_context){.kind = &kind});
        AUTO_JSON object = parsed(text);
        AUTO_JSON expected = parsed(sets_text);
        AUTO_JSON sets = NULL;
        assert_int_equal(pods_of(&call, object, &sets), WHARF_OK);
        if (added)
            assert_true(json_append(expected, parsed("{'template':{},'count':5}")));
        AUTO_TEXT found = json_text(sets, NULL);
        if (!json_equal(sets, expected))
            fail_msg("%s: found %s", text, found);
        adapter_call_end(&call);
    }
}

static void pods_are_counted_by_the_fields_that_multiply_them(void **state) {
    (void)state;
    static const char *const factors[] = {"/spec/groups/*/replicas", "/spec/groups/*/hosts", "/spec/groups/*/slots",
                                          "/spec/times", NULL};
    static const wharf_pods pods[] = {
        {.templates = "/spec/groups/*/template", .counts = factors},
        {.templates = "/spec/head"},
        {.templates = NULL},
    };
    static const struct {
        const char *object, *sets;
    } cases[] = {
        {"{}", "[]"},
        {"{'spec':{'times':2,'groups':[{'template':{'a':1},'replicas':3,'hosts':4},{'template':{'b':1}},{}]}}",
         "[{'template':{'a':1},'count':24},{'template':{'b':1},'count':2}]"},
        {"{'spec':{'times':2,'groups':[{'template':{'a':1},'replicas':3,'hosts':4,'slots':5}]}}",
         "[{'template':{'a':1},'count':120}]"},
        {"{'spec':{'head':{'h':1},'groups':{'x':{'template':{},'replicas':0},'y':{'template':7}}}}",
         "[{'template':{},'count':0},{'template':{'h':1},'count':1}]"},
        {"{'spec':{'groups':[{'template':{},'replicas':-3},{'template':{},'replicas':'many'},{'template':{},"
         "'replicas':9223372036854775807,'hosts':2}]}}",
         "[{'template':{},'count':0},{'template':{},'count':1},{'template':{},'count':9223372036854775807}]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_sets(pods, cases[i].object, cases[i].sets);
}

// A leader's pods with a template of their own or that of the workers, as a LeaderWorkerSet has them; PodSpecs.
static void pods_have_a_fallback_an_offset_and_may_be_specs(void **state) {
    (void)state;
    static const char *const replicas[] = {"/spec/groups/*/replicas", NULL};
    static const char *const size[] = {"/spec/groups/*/replicas", "/spec/groups/*/size", NULL};
    static const char *const one[] = {"/spec/servers", NULL};
    static const wharf_pods pods[] = {
        {.templates = "/spec/groups/*/leader", .counts = replicas, .fallback = "/spec/groups/*/worker"},
        {.templates = "/spec/groups/*/worker", .counts = size, .offset = -1},
        {.templates = "/spec/server", .counts = one, .offset = 1, .flags = WHARF_PODS_ARE_SPECS},
        {.templates = "/spec/only", .fallback = "/spec/other/spec", .flags = WHARF_PODS_ARE_SPECS},
        {.templates = NULL},
    };
    static const struct {
        const char *object, *sets;
    } cases[] = {
        {"{'spec':{'groups':[{'leader':{'l':1},'worker':{'w':1},'replicas':3,'size':4},{'worker':{'w':2},"
         "'replicas':2}]}}",
         "[{'template':{'l':1},'count':3},{'template':{'w':2},'count':2},{'template':{'w':1},'count':9},{'template':{"
         "'w':2},'count':0}]"},
        {"{'spec':{'groups':{'a':{'leader':null,'worker':{'w':1},'size':-9223372036854775808}}}}",
         "[{'template':{'w':1},'count':1},{'template':{'w':1},'count':0}]"},
        {"{'spec':{'server':{'containers':[]},'servers':9223372036854775807}}",
         "[{'template':{'spec':{'containers':[]}},'count':9223372036854775807}]"},
        {"{'spec':{'server':{},'servers':2,'only':{'o':1},'other':{'spec':{'f':1}}}}",
         "[{'template':{'spec':{}},'count':3},{'template':{'spec':{'o':1}},'count':1}]"},
        {"{'spec':{'server':{},'other':{'spec':{'f':1}}}}",
         "[{'template':{'spec':{}},'count':2},{'template':{'spec':{'f':1}},'count':1}]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_sets(pods, cases[i].object, cases[i].sets);
}

int main(void) {
    host = services_table();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_are_counted_by_the_fields_that_multiply_them),
        cmocka_unit_test(pods_have_a_fallback_an_offset_and_may_be_specs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
