// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/phase.h"
#include "core/adapter/services.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "tests/unit/quoted.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define RULES                                                                                                          \
    ((const wharf_phase_rule[]){                                                                                       \
        {"/status/conditions", "Done", .phase = WHARF_SUCCEEDED},                                                      \
        {"/status/conditions", "Done", "False", .reason = "Preempted", .phase = WHARF_PENDING},                        \
        {"/status/conditions", "Done", "False", .phase = WHARF_FAILED},                                                \
        {"/status/conditions", "Held", .phase = WHARF_SUSPENDED, .flags = WHARF_RULE_WHILE_SUSPENDED},                 \
        {"/status/conditions", "Held", .phase = WHARF_PENDING},                                                        \
        {"/status/state", "broken", .phase = WHARF_FAILED},                                                            \
        {"/status/succeeded", "true", .phase = WHARF_SUCCEEDED},                                                       \
        {"/status/code", "3", .phase = WHARF_FAILED},                                                                  \
        {.pointer = NULL}})

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
        {"{'status':{'conditions':[{'type':'Done','status':'False','reason':'Preempted'}]}}", WHARF_PENDING,
         "Preempted", NULL, 0},
        {"{'status':{'conditions':[{'type':'Done','status':'False','reason':'Other'},{'type':'Done','status':'False',"
         "'reason':'Preempted'}]}}",
         WHARF_PENDING, "Preempted", NULL, 0},
        {"{'spec':{'suspend':true},'status':{'conditions':[{'type':'Held','status':'True'}]}}", WHARF_SUSPENDED, NULL,
         NULL, 0},
        {"{'spec':{'suspend':false},'status':{'conditions':[{'type':'Held','status':'True'}]}}", WHARF_PENDING, NULL,
         NULL, 0},
        {"{'status':{'succeeded':true}}", WHARF_SUCCEEDED, NULL, NULL, 0},
        {"{'status':{'succeeded':false}}", WHARF_ACTIVE, NULL, NULL, 0},
        {"{'status':{'code':3.0,'endedAt':'1970-01-01T00:00:07Z'}}", WHARF_FAILED, NULL, NULL, 7},
        {"{'status':{'code':4}}", WHARF_ACTIVE, NULL, NULL, 0},
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

static void a_rule_has_more_words_than_one_value(void **state) {
    (void)state;
    const wharf_kind kind = {
        .suspend = "/spec/state",
        .suspend_value = "Paused",
        .suspend_values = (const char *const[]){"Stopped", "0", NULL},
        .phases =
            (const wharf_phase_rule[]){
                // Several in a row are one.
                {"/status/conditions", "Done", "False", .flags = WHARF_RULE_AND},
                {"/status/retries", "0", .flags = WHARF_RULE_AND},
                {"/status/fatal", .phase = WHARF_FAILED, .flags = WHARF_RULE_EXISTS},
                // Conditions without a type, and any status.
                {"/status/conditions", "Completed", .key = "phase", .phase = WHARF_SUCCEEDED},
                {"/status/conditions", "Aborted", .key = "status", .phase = WHARF_FAILED, .flags = WHARF_RULE_EXISTS},
                {"/status/conditions", "Seen", .phase = WHARF_PENDING, .flags = WHARF_RULE_EXISTS},
                // Many values.
                {"/status/state", "New", .values = (const char *const[]){"Queued", "7", NULL}, .phase = WHARF_PENDING},
                {"/status/state", .values = (const char *const[]){"Lost", "Broken", NULL}, .phase = WHARF_FAILED},
                {"/status/conditions", .values = (const char *const[]){"Ended", "Over", NULL},
                 .phase = WHARF_SUCCEEDED},
                {"/status/endedAt", .phase = WHARF_SUCCEEDED, .flags = WHARF_RULE_EXISTS},
                {"/status/problem", .phase = WHARF_FAILED, .flags = WHARF_RULE_EXISTS},
                {"/status/held", .phase = WHARF_SUSPENDED, .flags = WHARF_RULE_EXISTS | WHARF_RULE_WHILE_SUSPENDED},
                {.pointer = NULL}},
    };
    static const struct {
        const char *object;
        wharf_phase_kind phase;
        const char *reason;
        int64_t since_s;
    } cases[] = {
        {"{'status':{'conditions':[{'type':'Done','status':'False','reason':'R','lastTransitionTime':"
         "'1970-01-01T00:00:05Z'}],'retries':0,'fatal':{}}}",
         WHARF_FAILED, "R", 5},
        {"{'status':{'conditions':[{'type':'Done','status':'False'}],'retries':0}}", WHARF_ACTIVE, NULL, 0},
        {"{'status':{'conditions':[{'type':'Done','status':'False'}],'retries':1,'fatal':1}}", WHARF_ACTIVE, NULL, 0},
        {"{'status':{'conditions':[{'type':'Done','status':'True'}],'retries':0,'fatal':1}}", WHARF_ACTIVE, NULL, 0},
        {"{'status':{'conditions':[{'phase':'Completed','status':'True','reason':'R'}]}}", WHARF_SUCCEEDED, "R", 0},
        {"{'status':{'conditions':[{'type':'Completed','status':'True'}]}}", WHARF_ACTIVE, NULL, 0},
        {"{'status':{'conditions':[{'phase':'Completed','status':'False'}]}}", WHARF_ACTIVE, NULL, 0},
        {"{'status':{'conditions':[{'status':'Aborted','lastTransitionTime':'1970-01-01T00:00:06Z'}]}}", WHARF_FAILED,
         NULL, 6},
        {"{'status':{'conditions':[{'type':'Seen','status':'False','reason':'R'}]}}", WHARF_PENDING, "R", 0},
        {"{'status':{'state':'New'}}", WHARF_PENDING, "New", 0},
        {"{'status':{'state':'Queued'}}", WHARF_PENDING, "Queued", 0},
        {"{'status':{'state':7}}", WHARF_PENDING, NULL, 0},
        {"{'status':{'state':'Broken'}}", WHARF_FAILED, "Broken", 0},
        {"{'status':{'conditions':[{'type':'Over','status':'True'}]}}", WHARF_SUCCEEDED, NULL, 0},
        {"{'status':{'conditions':[{'type':'Over','status':'False'}]}}", WHARF_ACTIVE, NULL, 0},
        {"{'status':{'endedAt':'1970-01-01T00:00:07Z'}}", WHARF_SUCCEEDED, NULL, 0},
        {"{'status':{'endedAt':null,'x':1}}", WHARF_ACTIVE, NULL, 0},
        {"{'status':{'problem':{'reason':'R','message':'m'}}}", WHARF_FAILED, "R", 0},
        {"{'spec':{'state':'Stopped'},'status':{'held':true}}", WHARF_SUSPENDED, NULL, 0},
        {"{'spec':{'state':'Run'},'status':{'held':true}}", WHARF_ACTIVE, NULL, 0},
        {"{'spec':{'state':'Paused'}}", WHARF_SUSPENDED, NULL, 0},
        {"{'spec':{'state':0}}", WHARF_SUSPENDED, NULL, 0},
        {"{'spec':{'state':true}}", WHARF_PENDING, NULL, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON object = parsed(cases[i].object);
        wharf_phase phase;
        phase_by_rules(&kind, object, &phase);
        if (phase.phase != cases[i].phase || !text_equal(phase.reason, cases[i].reason) ||
            phase.since_ns != cases[i].since_s * CLOCK_SECOND)
            fail_msg("%s: found phase %d, reason %s, since %lld", cases[i].object, (int)phase.phase,
                     phase.reason ? phase.reason : "none", (long long)phase.since_ns);
        assert_int_equal(phase_says_suspended(&kind, object), !!pointer_find(object, "/status/held"));
    }
}

static void a_condition_that_is_set_keeps_its_time_while_its_status_stays(void **state) {
    (void)state;
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"{}", "{'status':{'conditions':[{'type':'S','status':'True','reason':'R','message':'m',"
               "'lastTransitionTime':'1970-01-01T00:00:09Z'}]}}"},
        {"{'status':{'conditions':null}}",
         "{'status':{'conditions':[{'type':'S','status':'True','reason':'R','message':'m',"
         "'lastTransitionTime':'1970-01-01T00:00:09Z'}]}}"},
        {"{'status':{'conditions':[{'type':'A'},{'type':'S','status':'True','reason':'old','lastTransitionTime':'then',"
         "'x':1}]}}",
         "{'status':{'conditions':[{'type':'A'},{'type':'S','status':'True','reason':'R','message':'m','"
         "lastTransitionTime':"
         "'then','x':1}]}}"},
        {"{'status':{'conditions':[{'type':'S','status':'False','lastTransitionTime':'then'}]}}",
         "{'status':{'conditions':[{'type':'S','status':'True','reason':'R','message':'m',"
         "'lastTransitionTime':'1970-01-01T00:00:09Z'}]}}"},
    };
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = &train, .now = {.wall_ns = 9 * CLOCK_SECOND}});
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON status = parsed(cases[i].before);
        AUTO_JSON expected = parsed(cases[i].after);
        for (int again = 0; again < 2; again++) {
            assert_non_null(services_table()->set_condition(&call.call, (wharf_value *)status, "S", "True", "R", "m"));
            AUTO_TEXT found = json_text(status, NULL);
            if (!json_equal(status, expected))
                fail_msg("%s became %s", cases[i].before, found);
        }
    }
    adapter_call_end(&call);
}

static void the_times_of_a_condition_are_those_that_the_workload_has(void **state) {
    (void)state;
    static const struct {
        const char *workload, *before, *transition, *update;
    } cases[] = {
        {"{}", "{}", "1970-01-01T00:00:09Z", "1970-01-01T00:00:09Z"},
        {"{'status':{'conditions':[{'type':'S','status':'True','lastTransitionTime':'t1','lastUpdateTime':'t2'}]}}",
         "{}", "t1", "t2"},
        {"{'status':{'conditions':[{'type':'S','status':'False','lastTransitionTime':'t1'}]}}", "{}",
         "1970-01-01T00:00:09Z", "1970-01-01T00:00:09Z"},
        {"{'status':{'conditions':[{'type':'S','status':'True','lastTransitionTime':'t1','lastUpdateTime':'t2'}]}}",
         "{'status':{'conditions':[{'type':'S','status':'False','lastTransitionTime':'t0','lastUpdateTime':'t0'}]}}",
         "t1", "t2"},
        {"{'status':{'conditions':[{'type':'S','status':'True','lastTransitionTime':'t1'}]}}",
         "{'status':{'conditions':[{'type':'S','status':'True','lastTransitionTime':'t0','lastUpdateTime':'t0'}]}}",
         "t0", "t0"},
    };
    static const wharf_kind timed = {.condition_time = "lastUpdateTime"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct adapter_call call;
        adapter_call_begin(&call, &(struct call_context){.kind = &timed, .now = {.wall_ns = 9 * CLOCK_SECOND}});
        AUTO_JSON workload = parsed(cases[i].workload);
        AUTO_JSON object = parsed(cases[i].before);
        call.workload = workload;
        const wharf_host *host = services_table();
        const wharf_value *made = host->set_condition(&call.call, (wharf_value *)object, "S", "True", "R", NULL);
        assert_string_equal(host->string(host->find(made, "/lastTransitionTime")), cases[i].transition);
        assert_string_equal(host->string(host->find(made, "/lastUpdateTime")), cases[i].update);
        assert_null(host->find(made, "/message"));
        adapter_call_end(&call);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_that_matches_says_the_phase),
        cmocka_unit_test(a_rule_has_more_words_than_one_value),
        cmocka_unit_test(a_condition_that_is_set_keeps_its_time_while_its_status_stays),
        cmocka_unit_test(the_times_of_a_condition_are_those_that_the_workload_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
