// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/adapters.h"
#include "core/adapter/services/services_memory.h"
#include "tests/unit/plugins/job_harness.h"
#include "tests/unit/plugins/job_rules.h"

#define FIXTURES "tests/fixtures/job/"
static const char *const fixtures[] = {
    FIXTURES "completes.json", FIXTURES "indexed-fails.json",           FIXTURES "suspended-and-resumed.json",
    FIXTURES "moved.json",     FIXTURES "lost-after-its-decision.json", FIXTURES "old-worker.json",
};
#define N_FIXTURES (sizeof fixtures / sizeof *fixtures)

static void expect_same(const char *where, const struct json *found, const struct json *expected) {
    AUTO_TEXT a = NULL;
    AUTO_TEXT b = NULL;
    if (!json_equal(found, expected))
        fail_msg("%s: %s, not %s", where, harness_text(found, &a), harness_text(expected, &b));
}

// A mirror as its server stores it: with what it generates.
static struct json *store_mirror(struct json *mirror) {
    static const char *const labels[] = {"batch.kubernetes.io~1controller-uid", "controller-uid"};
    for (size_t i = 0; i < 2; i++) {
        AUTO_TEXT pointer = text_format("/spec/template/metadata/labels/%s", labels[i]);
        assert_null(pointer_find(mirror, pointer));
        assert_true(pointer_set(mirror, pointer, json_new_string("uid-in-the-worker")));
    }
    assert_null(pointer_find(mirror, "/spec/selector"));
    assert_true(pointer_set(mirror, "/spec/selector", json_new_object()));
    return mirror;
}

// One step of a history: what the user changes, what happens to the mirror, and the resulting status.
static void take_step(const char *where, const struct json *step, struct json *workload, struct json **mirror,
                      uint32_t *attempt) {
    struct json *spec = json_get(workload, "spec");
    if (json_get(step, "spec"))
        assert_true(patch_apply(&spec, json_get(step, "spec")));
    if (json_get(step, "gone"))
        json_cleanup(mirror);
    if (json_get(step, "create")) {
        *attempt = (uint32_t)json_int64(json_get(step, "create"), 0);
        *mirror = store_mirror(harness_mirror(workload, *attempt));
        assert_int_equal(!json_bool(json_path(*mirror, "spec", "suspend", NULL), false),
                         json_bool(json_get(step, "runs"), true));
    }
    if (json_get(step, "carry")) {
        struct json *desired = harness_update(workload, *mirror);
        assert_null(rules_spec(*mirror, desired));
        json_free(*mirror);
        *mirror = desired;
    }
    if (json_get(step, "status"))
        assert_true(json_set(*mirror, "status", json_copy(json_get(step, "status"))));
    AUTO_JSON status = harness_status(workload, *mirror, *attempt, json_string(json_get(step, "at")));
    AUTO_JSON expected = json_copy(json_get(step, "expect"));
    if (json_is(expected, JSON_STRING)) {
        bool copied = strcmp(json_string(expected), "copy") == 0;
        json_cleanup(&expected);
        expected = json_copy(copied ? json_get(step, "status") : json_get(workload, "status"));
        json_remove(expected, "uncountedTerminatedPods");
    }
    expect_same(where, status, expected);
    const char *broken = rules_status(spec, json_get(workload, "status"), status);
    if (broken)
        fail_msg("%s: refused: %s", where, broken);
    assert_true(json_set(workload, "status", json_copy(status)));
}

static void the_histories_of_real_jobs_are_told_as_they_were(void **state) {
    (void)state;
    for (size_t i = 0; i < N_FIXTURES; i++) {
        AUTO_JSON fixture = harness_file(fixtures[i]);
        AUTO_JSON mirror = NULL;
        uint32_t attempt = 0;
        for (struct json *step = json_first(json_get(fixture, "steps")); step; step = json_next(step)) {
            AUTO_TEXT where = text_format("%s at %s", fixtures[i], json_string(json_get(step, "at")));
            take_step(where, step, json_get(fixture, "workload"), &mirror, &attempt);
        }
    }
}

struct mirror_case {
    const char *name, *workload, *mirror;
};

#define INDEXED(n, p) "'completionMode':'Indexed','completions':" n ",'parallelism':" p
#define OWED "'metadata':{'annotations':{'wharf.dev/progress':'owed'}}"
#define RETRIED_OWED "'metadata':{'annotations':{'wharf.dev/progress':'owed','wharf.dev/retried':'w1'}}"
#define GIVEN "'metadata':{'annotations':{'wharf.dev/progress':'given'}}"
#define GANG(members) "'scheduling':{'schedulingPolicy':{'gang':{" members "}}}"
#define GENERATED                                                                                                      \
    "'controller-uid':'u','job-name':'j','batch.kubernetes.io/controller-uid':'u','batch.kubernetes.io/job-name':'j'"

static const struct mirror_case mirror_cases[] = {
    {"what the worker's server generates, and what deletes, is taken out",
     "{'spec':{'managedBy':'wharf.dev/host','ttlSecondsAfterFinished':60,'manualSelector':false,'selector':{'x':1},"
     "'template':{'metadata':{'labels':{'app':'a'," GENERATED "}},'spec':{}}}}",
     "{'spec':{'manualSelector':false,'template':{'metadata':{'labels':{'app':'a'}},'spec':{}}}}"},
    {"a manual selector stays, with the labels that it selects",
     "{'spec':{'manualSelector':true,'selector':{'x':1},'template':{'metadata':{'labels':{" GENERATED "}}}}}",
     "{'spec':{'manualSelector':true,'selector':{'x':1},'template':{'metadata':{'labels':{" GENERATED "}}}}}"},
    {"failures so far are recorded where progress is off",
     "{'metadata':{'annotations':{'a':'b'}},'spec':{},'status':{'failed':3}}",
     "{'metadata':{'annotations':{'a':'b','job.wharf.dev/earlier-failed':'3'}},'spec':{}}"},
    {"a further attempt without progress has what is left",
     "{'spec':{'backoffLimit':6,'activeDeadlineSeconds':7200,'completions':4,'parallelism':2},"
     "'status':{'failed':2,'succeeded':3,'startTime':'2026-03-01T11:00:00Z'}}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-failed':'2','job.wharf.dev/earlier-seconds':'3600'}},"
     "'spec':{'backoffLimit':4,'activeDeadlineSeconds':3600,'completions':1,'parallelism':2}}"},
    {"the failures of a worker that failed do not count",
     "{'metadata':{'annotations':{'wharf.dev/retried':'w1'}},'spec':{'backoffLimit':6},'status':{'failed':2}}",
     "{'metadata':{'annotations':{'wharf.dev/retried':'w1'}},'spec':{'backoffLimit':6}}"},
    {"one that goes on has the limits of the workload, but for the deadline",
     "{" OWED ",'spec':{'backoffLimit':6,'activeDeadlineSeconds':7200,'completions':4,'parallelism':2},"
     "'status':{'failed':2,'succeeded':3,'startTime':'2026-03-01T11:00:00Z'}}",
     "{'metadata':{'annotations':{'wharf.dev/progress':'owed','job.wharf.dev/earlier-seconds':'3600'}},"
     "'spec':{'backoffLimit':6,'activeDeadlineSeconds':3600,'completions':4,'parallelism':2}}"},
    {"what is used up is not negative, and a deadline is positive",
     "{'spec':{'backoffLimit':1,'activeDeadlineSeconds':600,'completions':2},"
     "'status':{'failed':2,'succeeded':2,'startTime':'2026-03-01T11:00:00Z'}}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-failed':'2','job.wharf.dev/earlier-seconds':'3600'}},"
     "'spec':{'backoffLimit':0,'activeDeadlineSeconds':1,'completions':0}}"},
    {"indexes run again, and a limit that is none stays so",
     "{'spec':{'completionMode':'Indexed','completions':4,'backoffLimit':2147483647},"
     "'status':{'failed':2,'succeeded':1,'completedIndexes':'0','startTime':'2026-03-01T11:00:00Z'}}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-failed':'2'}},"
     "'spec':{'completionMode':'Indexed','completions':4,'backoffLimit':2147483647}}"},
    {"without completions all that succeeds is repeated", "{'spec':{'parallelism':3},'status':{'succeeded':1}}",
     "{'spec':{'parallelism':3}}"},
    {"a gang is not larger than what is left",
     "{'spec':{'completions':9,'parallelism':4," GANG("'minCount':3") "},'status':{'succeeded':7}}",
     "{'spec':{'completions':2,'parallelism':4," GANG("'minCount':2") "}}"},
    {"nor is one of all pods that run at once",
     "{'spec':{'completions':9,'parallelism':4," GANG("") "},'status':{'succeeded':8}}",
     "{'spec':{'completions':1,'parallelism':4," GANG("'minCount':1") "}}"},
    {"nor one that goes on",
     "{" OWED ",'spec':{'completions':9,'parallelism':4," GANG("'minCount':3") "},'status':{'succeeded':7}}",
     "{" OWED ",'spec':{'completions':9,'parallelism':4," GANG("'minCount':2") "}}"},
    {"nor one of indexes, which end in two ways",
     "{" OWED ",'spec':{" INDEXED("8", "8") "," GANG("") "},'status':{'completedIndexes':'0-3','failedIndexes':'5'}}",
     "{" OWED ",'spec':{" INDEXED("8", "8") "," GANG("'minCount':3") "}}"},
    {"but failed ones that another worker tries again do not count",
     "{" RETRIED_OWED ",'spec':{" INDEXED("8", "8") "," GANG("") "},'status':{'completedIndexes':'0-3',"
                                                                 "'failedIndexes':'5'}}",
     "{" RETRIED_OWED ",'spec':{" INDEXED("8", "8") "," GANG("'minCount':4") "}}"},
    {"but indexes run again where progress is off",
     "{'spec':{" INDEXED("8", "8") "," GANG("'minCount':8") "},'status':{'completedIndexes':'0-3'}}",
     "{'spec':{" INDEXED("8", "8") "," GANG("'minCount':8") "}}"},
    {"a gang of nothing is one",
     "{" OWED ",'spec':{'completions':2,'parallelism':2," GANG("'minCount':2") "},'status':{'succeeded':2}}",
     "{" OWED ",'spec':{'completions':2,'parallelism':2," GANG("'minCount':1") "}}"},
    {"a gang is what the user asks for where enough is left",
     "{'spec':{'completions':9,'parallelism':4," GANG("'minCount':3") "},'status':{'succeeded':2}}",
     "{'spec':{'completions':7,'parallelism':4," GANG("'minCount':3") "}}"},
    {"and in a first attempt", "{'spec':{'completions':2,'parallelism':4," GANG("") "}}",
     "{'spec':{'completions':2,'parallelism':4," GANG("") "}}"},
    {"a start in the future, or of a suspended Job, takes nothing from its deadline",
     "{'spec':{'activeDeadlineSeconds':600},'status':{'startTime':'2026-03-01T13:00:00Z'}}",
     "{'spec':{'activeDeadlineSeconds':600}}"},
    {"a mirror for a Job whose end is decided does not run",
     "{'spec':{'suspend':false},'status':{'conditions':[{'type':'FailureTarget','status':'True'}]}}",
     "{'spec':{'suspend':true}}"},
    {"a decision that was not made does not count",
     "{'spec':{'suspend':false},'status':{'conditions':[{'type':'FailureTarget','status':'False'}]}}",
     "{'spec':{'suspend':false}}"},
};

static void a_mirror_has_nothing_that_belongs_to_the_management_cluster(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mirror_cases / sizeof *mirror_cases; i++) {
        AUTO_JSON workload = harness_json(mirror_cases[i].workload);
        AUTO_JSON expected = harness_json(mirror_cases[i].mirror);
        AUTO_JSON mirror = harness_mirror(workload, 1);
        expect_same(mirror_cases[i].name, mirror, expected);
    }
}

struct update_case {
    const char *name, *workload, *mirror;
    const char *patch; // from the mirror to what is desired
};

#define TEMPLATE(labels, pod) "'template':{'metadata':{'labels':{" labels "}},'spec':{" pod "}}"
#define OF_WORKER "'controller-uid':'w','batch.kubernetes.io/controller-uid':'w'"
#define OF_WORKLOAD "'controller-uid':'m','batch.kubernetes.io/controller-uid':'m','job-name':'j'"
#define QUIET "'status':{'conditions':[{'type':'Suspended','status':'True'}]}"
#define GPU "'nodeSelector':{'gpu':'yes'}"

static const struct update_case update_cases[] = {
    {"nothing to change", "{'spec':{'suspend':false," TEMPLATE(OF_WORKLOAD, "") "}}",
     "{'spec':{'suspend':false," TEMPLATE(OF_WORKER, "") "}}", "{}"},
    {"what may always change",
     "{'spec':{'parallelism':5,'suspend':true,'activeDeadlineSeconds':9,'backoffLimit':2,'maxFailedIndexes':3,"
     "'podReplacementPolicy':'Failed'}}",
     "{'spec':{'parallelism':2,'podReplacementPolicy':'TerminatingOrFailed'}}",
     "{'spec':{'parallelism':5,'suspend':true,'activeDeadlineSeconds':9,'backoffLimit':2,'maxFailedIndexes':3,"
     "'podReplacementPolicy':'Failed'}}"},
    {"a field that the worker's server does not know is left out", "{'spec':{'podReplacementPolicy':'Failed'}}",
     "{'spec':{}}", "{}"},
    {"completions of a Job without indexes never change", "{'spec':{'completions':5,'parallelism':5}}",
     "{'spec':{'completions':2,'parallelism':2}}", "{'spec':{'parallelism':5}}"},
    {"completions and parallelism of an Indexed Job change together", "{'spec':{" INDEXED("5", "5") "}}",
     "{'spec':{" INDEXED("2", "2") "}}", "{'spec':{'completions':5,'parallelism':5}}"},
    {"first both, where they differ in the end", "{'spec':{" INDEXED("5", "3") "}}", "{'spec':{" INDEXED("2", "2") "}}",
     "{'spec':{'completions':5,'parallelism':5}}"},
    {"then parallelism", "{'spec':{" INDEXED("5", "3") "}}", "{'spec':{" INDEXED("5", "5") "}}",
     "{'spec':{'parallelism':3}}"},
    {"a running mirror keeps its template", "{'spec':{'suspend':false," TEMPLATE(OF_WORKLOAD, GPU) "}}",
     "{'spec':{'suspend':false," TEMPLATE(OF_WORKER, "") "}}", "{}"},
    {"a suspended mirror that never started takes a template",
     "{'spec':{'suspend':true," TEMPLATE(OF_WORKLOAD ",'a':'b'", GPU) "}}",
     "{'spec':{'suspend':true," TEMPLATE(OF_WORKER, "") "}}",
     "{'spec':{'template':{'metadata':{'labels':{'a':'b'}},'spec':{" GPU "}}}}"},
    {"and so does one without active pods, in the patch that resumes it",
     "{'spec':{'suspend':false," TEMPLATE(OF_WORKLOAD, GPU) "}}",
     "{'spec':{'suspend':true," TEMPLATE(OF_WORKER, "") "},'status':{'startTime':'x','conditions':[{'type':"
                                                        "'Suspended','status':'True'}]}}",
     "{'spec':{'suspend':false,'template':{'spec':{" GPU "}}}}"},
    {"a mirror with pods keeps its template, and is not resumed with it",
     "{'spec':{'suspend':false,'parallelism':3," TEMPLATE(OF_WORKLOAD, GPU) "}}",
     "{'spec':{'suspend':true,'parallelism':2," TEMPLATE(OF_WORKER, "") "},'status':{'active':1}}",
     "{'spec':{'parallelism':3}}"},
    {"a mirror that has started and is not yet told Suspended keeps its template",
     "{'spec':{'suspend':true," TEMPLATE(OF_WORKLOAD, GPU) "}}",
     "{'spec':{'suspend':true," TEMPLATE(OF_WORKER, "") "},'status':{'startTime':'x'}}", "{}"},
    {"a mirror with pods and the same template is resumed", "{'spec':{'suspend':false," TEMPLATE(OF_WORKLOAD, GPU) "}}",
     "{'spec':{'suspend':true," TEMPLATE(OF_WORKER, GPU) "},'status':{'active':1}}", "{'spec':{'suspend':false}}"},
    {"labels of a manual selector are the user's",
     "{'spec':{'suspend':true,'manualSelector':true," TEMPLATE("'job-name':'b'", "") "}}",
     "{'spec':{'suspend':true,'manualSelector':true," TEMPLATE("'job-name':'a'", "") "}}",
     "{'spec':{'template':{'metadata':{'labels':{'job-name':'b'}}}}}"},
    {"the size of a gang, with the pods", "{'spec':{'parallelism':5," GANG("'minCount':5") "}}",
     "{'spec':{'parallelism':2," GANG("'minCount':2") "}}",
     "{'spec':{'parallelism':5,'scheduling':{'schedulingPolicy':{'gang':{'minCount':5}}}}}"},
    {"a gang is not larger than parallelism is in the first of two steps",
     "{'spec':{" INDEXED("2", "4") "," GANG("'minCount':3") "}}",
     "{'spec':{" INDEXED("3", "3") "," GANG("'minCount':3") "}}",
     "{'spec':{'completions':2,'parallelism':2,'scheduling':{'schedulingPolicy':{'gang':{'minCount':2}}}}}"},
    {"what is left of a gang is no difference",
     "{'spec':{'completions':9,'parallelism':4," GANG("'minCount':3") "},'status':{'succeeded':7}}",
     "{'spec':{'completions':2,'parallelism':4," GANG("'minCount':2") "}}", "{}"},
    {"a running gang stays while less and less is left",
     "{'spec':{" INDEXED("8", "8") "," GANG("'minCount':8") "},'status':{'completedIndexes':'0-5'}}",
     "{" GIVEN ",'spec':{" INDEXED("8", "8") "," GANG("'minCount':4") "}}", "{}"},
    {"also one with minCount by default",
     "{'spec':{" INDEXED("8", "8") "," GANG("") "},'status':{'completedIndexes':'0-5'}}",
     "{" GIVEN ",'spec':{" INDEXED("8", "8") "," GANG("") "}}", "{}"},
    {"one of a suspended mirror is what is left",
     "{'spec':{'suspend':true," INDEXED("8", "8") "," GANG("'minCount':8") "},'status':{'completedIndexes':'0-5'}}",
     "{" GIVEN ",'spec':{'suspend':true," INDEXED("8", "8") "," GANG("'minCount':4") "}}",
     "{'spec':{'scheduling':{'schedulingPolicy':{'gang':{'minCount':2}}}}}"},
    {"and a smaller one by the user is carried",
     "{'spec':{" INDEXED("8", "8") "," GANG("'minCount':3") "},'status':{'completedIndexes':'0-5'}}",
     "{" GIVEN ",'spec':{" INDEXED("8", "8") "," GANG("'minCount':4") "}}",
     "{'spec':{'scheduling':{'schedulingPolicy':{'gang':{'minCount':3}}}}}"},
    {"a gang that the worker's server does not know is left out", "{'spec':{'parallelism':5," GANG("'minCount':5") "}}",
     "{'spec':{'parallelism':2}}", "{'spec':{'parallelism':5}}"},
    {"resources of a container",
     "{'spec':{'suspend':true,'template':{'spec':{'containers':[{'name':'a','resources':{'limits':{'cpu':'2'}}}]}}}}",
     "{'spec':{'suspend':true,'template':{'spec':{'containers':[{'name':'a','resources':{}}]}}}," QUIET "}",
     "{'spec':{'template':{'spec':{'containers':[{'name':'a','resources':{'limits':{'cpu':'2'}}}]}}}}"},
    {"what is left of its limits is no difference", "{'spec':{'backoffLimit':6,'activeDeadlineSeconds':7200}}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-failed':'2','job.wharf.dev/earlier-seconds':'3600'}},"
     "'spec':{'backoffLimit':4,'activeDeadlineSeconds':3600}}",
     "{}"},
    {"a changed limit is less by what was used", "{'spec':{'backoffLimit':9,'activeDeadlineSeconds':3601}}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-failed':'2','job.wharf.dev/earlier-seconds':'3600'}},"
     "'spec':{'backoffLimit':4,'activeDeadlineSeconds':3600}}",
     "{'spec':{'backoffLimit':7,'activeDeadlineSeconds':1}}"},
    {"a suspended Job has its whole deadline again once it is resumed",
     "{'spec':{'suspend':true,'backoffLimit':6,'activeDeadlineSeconds':7200}}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-failed':'2','job.wharf.dev/earlier-seconds':'3600'}},"
     "'spec':{'suspend':false,'backoffLimit':4,'activeDeadlineSeconds':3600}}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-seconds':null}},"
     "'spec':{'suspend':true,'activeDeadlineSeconds':7200}}"},
    {"a mirror that runs for a Job whose end is decided is suspended",
     "{'spec':{'suspend':false},'status':{'conditions':[{'type':'SuccessCriteriaMet','status':'True'}]}}",
     "{'spec':{'suspend':false},'status':{'active':2}}", "{'spec':{'suspend':true}}"},
    {"a mirror that has decided itself is not",
     "{'spec':{'suspend':false},'status':{'conditions':[{'type':'SuccessCriteriaMet','status':'True'}]}}",
     "{'spec':{'suspend':false},'status':{'conditions':[{'type':'SuccessCriteriaMet','status':'True'}]}}", "{}"},
};

static void a_mirror_takes_what_its_server_takes_when_it_takes_it(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof update_cases / sizeof *update_cases; i++) {
        AUTO_JSON workload = harness_json(update_cases[i].workload);
        AUTO_JSON mirror = harness_json(update_cases[i].mirror);
        AUTO_JSON expected = harness_json(update_cases[i].patch);
        AUTO_JSON desired = harness_update(workload, mirror);
        assert_non_null(desired);
        AUTO_JSON patch = patch_diff(mirror, desired, NULL);
        expect_same(update_cases[i].name, patch, expected);
        const char *broken = rules_spec(mirror, desired);
        if (broken)
            fail_msg("%s: refused: %s", update_cases[i].name, broken);
    }
}

struct phase_case {
    const char *object;
    wharf_phase_kind phase;
    const char *reason, *since;
};

static const struct phase_case phase_cases[] = {
    {"{}", WHARF_PENDING, NULL, NULL},
    {"{'status':{'active':1}}", WHARF_ACTIVE, NULL, NULL},
    {"{'status':{'startTime':'2026-03-01T10:00:00Z'}}", WHARF_ACTIVE, NULL, NULL},
    {"{'spec':{'suspend':true}}", WHARF_SUSPENDED, NULL, NULL},
    {"{'spec':{'suspend':true},'status':{'conditions':[{'type':'Suspended','status':'True','reason':'JobSuspended'}]}}",
     WHARF_SUSPENDED, "JobSuspended", NULL},
    {"{'spec':{'suspend':true},'status':{'active':1}}", WHARF_ACTIVE, NULL, NULL},
    {"{'spec':{'suspend':true},'status':{'terminating':1}}", WHARF_ACTIVE, NULL, NULL},
    {"{'status':{'conditions':[{'type':'FailureTarget','status':'True'}]}}", WHARF_PENDING, NULL, NULL},
    {"{'status':{'conditions':[{'type':'Complete','status':'False'}]}}", WHARF_PENDING, NULL, NULL},
    {"{'status':{'completionTime':'2026-03-01T10:00:00Z','conditions':[{'type':'Complete','status':'True','reason':"
     "'CompletionsReached','lastTransitionTime':'2026-03-01T11:00:00Z'}]}}",
     WHARF_SUCCEEDED, "CompletionsReached", "2026-03-01T10:00:00Z"},
    {"{'status':{'active':1,'conditions':[7,{'type':'Failed','status':'False'},{'type':'Failed','status':'True',"
     "'reason':'BackoffLimitExceeded','lastTransitionTime':'2026-03-01T11:00:00Z'}]}}",
     WHARF_FAILED, "BackoffLimitExceeded", "2026-03-01T11:00:00Z"},
    {"{'status':{'conditions':[{'type':'Failed','status':'True','lastTransitionTime':'soon'}]}}", WHARF_FAILED, NULL,
     NULL},
};

static void the_phase_is_read_from_the_status(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof phase_cases / sizeof *phase_cases; i++) {
        const struct phase_case *c = &phase_cases[i];
        AUTO_JSON object = harness_json(c->object);
        struct adapter_call call;
        harness_begin(&call, HARNESS_NOW, 1);
        wharf_phase phase;
        assert_int_equal(adapter_phase(&call, object, &phase), WHARF_OK);
        int64_t since_ns = 0;
        if (c->since)
            assert_true(clock_parse_rfc3339(c->since, &since_ns));
        if (phase.phase != c->phase || !text_equal(phase.reason, c->reason) || phase.since_ns != since_ns)
            fail_msg("phase %d, reason %s for %s", (int)phase.phase, phase.reason, c->object);
        adapter_call_end(&call);
    }
}

static void pods_of_which_none_has_run_have_not_started(void **state) {
    (void)state;
    static const struct {
        const char *status;
        uint32_t not_started;
        const char *given; // pods, by the annotation
    } cases[] = {
        {"{}", 0, NULL}, // pending
        {"{'startTime':'2026-03-01T10:00:00Z','active':2,'ready':0}", 1, NULL},
        {"{'startTime':'2026-03-01T10:00:00Z','ready':0,'terminating':0}", 1, NULL},
        {"{'startTime':'2026-03-01T10:00:00Z','active':2}", 0, NULL}, // not counted by an older controller
        {"{'startTime':'2026-03-01T10:00:00Z','active':2,'ready':1}", 0, NULL},
        {"{'startTime':'2026-03-01T10:00:00Z','active':2,'ready':0,'failed':1}", 0, NULL},
        {"{'startTime':'2026-03-01T10:00:00Z','active':2,'ready':0,'succeeded':1}", 0, NULL},
        {"{'startTime':'2026-03-01T10:00:00Z','active':1,'ready':0,'terminating':1}", 1, NULL}, // scaled down
        {"{'startTime':'2026-03-01T10:00:00Z','ready':0,'uncountedTerminatedPods':{'failed':['u']}}", 0, NULL},
        {"{'conditions':[{'type':'Complete','status':'True'}],'ready':0}", 0, NULL},
        // The controller has decided before any pod was ready, and deletes the pods.
        {"{'startTime':'2026-03-01T10:00:00Z','active':1,'ready':0,'conditions':[{'type':'FailureTarget','status':"
         "'True'}]}",
         0, NULL},
        {"{'startTime':'2026-03-01T10:00:00Z','terminating':1,'ready':0,'conditions':[{'type':'SuccessCriteriaMet',"
         "'status':'True'}]}",
         0, NULL},
        // Pods of earlier attempts.
        {"{'startTime':'2026-03-01T10:00:00Z','active':2,'ready':0,'succeeded':3,'failed':1}", 1, "4"},
        {"{'startTime':'2026-03-01T10:00:00Z','active':2,'ready':0,'succeeded':3,'failed':2}", 0, "4"},
        {"{'startTime':'2026-03-01T10:00:00Z','active':2,'ready':1,'succeeded':3,'failed':1}", 0, "4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_TEXT text = text_format("{'status':%s}", cases[i].status);
        AUTO_JSON object = harness_json(text);
        if (cases[i].given)
            assert_true(pointer_set(object, "/metadata/annotations/job.wharf.dev~1given-pods",
                                    json_new_string(cases[i].given)));
        struct adapter_call call;
        harness_begin(&call, HARNESS_NOW, 1);
        wharf_phase phase;
        assert_int_equal(adapter_phase(&call, object, &phase), WHARF_OK);
        if (phase.not_started != cases[i].not_started)
            fail_msg("not_started %u for %s", phase.not_started, cases[i].status);
        adapter_call_end(&call);
    }
}

// Calls every function of the adapter: the results are well-formed for any objects.
static void call_all(const struct json *workload, const struct json *mirror, bool finished) {
    struct adapter_call call;
    harness_begin(&call, HARNESS_NOW, 2);
    wharf_phase phase;
    assert_int_equal(adapter_phase(&call, workload, &phase), WHARF_OK);
    assert_int_equal(adapter_phase(&call, mirror, &phase), WHARF_OK);
    adapter_call_end(&call);
    AUTO_JSON made = json_copy(workload);
    harness_begin(&call, HARNESS_NOW, 2);
    adapter_mirror(&call, workload, made);
    adapter_call_end(&call);
    AUTO_JSON desired = harness_update(workload, mirror);
    wharf_result result;
    json_free(harness_progress(workload, NULL, &result));
    AUTO_JSON given = harness_progress(workload, mirror, &result);
    assert_true(!given || json_is(given, JSON_OBJECT));
    AUTO_JSON with = harness_status(workload, mirror, 2, HARNESS_NOW);
    AUTO_JSON without = harness_status(workload, NULL, 2, HARNESS_NOW);
    assert_true(!desired || json_is(desired, JSON_OBJECT));
    assert_true(!with || json_is(with, JSON_OBJECT));
    assert_true(!without || json_is(without, JSON_OBJECT));
    if (finished)
        assert_true(json_equal(with, json_get(workload, "status")));
}

static const char *const garbage[] = {
    "null", "true", "-1", "1e300", "'x'", "'-'", "[]", "{}", "[[],7,{'type':7}]", "{'a':[]}", "'9-3,1-,,5-9999999999'"};

struct spoiling {
    const struct json *workload, *mirror;
    bool in_mirror;
};

// Damages the value at `pointer` in every way, and all below it.
static void spoil(const struct spoiling *s, const struct json *at, const char *pointer) {
    for (size_t i = 0; i <= sizeof garbage / sizeof *garbage; i++) {
        AUTO_JSON workload = json_copy(s->workload);
        AUTO_JSON mirror = json_copy(s->mirror);
        struct json *spoiled = s->in_mirror ? mirror : workload;
        if (i < sizeof garbage / sizeof *garbage)
            pointer_set(spoiled, pointer, harness_json(garbage[i]));
        else
            pointer_remove(spoiled, pointer);
        call_all(workload, mirror, false);
    }
    size_t index = 0;
    for (const struct json *m = json_first(at); m && !json_is(at, JSON_STRING); m = json_next(m), index++) {
        AUTO_BUFFER(below, 4096);
        buffer_text(&below, pointer);
        if (json_key(m))
            pointer_append(&below, json_key(m));
        else
            buffer_printf(&below, "/%zu", index);
        spoil(s, m, below.data);
    }
}

static void any_object_is_survived(void **state) {
    (void)state;
    AUTO_JSON fixture = harness_file(FIXTURES "indexed-fails.json");
    AUTO_JSON workload = json_copy(json_get(fixture, "workload"));
    AUTO_JSON mirror = json_copy(workload);
    struct json *last = json_at(json_get(fixture, "steps"), json_size(json_get(fixture, "steps")) - 1);
    assert_true(json_set(mirror, "status", json_copy(json_get(last, "status"))));
    assert_true(json_set(workload, "status", json_copy(json_get(json_at(json_get(fixture, "steps"), 3), "status"))));
    assert_true(pointer_set(workload, "/spec/suspend", json_new_bool(true)));
    assert_true(pointer_set(mirror, "/spec/suspend", json_new_bool(true)));
    json_remove(json_get(workload, "metadata"), "managedFields");
    json_remove(json_get(mirror, "metadata"), "managedFields");
    call_all(workload, mirror, false);
    spoil(&(struct spoiling){workload, mirror, false}, json_get(workload, "spec"), "/spec");
    spoil(&(struct spoiling){workload, mirror, false}, json_get(workload, "status"), "/status");
    spoil(&(struct spoiling){workload, mirror, true}, json_get(mirror, "spec"), "/spec");
    spoil(&(struct spoiling){workload, mirror, true}, json_get(mirror, "status"), "/status");
    spoil(&(struct spoiling){workload, mirror, true}, json_get(mirror, "metadata"), "/metadata");
    call_all(mirror, workload, true);
}

// A host whose Nth creating or changing service fails, as when memory runs out.
static size_t failing, calls;

static bool fails_now(const wharf_call *call) {
    if (++calls != failing)
        return false;
    services_no_memory(services_call(call));
    return true;
}

static wharf_value *weak_copy(const wharf_call *call, const wharf_value *value) {
    return fails_now(call) ? NULL : services_table()->copy(call, value);
}

static wharf_value *weak_array(const wharf_call *call) {
    return fails_now(call) ? NULL : services_table()->new_array(call);
}

static void *weak_memory(const wharf_call *call, size_t size) {
    return fails_now(call) ? NULL : services_table()->memory(call, size);
}

static wharf_value *weak_condition(const wharf_call *call, wharf_value *object, const char *type, const char *status,
                                   const char *reason, const char *message) {
    return fails_now(call) ? NULL : services_table()->set_condition(call, object, type, status, reason, message);
}

static void weak_set(const wharf_call *call, wharf_value *root, const char *pointer, const wharf_value *value) {
    if (!fails_now(call))
        services_table()->set(call, root, pointer, value);
}

static void weak_take(const wharf_call *call, wharf_value *root, const wharf_value *from, const char *pointer) {
    if (!fails_now(call))
        services_table()->take(call, root, from, pointer);
}

static void weak_string(const wharf_call *call, wharf_value *root, const char *pointer, const char *text) {
    if (!fails_now(call))
        services_table()->set_string(call, root, pointer, text);
}

static void weak_integer(const wharf_call *call, wharf_value *root, const char *pointer, int64_t value) {
    if (!fails_now(call))
        services_table()->set_integer(call, root, pointer, value);
}

static void weak_boolean(const wharf_call *call, wharf_value *root, const char *pointer, int value) {
    if (!fails_now(call))
        services_table()->set_boolean(call, root, pointer, value);
}

static bool retried(const struct json *workload, const struct json *mirror, int function) {
    AUTO_JSON object = function == 4 ? json_new_object() : json_copy(function <= 1 ? workload : mirror);
    AUTO_JSON running = json_copy(mirror);
    json_remove(json_get(running, "status"), "conditions");
    struct adapter_call call;
    harness_begin(&call, HARNESS_NOW, 2);
    wharf_result result = function == 0   ? adapter_mirror(&call, workload, object)
                          : function == 1 ? adapter_update(&call, workload, mirror, object)
                          : function == 2 ? adapter_status(&call, workload, mirror, object)
                          : function == 4 ? adapter_progress(&call, running, NULL, object)
                                          : adapter_status(&call, mirror, mirror, object); // a finished one
    adapter_call_end(&call);
    assert_true(result == WHARF_OK || result == WHARF_RETRY);
    return result == WHARF_RETRY;
}

static void a_service_that_fails_is_an_answer_to_try_again(void **state) {
    (void)state;
    wharf_host weak = *services_table();
    weak.copy = weak_copy, weak.new_array = weak_array, weak.memory = weak_memory, weak.take = weak_take;
    weak.set = weak_set, weak.set_string = weak_string, weak.set_integer = weak_integer;
    weak.set_boolean = weak_boolean, weak.set_condition = weak_condition;
    *job_module->host = &weak;
    AUTO_JSON workload = harness_json(
        "{'spec':{'suspend':true,'completionMode':'Indexed','completions':5,'parallelism':3,'backoffLimitPerIndex':1,"
        "'template':{'spec':{'nodeSelector':{}}}},'status':{'failed':2,'ready':1,'terminating':1,'startTime':"
        "'" HARNESS_NOW "','conditions':[{'type':'FailureTarget','status':'True'}]}}");
    AUTO_JSON mirror = harness_json(
        "{'spec':{'suspend':false,'completionMode':'Indexed','completions':4,'template':{'metadata':{'labels':{'job-"
        "name':'a'}}}},'status':{'failed':1,'active':2,'ready':1,'terminating':1,'succeeded':1,'completedIndexes':'1',"
        "'failedIndexes':'2','conditions':[{'type':'Complete','status':'True'}]}}");
    for (int function = 0; function < 5; function++) {
        size_t n = 0;
        do {
            failing = ++n;
            calls = 0;
        } while (retried(workload, mirror, function));
        assert_true(n > 1 && calls == n - 1); // all of them were tried
    }
    *job_module->host = services_table();
}

static void the_kind_is_one_that_the_host_takes(void **state) {
    (void)state;
    struct kind *taken = NULL;
    struct error *error = kind_check(job_kind, NULL, "wharf.dev/host", &taken);
    if (error)
        fail_msg("%s", error->message);
    assert_string_equal(taken->plural_group, "jobs.batch");
    assert_string_equal(taken->managed_by, "wharf.dev/host");
    kind_free(taken);
    error = kind_check(job_kind, "kubernetes.io/job-controller", "wharf.dev/host", &taken);
    assert_non_null(error);
    error_free(error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kind_is_one_that_the_host_takes),
        cmocka_unit_test(the_histories_of_real_jobs_are_told_as_they_were),
        cmocka_unit_test(a_mirror_has_nothing_that_belongs_to_the_management_cluster),
        cmocka_unit_test(a_mirror_takes_what_its_server_takes_when_it_takes_it),
        cmocka_unit_test(the_phase_is_read_from_the_status),
        cmocka_unit_test(pods_of_which_none_has_run_have_not_started),
        cmocka_unit_test(any_object_is_survived),
        cmocka_unit_test(a_service_that_fails_is_an_answer_to_try_again),
    };
    return cmocka_run_group_tests(tests, harness_load, NULL);
}
