// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/phase.h"
#include "core/adapter/services.h"
#include "core/base/text.h"
#include "tests/unit/quoted.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define RULES                                                                                                          \
    ((const wharf_phase_rule[]){{"/status/conditions", "Done", NULL, WHARF_SUCCEEDED},                                 \
                                {"/status/conditions", "Done", "False", WHARF_FAILED},                                 \
                                {"/status/state", "broken", NULL, WHARF_FAILED},                                       \
                                {NULL, NULL, NULL, WHARF_PENDING}})

static const wharf_kind train = {
    .suspend = "/spec/suspend", .finished_at = "/status/endedAt", .managed_by = "/spec/managedBy"};

static void the_first_rule_that_matches_says_the_phase(void **state) {
    (void)state;
    static const struct {
        const char *object;
        wharf_phase_kind phase;
        const char *reason, *message;
        int64_t since_s;
    } cases[] = {
        {"{}", WHARF_PENDING, NULL, NULL, 0},
        {"{'status':{}}", WHARF_PENDING, NULL, NULL, 0},
        {"{'status':{'x':1}}", WHARF_ACTIVE, NULL, NULL, 0},
        {"{'spec':{'suspend':true},'status':{'x':1}}", WHARF_SUSPENDED, NULL, NULL, 0},
        {"{'status':{'conditions':[{'type':'Done','status':'Unknown'}]}}", WHARF_ACTIVE, NULL, NULL, 0},
        {"{'status':{'conditions':[{'type':'Done','status':'True','reason':'R','message':'m',"
         "'lastTransitionTime':'1970-01-01T00:00:05Z'}]}}",
         WHARF_SUCCEEDED, "R", "m", 5},
        {"{'spec':{'suspend':true},'status':{'endedAt':'1970-01-01T00:00:07Z','conditions':[{'type':'Other','status':"
         "'True'},{'type':'Done','status':'False','reason':'No','lastTransitionTime':'1970-01-01T00:00:05Z'}]}}",
         WHARF_FAILED, "No", NULL, 7},
        {"{'status':{'state':'broken','endedAt':'soon'}}", WHARF_FAILED, "broken", NULL, 0},
        {"{'status':{'conditions':{'type':'Done','status':'True'},'state':['broken']}}", WHARF_ACTIVE, NULL, NULL, 0},
        {"{'status':{'conditions':[7,null,{'status':'True'},{'type':'Done'}]}}", WHARF_ACTIVE, NULL, NULL, 0},
        {"{'status':7}", WHARF_PENDING, NULL, NULL, 0},
        {"[]", WHARF_PENDING, NULL, NULL, 0},
    };
    wharf_kind kind = train;
    kind.phases = RULES;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON object = parsed(cases[i].object);
        wharf_phase phase;
        phase_by_rules(&kind, object, &phase);
        if (phase.phase != cases[i].phase || !text_equal(phase.reason, cases[i].reason) ||
            !text_equal(phase.message, cases[i].message) || phase.since_ns != cases[i].since_s * CLOCK_SECOND)
            fail_msg("%s: found phase %d, reason %s, message %s, since %lld", cases[i].object, (int)phase.phase,
                     phase.reason ? phase.reason : "none", phase.message ? phase.message : "none",
                     (long long)phase.since_ns);
    }
}

static void a_condition_that_is_set_keeps_its_time_while_its_status_stays(void **state) {
    (void)state;
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"{}", "{'conditions':[{'type':'S','status':'True','reason':'R','message':'m',"
               "'lastTransitionTime':'1970-01-01T00:00:09Z'}]}"},
        {"{'conditions':null}", "{'conditions':[{'type':'S','status':'True','reason':'R','message':'m',"
                                "'lastTransitionTime':'1970-01-01T00:00:09Z'}]}"},
        {"{'conditions':[{'type':'A'},{'type':'S','status':'True','reason':'old','lastTransitionTime':'then','x':1}]}",
         "{'conditions':[{'type':'A'},{'type':'S','status':'True','reason':'R','message':'m','lastTransitionTime':"
         "'then','x':1}]}"},
        {"{'conditions':[{'type':'S','status':'False','lastTransitionTime':'then'}]}",
         "{'conditions':[{'type':'S','status':'True','reason':'R','message':'m',"
         "'lastTransitionTime':'1970-01-01T00:00:09Z'}]}"},
    };
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = &train, .now = {.wall_ns = 9 * CLOCK_SECOND}});
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON status = parsed(cases[i].before);
        AUTO_JSON expected = parsed(cases[i].after);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(services_table()->set_condition(&call.call, (wharf_value *)status, "S", "True", "R", "m"),
                             1);
            AUTO_TEXT found = json_text(status, NULL);
            if (!json_equal(status, expected))
                fail_msg("%s became %s", cases[i].before, found);
        }
    }
    adapter_call_end(&call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_that_matches_says_the_phase),
        cmocka_unit_test(a_condition_that_is_set_keeps_its_time_while_its_status_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
