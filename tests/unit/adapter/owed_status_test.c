// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/owed_status.h"
#include "core/base/text.h"
#include "tests/unit/quoted.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define NOW "1970-01-01T00:00:09Z"
#define HELD                                                                                                           \
    "{'type':'Held','status':'True','reason':'TrainHeld','message':'ns/a is held','lastTransitionTime':'" NOW "'}"

static const wharf_kind train = {
    .size = sizeof(wharf_kind),
    .kind = "Train",
    .suspend = "/spec/suspend",
    .suspended_status =
        (const wharf_status_change[]){
            {WHARF_SET_CONDITION, WHARF_ALWAYS, "Held", "True", "{kind}Held", "{namespace}/{name} is held"},
            {WHARF_SET_CONDITION, WHARF_IF_TRUE, "Running", "False", NULL, NULL},
            {WHARF_SET_CONDITION, WHARF_IF_ABSENT, "New", "Unknown", NULL, NULL},
            {WHARF_SET_TEXT, WHARF_ALWAYS, "/status/state", "held", NULL, NULL},
            {WHARF_SET_TEXT, WHARF_IF_ABSENT, "/status/since", "now", NULL, NULL},
            {WHARF_SET_ZERO, WHARF_ALWAYS, "/status/cars/*/active", NULL, NULL, NULL},
            {WHARF_REMOVE, WHARF_ALWAYS, "/status/cars/*/ip", NULL, NULL, NULL},
            {.name = NULL},
        },
    .resumed_status = (const wharf_status_change[]){{.name = "Held", .value = "False"}, {.name = NULL}},
    .gave_up_status =
        (const wharf_status_change[]){
            {WHARF_SET_CONDITION, WHARF_ALWAYS, "Done", "False", "{kind}Refused", "{name}: {message}"},
            {WHARF_SET_TEXT, WHARF_IF_ABSENT, "/status/end", "{now}", NULL, NULL},
            {.name = NULL},
        },
    .phases = (const wharf_phase_rule[]){{"/status/conditions", "Done", .phase = WHARF_SUCCEEDED},
                                         {"/status/conditions", "Held", .phase = WHARF_SUSPENDED,
                                          .flags = WHARF_RULE_WHILE_SUSPENDED},
                                         {.pointer = NULL}},
};

static void the_status_of_a_workload_without_a_mirror_follows_its_suspend_field(void **state) {
    (void)state;
    static const struct {
        const char *spec, *status, *after; // status NULL: absent
    } cases[] = {
        {"{'suspend':true}", NULL,
         "{'conditions':[" HELD ",{'type':'New','status':'Unknown','lastTransitionTime':'" NOW
         "'}],'state':'held','since':'now'}"},
        {"{'suspend':true}",
         "{'conditions':[{'type':'Running','status':'True'},{'type':'New','status':'True'}],'since':'then','state':'"
         "runs',"
         "'cars':[{'active':3,'ip':'x'},{'active':0,'more':1},{'active':'many'},7]}",
         "{'conditions':[{'type':'Running','status':'False','lastTransitionTime':'" NOW
         "'},{'type':'New','status':'True'}," HELD
         "],'since':'then','state':'held','cars':[{'active':0},{'active':0,'more':1},{'active':'many'},7]}"},
        {"{'suspend':true}", "{'conditions':[{'type':'Done','status':'True'}]}",
         "{'conditions':[{'type':'Done','status':'True'}]}"},
        {"{'suspend':false}", "{'conditions':[{'type':'Held','status':'True','lastTransitionTime':'then'}]}",
         "{'conditions':[{'type':'Held','status':'False','lastTransitionTime':'" NOW "'}]}"},
        {"{}", "{'conditions':[{'type':'Held','status':'False'}]}",
         "{'conditions':[{'type':'Held','status':'False'}]}"},
        {"{}", NULL, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON workload = parsed("{'metadata':{'name':'a','namespace':'ns'}}");
        AUTO_JSON object = json_new_object();
        AUTO_JSON after = cases[i].after ? parsed(cases[i].after) : NULL;
        assert_true(json_set(workload, "spec", parsed(cases[i].spec)));
        for (int again = 0; again < 2; again++) { // the second time nothing changes
            const char *before = cases[i].status;
            if (again == 0 && before)
                assert_true(json_set(workload, "status", parsed(before)) && json_set(object, "status", parsed(before)));
            struct adapter_call call;
            adapter_call_begin(&call, &(struct call_context){.kind = &train, .now = {.wall_ns = 9 * CLOCK_SECOND}});
            assert_int_equal(owed_status(&call, workload, object), WHARF_OK);
            adapter_call_end(&call);
            AUTO_TEXT found = json_text(object, NULL);
            if (!json_equal(json_get(object, "status"), after))
                fail_msg("%zu: found %s", i, found);
            if (after)
                assert_true(json_set(workload, "status", json_copy(after)));
        }
    }
}

static void what_no_cluster_accepts_is_told_why_and_when(void **state) {
    (void)state;
    AUTO_JSON workload = parsed("{'metadata':{'name':'a','namespace':'ns'},'status':{'state':'waits'}}");
    AUTO_JSON object = parsed("{'status':{'state':'waits'}}");
    AUTO_JSON after =
        parsed("{'status':{'state':'waits','conditions':[{'type':'Done','status':'False','reason':"
               "'TrainRefused','message':'a: {name} is quoted','lastTransitionTime':'" NOW "'}],'end':'" NOW "'}}");
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = &train, .now = {.wall_ns = 9 * CLOCK_SECOND}});
    assert_int_equal(owed_gave_up(&call, workload, "{name} is quoted", object), WHARF_OK);
    adapter_call_end(&call);
    AUTO_TEXT found = json_text(object, NULL);
    if (!json_equal(object, after))
        fail_msg("found %s", found);
}

static void a_status_that_cannot_hold_it_is_refused(void **state) {
    (void)state;
    AUTO_JSON workload = parsed("{'spec':{'suspend':true},'status':{'conditions':7}}");
    AUTO_JSON object = parsed("{'status':{'conditions':7}}");
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = &train, .now = {.wall_ns = 9 * CLOCK_SECOND}});
    assert_int_equal(owed_status(&call, workload, object), WHARF_REFUSED);
    assert_string_equal(adapter_answer_message(&call, ""), "/status/conditions: a condition cannot be set in a number");
    adapter_call_end(&call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_of_a_workload_without_a_mirror_follows_its_suspend_field),
        cmocka_unit_test(what_no_cluster_accepts_is_told_why_and_when),
        cmocka_unit_test(a_status_that_cannot_hold_it_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
