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
    for (int added = 0; added < 2; added++) {
        wharf_kind kind = {.pods = pods, .pod_sets = added ? more : NULL};
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct adapter_call call;
            adapter_call_begin(&call, &(struct call_context){.kind = &kind});
            AUTO_JSON object = parsed(cases[i].object);
            AUTO_JSON expected = parsed(cases[i].sets);
            AUTO_JSON sets = NULL;
            assert_int_equal(pods_of(&call, object, &sets), WHARF_OK);
            if (added)
                assert_true(json_append(expected, parsed("{'template':{},'count':5}")));
            AUTO_TEXT found = json_text(sets, NULL);
            if (!json_equal(sets, expected))
                fail_msg("%s: found %s", cases[i].object, found);
            adapter_call_end(&call);
        }
    }
}

int main(void) {
    host = services_table();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_are_counted_by_the_fields_that_multiply_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
