// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plugins/job_harness.h"
#include "tests/unit/plugins/job_rules.h"

// Conditions: type, status, reason and time in the order in which the Job controller has them.
#define COND(type, value, reason, at)                                                                                  \
    "{'type':'" type "','status':'" value "','lastProbeTime':'" at "','lastTransitionTime':'" at "','reason':'" reason \
    "','message':'m'}"
#define T1 "2026-03-01T10:00:00Z"
#define T2 "2026-03-01T11:00:00Z"
#define T3 "2026-03-01T11:30:00Z"
#define NOW HARNESS_NOW
#define SUSPENDED(at) COND("Suspended", "True", "JobSuspended", at)
#define RESUMED(at) COND("Suspended", "False", "JobResumed", at)
#define MET(at) COND("SuccessCriteriaMet", "True", "CompletionsReached", at)
#define COMPLETE(at) COND("Complete", "True", "CompletionsReached", at)
#define TARGET(at) COND("FailureTarget", "True", "BackoffLimitExceeded", at)
#define FAILED(at) COND("Failed", "True", "BackoffLimitExceeded", at)
#define NOW_RESUMED                                                                                                    \
    "{'type':'Suspended','status':'False','lastProbeTime':'" NOW "','lastTransitionTime':'" NOW                        \
    "','reason':'JobResumed','message':'Job resumed'}"
#define SUSPENDED_SINCE(at)                                                                                            \
    "{'type':'Suspended','status':'True','lastProbeTime':'" at "','lastTransitionTime':'" at                           \
    "','reason':'JobSuspended','message':'Job suspended'}"
#define NOW_SUSPENDED SUSPENDED_SINCE(NOW)

#define PLAIN "'completions':4,'parallelism':2"
#define INDEXED "'completionMode':'Indexed','completions':8,'parallelism':3,'backoffLimitPerIndex':1"
#define GIVEN "'metadata':{'annotations':{'wharf.dev/progress':'given'}}"
#define OWED "'metadata':{'annotations':{'wharf.dev/progress':'owed'}}"
#define ELASTIC "'completionMode':'Indexed','completions':4,'parallelism':4"

struct status_case {
    const char *name;
    const char *spec;   // of the workload, without braces
    const char *before; // its status
    const char *mirror; // whole; "" for none
    uint32_t attempt;
    const char *after; // NULL: as before
};

static const struct status_case status_cases[] = {
    // The status of a first attempt is that of its mirror.
    {"a mirror without a status yet changes nothing", PLAIN, "{}", "{}", 1, "{}"},
    {"a running mirror is copied, but for the uids of its pods", PLAIN, "{}",
     "{'status':{'startTime':'" T1 "','active':2,'ready':1,'terminating':0,'succeeded':1,'failed':1,"
     "'uncountedTerminatedPods':{'succeeded':['a']},'later':{'x':1}}}",
     1, "{'startTime':'" T1 "','active':2,'ready':1,'terminating':0,'succeeded':1,'failed':1,'later':{'x':1}}"},
    {"a completed mirror is copied", PLAIN, "{'startTime':'" T1 "','active':1,'succeeded':3}",
     "{'status':{'conditions':[" MET(T2) "," COMPLETE(
         T3) "],'startTime':'" T1 "','completionTime':'" T3
             "','succeeded':4,'ready':0,'terminating':0,'uncountedTerminatedPods':{}}}",
     1,
     "{'conditions':[" MET(T2) "," COMPLETE(T3) "],'startTime':'" T1 "','completionTime':'" T3
                                                "','succeeded':4,'ready':0,'terminating':0}"},
    {"a failed mirror is copied", PLAIN, "{'startTime':'" T1 "','active':1}",
     "{'status':{'conditions':[" TARGET(T2) "," FAILED(T3) "],'startTime':'" T1 "','failed':7}}", 1,
     "{'conditions':[" TARGET(T2) "," FAILED(T3) "],'startTime':'" T1 "','failed':7}"},
    {"indexes are copied", INDEXED, "{'startTime':'" T1 "'}",
     "{'status':{'startTime':'" T1 "','completedIndexes':'0,1,3-5','failedIndexes':'2','succeeded':5,'failed':2}}", 1,
     "{'startTime':'" T1 "','completedIndexes':'0,1,3-5','failedIndexes':'2','succeeded':5,'failed':2}"},
    {"a Job may lose indexes when it is scaled down together with its completions", ELASTIC,
     "{'startTime':'" T1 "','completedIndexes':'0,2,5-7','succeeded':5}",
     "{'status':{'startTime':'" T1 "','completedIndexes':'0,2','succeeded':2}}", 1,
     "{'startTime':'" T1 "','completedIndexes':'0,2','succeeded':2}"},
    {"indexes that a scaled down Job has no more are not copied", ELASTIC, "{'startTime':'" T1 "'}",
     "{'status':{'startTime':'" T1 "','completedIndexes':'0,2-6','succeeded':6}}", 1,
     "{'startTime':'" T1 "','completedIndexes':'0,2,3','succeeded':3}"},
    {"what a Job has lost by scaling down and up again is not kept", ELASTIC,
     "{'startTime':'" T1 "','completedIndexes':'0-3','succeeded':4}",
     "{'status':{'startTime':'" T1 "','completedIndexes':'0,1','succeeded':2}}", 1,
     "{'startTime':'" T1 "','completedIndexes':'0,1','succeeded':2}"},
    {"an Indexed Job without a limit for each index has no failed ones", ELASTIC, "{}",
     "{'status':{'completedIndexes':'1','failedIndexes':'0','succeeded':1}}", 1,
     "{'completedIndexes':'1','succeeded':1}"},
    {"a list of indexes that was too long leaves the count", INDEXED,
     "{'startTime':'" T1 "','completedIndexes':'0,1','succeeded':2}",
     "{'status':{'conditions':[" MET(T2) "," COMPLETE(T3) "],'startTime':'" T1 "','completionTime':'" T3
                                                          "','succeeded':9}}",
     1,
     "{'conditions':[" MET(T2) "," COMPLETE(T3) "],'startTime':'" T1 "','completionTime':'" T3
                                                "','completedIndexes':'0,1','succeeded':8}"},
    {"a finished Job has no pods", PLAIN, "{'startTime':'" T1 "','active':2}",
     "{'status':{'conditions':[" TARGET(T2) "," FAILED(T3) "],'startTime':'" T1
                                                           "','failed':7,'active':1,'ready':1,'terminating':1}}",
     1, "{'conditions':[" TARGET(T2) "," FAILED(T3) "],'startTime':'" T1 "','failed':7,'ready':0,'terminating':0}"},
    {"a stale mirror takes nothing back", INDEXED, "{'startTime':'" T1 "','completedIndexes':'0-2','succeeded':3}",
     "{'status':{'startTime':'" T1 "','completedIndexes':'0','succeeded':1}}", 1, NULL},
    {"no list of indexes comes to a Job that may have none", PLAIN, "{}",
     "{'status':{'completedIndexes':'0','failedIndexes':'1'}}", 1, "{}"},
    {"never more pods are ready than active", PLAIN, "{}", "{'status':{'active':1,'ready':3}}", 1,
     "{'active':1,'ready':1}"},
    // Workers before 1.31 end a Job in one step.
    {"Complete of an old worker gets its SuccessCriteriaMet", PLAIN, "{'startTime':'" T1 "'}",
     "{'status':{'conditions':[" COMPLETE(T3) "],'startTime':'" T1 "','completionTime':'" T3 "','succeeded':4}}", 1,
     "{'conditions':[" MET(T3) "," COMPLETE(T3) "],'startTime':'" T1 "','completionTime':'" T3 "','succeeded':4}"},
    {"Failed of an old worker gets its FailureTarget", PLAIN, "{'startTime':'" T1 "'}",
     "{'status':{'conditions':[" FAILED(T3) "],'startTime':'" T1 "','failed':7}}", 1,
     "{'conditions':[" TARGET(T3) "," FAILED(T3) "],'startTime':'" T1 "','failed':7}"},
    {"Failed counts for more than a success that was only promised", PLAIN, "{'startTime':'" T1 "'}",
     "{'status':{'conditions':[" MET(T2) "," FAILED(T3) "],'startTime':'" T1 "','failed':7}}", 1,
     "{'conditions':[" TARGET(T3) "," FAILED(T3) "],'startTime':'" T1 "','failed':7}"},
    // startTime.
    {"startTime stays after a new attempt", PLAIN, "{'startTime':'" T1 "','active':2}",
     "{'status':{'startTime':'" T2 "','active':1}}", 2, "{'startTime':'" T1 "','active':1}"},
    {"startTime stays while a new mirror has none", PLAIN, "{'startTime':'" T1 "','active':2}", "{}", 2,
     "{'startTime':'" T1 "'}"},
    {"startTime goes while the Job is suspended", "'suspend':true," PLAIN, "{'startTime':'" T1 "','active':2}",
     "{'status':{'conditions':[" SUSPENDED(T2) "],'ready':0}}", 1, "{'conditions':[" SUSPENDED(T2) "],'ready':0}"},
    {"startTime stays when the suspended mirror is seen after the user has resumed", PLAIN, "{'startTime':'" T1 "'}",
     "{'status':{'conditions':[" SUSPENDED(T2) "]}}", 1, "{'startTime':'" T1 "','conditions':[" SUSPENDED(T2) "]}"},
    {"startTime changes with Suspended going to False", PLAIN,
     "{'startTime':'" T1 "','conditions':[" SUSPENDED(T2) "]}",
     "{'status':{'startTime':'" T3 "','active':1,'conditions':[" RESUMED(T3) "]}}", 1,
     "{'startTime':'" T3 "','active':1,'conditions':[" RESUMED(T3) "]}"},
    {"startTime stays when Suspended went to True and back unseen", PLAIN, "{'startTime':'" T1 "'}",
     "{'status':{'startTime':'" T3 "','active':1,'conditions':[" RESUMED(T3) "]}}", 1,
     "{'startTime':'" T1 "','active':1,'conditions':[" RESUMED(T3) "]}"},
    {"a resumed Job whose mirror was never suspended goes to Suspended False with its startTime", PLAIN,
     "{'startTime':'" T1 "','conditions':[" SUSPENDED(T2) "]}", "{'status':{'startTime':'" T3 "','active':1}}", 2,
     "{'startTime':'" T3 "','active':1,'conditions':[" NOW_RESUMED "]}"},
    {"and stays so", PLAIN, "{'startTime':'" T3 "','active':1,'conditions':[" RESUMED(T3) "]}",
     "{'status':{'startTime':'" T3 "','active':2}}", 2,
     "{'startTime':'" T3 "','active':2,'conditions':[" RESUMED(T3) "]}"},
    {"until the mirror has started, the Job stays Suspended", PLAIN, "{'conditions':[" SUSPENDED(T2) "]}", "{}", 1,
     NULL},
    // The host suspends the mirror of a further attempt until it has its progress.
    {"a suspension by the host is not reported", PLAIN, "{'startTime':'" T1 "','succeeded':1}",
     "{" GIVEN ",'status':{'succeeded':1,'conditions':[" SUSPENDED(T2) "]}}", 2, NULL},
    {"nor is its end, and startTime stays", PLAIN, "{'startTime':'" T1 "','succeeded':1}",
     "{" GIVEN ",'status':{'startTime':'" T3 "','active':1,'succeeded':1,'conditions':[" RESUMED(T3) "]}}", 2,
     "{'startTime':'" T1 "','succeeded':1,'active':1}"},
    {"and a former suspension by the user is told as it was", PLAIN,
     "{'startTime':'" T1 "','conditions':[" RESUMED(T1) "]}",
     "{" GIVEN ",'status':{'startTime':'" T3 "','active':1,'conditions':[" RESUMED(T3) "]}}", 2,
     "{'startTime':'" T1 "','active':1,'conditions':[" RESUMED(T1) "]}"},
    {"also if the mirror is complete with its progress", PLAIN, "{'startTime':'" T1 "','succeeded':4}",
     "{" OWED ",'spec':{'suspend':true,'completions':4},'status':{'conditions':[" SUSPENDED(T2) "," MET(
         T2) "," COMPLETE(T3) "],'startTime':'" T2 "','completionTime':'" T3
                              "','succeeded':4,'ready':0,'terminating':0}}",
     2,
     "{'conditions':[" MET(T2) "," COMPLETE(T3) "],'startTime':'" T1 "','completionTime':'" T3
                                                "','succeeded':4,'ready':0,'terminating':0}"},
    {"but a suspension by a queue of the worker is", PLAIN, "{'startTime':'" T1 "'}",
     "{" GIVEN ",'spec':{'suspend':true},'status':{'conditions':[" SUSPENDED(T2) "]}}", 2,
     "{'startTime':'" T1 "','conditions':[" SUSPENDED(T2) "]}"},
    {"and one by the user", "'suspend':true," PLAIN, "{'startTime':'" T1 "'}",
     "{" GIVEN ",'spec':{'suspend':true},'status':{'conditions':[" SUSPENDED(T2) "]}}", 2,
     "{'conditions':[" SUSPENDED(T2) "]}"},
    {"with its end", PLAIN, "{'conditions':[" SUSPENDED(T2) "]}",
     "{" GIVEN ",'status':{'startTime':'" T3 "','active':1,'conditions':[" RESUMED(T3) "]}}", 2,
     "{'startTime':'" T3 "','active':1,'conditions':[" RESUMED(T3) "]}"},
    {"a finished Job has a startTime", PLAIN, "{}",
     "{'status':{'conditions':[" MET(T2) "," COMPLETE(T3) "],'completionTime':'" T3 "','succeeded':4}}", 1,
     "{'conditions':[" MET(T2) "," COMPLETE(T3) "],'startTime':'" T3 "','completionTime':'" T3 "','succeeded':4}"},
    {"also one that failed while it was suspended", PLAIN, "{}",
     "{'status':{'conditions':[" TARGET(T2) "," FAILED(T3) "],'failed':7}}", 1,
     "{'conditions':[" TARGET(T2) "," FAILED(T3) "],'startTime':'" T3 "','failed':7}"},
    {"its own, where the mirror has given it up", "'suspend':true," PLAIN, "{'startTime':'" T1 "'}",
     "{'status':{'conditions':[" TARGET(T2) "," FAILED(T3) "],'failed':7}}", 1,
     "{'conditions':[" TARGET(T2) "," FAILED(T3) "],'startTime':'" T1 "','failed':7}"},
    {"completionTime is not before a startTime by another clock", PLAIN, "{'startTime':'" T2 "'}",
     "{'status':{'conditions':[" MET(T1) "," COMPLETE(T1) "],'startTime':'" T1 "','completionTime':'" T1 "'}}", 2,
     "{'conditions':[" MET(T1) "," COMPLETE(T1) "],'startTime':'" T2 "','completionTime':'" T2 "'}"},
    // Counters after a new attempt.
    {"failures of earlier attempts are added", PLAIN, "{'startTime':'" T1 "','failed':3}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-failed':'3'}},'status':{'failed':2}}", 2,
     "{'startTime':'" T1 "','failed':5}"},
    {"failed never falls", PLAIN, "{'startTime':'" T1 "','failed':3}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-failed':'x'}},'status':{'failed':2}}", 2, NULL},
    {"an annotation that someone edited is ignored", PLAIN, "{'startTime':'" T1 "','failed':3}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-failed':'99999999999999999999'}},'status':{'failed':2}}", 2,
     "{'startTime':'" T1 "','failed':2147483647}"},
    {"completions that a mirror has less than the Job are added", PLAIN, "{'startTime':'" T1 "','succeeded':2}",
     "{'spec':{'completions':2},'status':{'succeeded':1,'active':1}}", 2,
     "{'startTime':'" T1 "','succeeded':3,'active':1}"},
    {"also in a mirror of an earlier version", PLAIN, "{'startTime':'" T1 "','succeeded':2,'failed':3}",
     "{'metadata':{'annotations':{'job.wharf.dev/earlier-succeeded':'2','job.wharf.dev/earlier-failed':'3'}},"
     "'spec':{'completions':2},'status':{'succeeded':1,'failed':1,'active':1}}",
     2, "{'startTime':'" T1 "','succeeded':3,'failed':4,'active':1}"},
    {"a mirror that goes on has all counts", PLAIN, "{'startTime':'" T1 "','succeeded':2,'failed':3}",
     "{" GIVEN ",'spec':{'completions':4},'status':{'succeeded':3,'failed':4,'active':1}}", 2,
     "{'startTime':'" T1 "','succeeded':3,'failed':4,'active':1}"},
    {"and is no reason for a count to fall", PLAIN, "{'startTime':'" T1 "','succeeded':2,'failed':9}",
     "{" GIVEN ",'spec':{'completions':4},'status':{'succeeded':1,'failed':6,'active':1}}", 2,
     "{'startTime':'" T1 "','succeeded':2,'failed':9,'active':1}"},
    {"one whose progress was refused adds its failures", PLAIN, "{'startTime':'" T1 "','succeeded':2,'failed':3}",
     "{'metadata':{'annotations':{'wharf.dev/progress':'refused','job.wharf.dev/earlier-failed':'3'}},"
     "'spec':{'completions':4},'status':{'succeeded':1,'failed':1,'active':1}}",
     2, "{'startTime':'" T1 "','succeeded':2,'failed':4,'active':1}"},
    {"succeeded is the greater count of both attempts", PLAIN, "{'startTime':'" T1 "','succeeded':3}",
     "{'status':{'succeeded':2,'active':2}}", 2, "{'startTime':'" T1 "','succeeded':3,'active':2}"},
    {"an index that has completed once stays so, and is not failed", INDEXED,
     "{'startTime':'" T1 "','completedIndexes':'1,3,5','failedIndexes':'7','succeeded':3}",
     "{'status':{'completedIndexes':'0,2','failedIndexes':'3,6','succeeded':2}}", 2,
     "{'startTime':'" T1 "','completedIndexes':'0-3,5','failedIndexes':'6','succeeded':5}"},
    {"failedIndexes may become none", INDEXED, "{'startTime':'" T1 "','completedIndexes':'3','succeeded':1}",
     "{'status':{'failedIndexes':'3'}}", 2,
     "{'startTime':'" T1 "','completedIndexes':'3','failedIndexes':'','succeeded':1}"},
    {"indexes are kept by a scalable Job too", ELASTIC, "{'startTime':'" T1 "','completedIndexes':'0,3','succeeded':2}",
     "{'status':{'completedIndexes':'1','succeeded':1}}", 2,
     "{'startTime':'" T1 "','completedIndexes':'0,1,3','succeeded':3}"},
    {"also if its first mirror was lost unseen and made again", ELASTIC,
     "{'startTime':'" T1 "','completedIndexes':'0,3','succeeded':2}",
     "{'metadata':{'annotations':{'wharf.dev/progress':'refused'}},'status':{'completedIndexes':'1','succeeded':1}}", 1,
     "{'startTime':'" T1 "','completedIndexes':'0,1,3','succeeded':3}"},
    // Outcomes that an earlier attempt has decided.
    {"a promised success is kept while a new mirror runs", PLAIN, "{'startTime':'" T1 "','conditions':[" MET(T2) "]}",
     "{'status':{'active':2}}", 2, "{'startTime':'" T1 "','conditions':[" MET(T2) "],'active':2}"},
    {"a promised success is not given up for a mirror that is about to fail", PLAIN,
     "{'startTime':'" T1 "','conditions':[" MET(T1) "]}", "{'status':{'conditions':[" TARGET(T2) "],'terminating':1}}",
     2, "{'startTime':'" T1 "','conditions':[" MET(T1) "],'terminating':1}"},
    {"a promised success is reported when the mirror fails", PLAIN,
     "{'startTime':'" T1 "','succeeded':4,'conditions':[" MET(T1) "]}",
     "{'status':{'startTime':'" T2 "','conditions':[" TARGET(T2) "," FAILED(T3) "],'failed':7}}", 2,
     "{'startTime':'" T1
     "','succeeded':4,'failed':7,'conditions':[" MET(T1) "," COMPLETE(NOW) "],'completionTime':'" NOW "'}"},
    {"a promised failure is reported when the mirror completes", PLAIN,
     "{'startTime':'" T1 "','failed':7,'conditions':[" TARGET(T1) "]}",
     "{'status':{'startTime':'" T2 "','conditions':[" MET(T2) "," COMPLETE(T3) "],'completionTime':'" T3
                                                                               "','succeeded':4}}",
     2, "{'startTime':'" T1 "','succeeded':4,'failed':7,'conditions':[" TARGET(T1) "," FAILED(NOW) "]}"},
    {"a promised success is reported once the mirror, suspended for that reason, has no active pods", PLAIN,
     "{'startTime':'" T1 "','succeeded':4,'terminating':2,'conditions':[" MET(T1) "]}",
     "{'spec':{'suspend':true},'status':{'ready':0,'terminating':0,'conditions':[" SUSPENDED(T2) "]}}", 2,
     "{'startTime':'" T1 "','succeeded':4,'ready':0,'terminating':0,'conditions':[" MET(T1) "," COMPLETE(
         NOW) "],'completionTime':'" NOW "'}"},
    {"and not while a pod is active", PLAIN, "{'startTime':'" T1 "','succeeded':4,'conditions':[" MET(T1) "]}",
     "{'spec':{'suspend':true},'status':{'active':1,'conditions':[" SUSPENDED(T2) "]}}", 2,
     "{'startTime':'" T1 "','succeeded':4,'active':1,'conditions':[" MET(T1) "]}"},
    {"or terminates", PLAIN, "{'startTime':'" T1 "','succeeded':4,'conditions':[" MET(T1) "]}",
     "{'spec':{'suspend':true},'status':{'terminating':1,'conditions':[" SUSPENDED(T2) "]}}", 2,
     "{'startTime':'" T1 "','succeeded':4,'terminating':1,'conditions':[" MET(T1) "]}"},
    // The end.
    {"a finished Job stays as it is", PLAIN,
     "{'conditions':[" TARGET(T2) "," FAILED(T3) "],'startTime':'" T1 "','failed':7}",
     "{'status':{'active':2,'startTime':'" T3 "'}}", 2, NULL},
    {"a finished Job without a mirror stays as it is", "'suspend':true," PLAIN,
     "{'conditions':[" TARGET(T2) "," FAILED(T3) "],'startTime':'" T1 "','failed':7}", "", 2, NULL},
    // Without a mirror.
    {"without a mirror nothing changes", PLAIN, "{'startTime':'" T1 "','active':2,'ready':2}", "", 1, NULL},
    {"a new Job that is suspended gets the condition", "'suspend':true," PLAIN, "{}", "", 0,
     "{'conditions':[" NOW_SUSPENDED "]}"},
    {"a suspended Job that has lost its mirror has no pods and no startTime", "'suspend':true," PLAIN,
     "{'startTime':'" T1 "','active':2,'ready':2,'terminating':1,'failed':1,'conditions':[" RESUMED(T1) "]}", "", 1,
     "{'ready':0,'terminating':0,'failed':1,'conditions':[" NOW_SUSPENDED "]}"},
    {"a Job stays Suspended since when it was, in the words of its controller", "'suspend':true," PLAIN,
     "{'conditions':[" SUSPENDED(T1) "]}", "", 1, "{'conditions':[" SUSPENDED_SINCE(T1) "]}"},
    {"and that is how it stays", "'suspend':true," PLAIN, "{'conditions':[" SUSPENDED_SINCE(T1) "]}", "", 1, NULL},
    {"a promise is kept while suspended", "'suspend':true," PLAIN, "{'startTime':'" T1 "','conditions':[" MET(T1) "]}",
     "", 1, "{'conditions':[" MET(T1) "," NOW_SUSPENDED "]}"},
};

static void expect_same(const char *name, const char *what, const struct json *found, const struct json *expected) {
    AUTO_TEXT a = NULL;
    AUTO_TEXT b = NULL;
    if (!json_equal(found, expected))
        fail_msg("%s: %s is %s, not %s", name, what, harness_text(found, &a), harness_text(expected, &b));
}

static void a_status_follows_the_mirror_as_far_as_the_api_server_allows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof status_cases / sizeof *status_cases; i++) {
        const struct status_case *c = &status_cases[i];
        AUTO_TEXT text = text_format("{'spec':{%s},'status':%s}", c->spec, c->before);
        AUTO_JSON workload = harness_json(text);
        AUTO_JSON mirror = *c->mirror ? harness_json(c->mirror) : NULL;
        AUTO_JSON expected = harness_json(c->after ? c->after : c->before);
        AUTO_JSON status = harness_status(workload, mirror, c->attempt, NOW);
        assert_non_null(status);
        expect_same(c->name, "the status", status, expected);
        const char *broken = rules_status(json_get(workload, "spec"), json_get(workload, "status"), status);
        if (broken)
            fail_msg("%s: refused: %s", c->name, broken);
        assert_true(json_set(workload, "status", json_copy(status)));
        AUTO_JSON again = harness_status(workload, mirror, c->attempt, "2026-03-02T00:00:00Z");
        expect_same(c->name, "the status afterwards", again, status);
    }
}

static struct json *given_up(const struct json *workload) {
    struct json *object = json_new_object();
    assert_true(json_set(object, "status", json_copy(json_get(workload, "status"))));
    struct adapter_call call;
    harness_begin(&call, HARNESS_NOW, 3);
    assert_int_equal(owed_gave_up(&call, workload, "0/2 workers accept it", object), WHARF_OK);
    assert_int_equal(adapter_status(&call, workload, NULL, object), WHARF_OK);
    adapter_call_end(&call);
    struct json *status = json_detach(object, "status");
    json_free(object);
    return status;
}

static void a_job_that_no_cluster_accepts_fails_as_the_api_server_allows(void **state) {
    (void)state;
#define NO_CLUSTER(type)                                                                                               \
    "{'type':'" type "','status':'True','lastProbeTime':'" NOW "','lastTransitionTime':'" NOW                          \
    "','reason':'NoClusterAccepts','message':'0/2 workers accept it'}"
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"{}", "{'startTime':'" NOW "','conditions':[" NO_CLUSTER("FailureTarget") "," NO_CLUSTER("Failed") "]}"},
        {"{'startTime':'" T1
         "','active':2,'ready':1,'terminating':0,'succeeded':1,'failed':2,'conditions':[" RESUMED(T1) "]}",
         "{'startTime':'" T1 "','ready':0,'terminating':0,'succeeded':1,'failed':2,'conditions':[" RESUMED(
             T1) "," NO_CLUSTER("FailureTarget") "," NO_CLUSTER("Failed") "]}"},
        {"{'startTime':'" T1 "','succeeded':4,'conditions':[" MET(T2) "]}", // a success is not taken back
         "{'startTime':'" T1 "','succeeded':4,'conditions':[" MET(T2) "]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_JSON workload = harness_json("{'spec':{" PLAIN "}}");
        AUTO_JSON after = harness_json(cases[i].after);
        assert_true(json_set(workload, "status", harness_json(cases[i].before)));
        AUTO_JSON status = given_up(workload);
        expect_same("given up", "status", status, after);
        const char *broken = rules_status(json_get(workload, "spec"), json_get(workload, "status"), status);
        if (broken)
            fail_msg("refused: %s", broken);
    }
}

static void a_suspended_job_without_a_mirror_may_get_another_template(void **state) {
    (void)state;
    AUTO_JSON workload = harness_json("{'spec':{'suspend':true},'status':{'startTime':'" T1 "','active':2}}");
    assert_false(rules_template_may_change(workload));
    struct json *status = harness_status(workload, NULL, 1, NOW);
    assert_true(json_set(workload, "status", status));
    assert_true(rules_template_may_change(workload));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_follows_the_mirror_as_far_as_the_api_server_allows),
        cmocka_unit_test(a_suspended_job_without_a_mirror_may_get_another_template),
        cmocka_unit_test(a_job_that_no_cluster_accepts_fails_as_the_api_server_allows),
    };
    return cmocka_run_group_tests(tests, harness_load, NULL);
}
