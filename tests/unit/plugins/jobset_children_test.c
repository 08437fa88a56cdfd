// SPDX-License-Identifier: Apache-2.0
// What the JobSet adapter keeps of the Jobs of a mirror, and gives to those of the next one.
#include "tests/unit/plugins/one_kind.h"

#include "core/base/memory.h"

#define NOW "2026-03-01T12:00:00Z"
#define LABELS(name, index, restarts)                                                                                  \
    "'metadata':{'name':'a-" name "-" index "','labels':{'jobset.sigs.k8s.io/replicatedjob-name':'" name               \
    "','jobset.sigs.k8s.io/job-index':'" index "','jobset.sigs.k8s.io/restart-attempt':'" restarts "'}}"
#define INDEXED "'spec':{'completionMode':'Indexed','completions':4,'backoffLimit':3}"
#define PLAIN(spec, status) "{" LABELS("w", "0", "0") ",'spec':{" spec "},'status':{" status "}}"
#define JOB(status) "{" LABELS("w", "0", "0") "," INDEXED ",'status':{" status "}}"
#define WORKLOAD(restarts, w, d, failed)                                                                               \
    "{'spec':{'replicatedJobs':[{'name':'w','replicas':2},{'name':'d'}]},'status':{'restarts':" restarts               \
    ",'replicatedJobsStatus':[{'name':'w','succeeded':" w ",'failed':" failed "},{'name':'d','succeeded':" d "}]}}"
#define IDLE WORKLOAD("0", "0", "0", "0")

static const wharf_kind *jobset;

static int load(void **state) {
    (void)state;
    jobset = find_kind("jobset", "JobSet");
    return 0;
}

static void begin(struct adapter_call *call) {
    struct call_context context = {
        .kind = jobset, .cluster = "w1", .attempt = 2, .version = "v1alpha2", .object = "default/a"};
    assert_true(clock_parse_rfc3339(NOW, &context.now.wall_ns));
    adapter_call_begin(call, &context);
}

static char *progress(struct json *former, struct json *child) {
    struct adapter_call call;
    begin(&call);
    AUTO_JSON object = json_new_object();
    assert_int_equal(adapter_child_progress(&call, former, child, object), WHARF_OK);
    adapter_call_end(&call);
    return json_text(object, NULL);
}

static void expect(const char *expected, char *found) {
    AUTO_JSON wanted = parsed(expected);
    AUTO_TEXT text = json_text(wanted, NULL);
    assert_string_equal(found, text);
    free(found);
}

// -- keeping --

static void keeps(const char *expected, const char *job, const char *mirror) {
    AUTO_JSON former = parsed(job);
    AUTO_JSON child = parsed(mirror);
    expect(expected, progress(former, child));
}

static void what_jobs_have_done_is_kept(void **state) {
    (void)state;
    keeps("{'status':{'completedIndexes':'0-2','succeeded':3}}",
          JOB("'active':1,'succeeded':3,'completedIndexes':'0-2','startTime':'2026-03-01T11:00:00Z'"), IDLE);
    keeps("{'status':{'completedIndexes':'0-3','succeeded':4}}",
          JOB("'succeeded':4,'completedIndexes':'0-3','conditions':[{'type':'Complete','status':'True'}]"), IDLE);
    keeps("{'status':{'failed':2}}", JOB("'active':1,'failed':2"), IDLE);
    keeps("{}", JOB("'active':1"), IDLE);
    keeps("{'status':{'succeeded':3,'failed':1}}", PLAIN("'completions':4", "'succeeded':3,'failed':1"), IDLE);
    keeps("{'status':{'failed':1}}", PLAIN("'parallelism':4", "'succeeded':3,'failed':1"), IDLE); // a work queue
    keeps("{'status':{'succeeded':3}}",
          PLAIN("'parallelism':4", "'succeeded':3,'conditions':[{'type':'Complete','status':'True'}]"), IDLE);
    keeps("{}", JOB("'succeeded':3,'completedIndexes':'0-2','conditions':[{'type':'Failed','status':'True'}]"), IDLE);
}

// The controller is about to replace Jobs from before a restart.
static void jobs_that_are_replaced_are_not_kept(void **state) {
    (void)state;
    keeps("{}", JOB("'succeeded':3,'completedIndexes':'0-2'"), WORKLOAD("1", "0", "0", "0"));
    keeps("{'status':{'completedIndexes':'0','succeeded':1},'restarts':1}",
          "{" LABELS("w", "0", "1") "," INDEXED ",'status':{'succeeded':1,'completedIndexes':'0'}}",
          WORKLOAD("1", "0", "0", "0"));
    // After a restart of one Job alone.
    static const char mirror[] = "{'status':{'replicatedJobsStatus':[{'name':'w','jobRestarts':[0,2]}]}}";
    for (int restarts = 1; restarts <= 2; restarts++) {
        AUTO_JSON former =
            parsed("{" LABELS("w", "1", "0") "," INDEXED ",'status':{'succeeded':1,'completedIndexes':'0'}}");
        assert_true(pointer_set(former, "/metadata/labels/jobset.sigs.k8s.io~1job-restart-attempt",
                                json_new_string(restarts == 1 ? "1" : "2")));
        AUTO_JSON child = parsed(mirror);
        expect(restarts == 1 ? "{}" : "{'status':{'completedIndexes':'0','succeeded':1},'jobRestarts':2}",
               progress(former, child));
    }
}

static void restarts_of_earlier_attempts_count(void **state) {
    (void)state;
    AUTO_JSON mirror = parsed(WORKLOAD("1", "0", "0", "0"));
    assert_true(pointer_set(mirror, "/metadata/annotations/jobset.wharf.dev~1earlier-restarts", json_new_string("2")));
    AUTO_JSON job = parsed("{" LABELS("w", "0", "1") "," INDEXED ",'status':{'succeeded':1,'completedIndexes':'0'}}");
    expect("{'status':{'completedIndexes':'0','succeeded':1},'restarts':3}", progress(job, mirror));
    AUTO_JSON workload = parsed(WORKLOAD("2", "0", "0", "0"));
    AUTO_JSON object = parsed("{'status':{'restarts':1}}");
    AUTO_JSON made = json_new_object();
    struct adapter_call call;
    begin(&call);
    assert_int_equal(adapter_status(&call, workload, mirror, object), WHARF_OK);
    assert_int_equal(json_int64(pointer_find(object, "/status/restarts"), 0), 3);
    assert_int_equal(adapter_mirror(&call, workload, made), WHARF_OK);
    adapter_call_end(&call);
    assert_string_equal(json_string(pointer_find(made, "/metadata/annotations/jobset.wharf.dev~1earlier-restarts")),
                        "2");
}

static void shows(int64_t succeeded, const char *mark, const char *mirror) {
    AUTO_JSON workload = parsed(WORKLOAD("0", "1", "0", "0"));
    AUTO_JSON there = parsed(mirror);
    AUTO_JSON object = json_new_object();
    struct adapter_call call;
    assert_true(pointer_set(there, "/metadata/annotations/wharf.dev~1progress", json_new_string(mark)));
    assert_true(json_set(object, "status", json_copy(json_get(there, "status"))));
    begin(&call);
    assert_int_equal(adapter_status(&call, workload, there, object), WHARF_OK);
    adapter_call_end(&call);
    assert_int_equal(json_int64(pointer_find(object, "/status/replicatedJobsStatus/0/succeeded"), 0), succeeded);
}

static void complete_jobs_are_shown_before_they_have_their_condition_again(void **state) {
    (void)state;
    shows(1, "given", WORKLOAD("0", "0", "0", "0"));
    shows(1, "given", "{'status':{'replicatedJobsStatus':[{'name':'w','succeeded':0,'active':1}]}}");
    shows(2, "given", WORKLOAD("0", "2", "0", "0"));
    shows(0, "given", "{'status':{'replicatedJobsStatus':[{'name':'w','succeeded':0,'active':2}]}}"); // both run
    shows(0, "given", WORKLOAD("0", "0", "0", "2"));
    shows(0, "given", WORKLOAD("1", "0", "0", "0"));   // a restart made new Jobs
    shows(0, "refused", WORKLOAD("0", "0", "0", "0")); // from nothing
}

// -- giving --

static void gives(const char *expected, const char *kept, const char *workload, const char *child) {
    AUTO_JSON former = parsed(kept);
    AUTO_JSON of = child ? parsed(child) : NULL;
    assert_true(json_set(former, "workload", parsed(workload)));
    expect(expected, progress(former, of));
}

#define KEPT "{'status':{'completedIndexes':'0-2','succeeded':3}}"

static void jobs_get_what_they_lack(void **state) {
    (void)state;
    gives("{'status':{'completedIndexes':'0-2','succeeded':3}}", KEPT, IDLE, JOB(""));
    gives("{'status':{'completedIndexes':'0-2','succeeded':3}}", KEPT, IDLE,
          JOB("'succeeded':1,'completedIndexes':'1'"));
    gives("{}", KEPT, IDLE, JOB("'succeeded':3,'completedIndexes':'0-2'"));
    gives("{'status':{'succeeded':3}}", "{'status':{'succeeded':3}}", IDLE, PLAIN("'completions':4", "'succeeded':1"));
    gives("{'status':{'succeeded':4,'startTime':'" NOW "'}}", "{'status':{'succeeded':9}}", IDLE,
          PLAIN("'completions':4", ""));
    gives("{}", "{}", IDLE, JOB(""));
    gives("{'status':{'completedIndexes':'0-3','succeeded':4,'startTime':'" NOW "'}}",
          "{'status':{'completedIndexes':'0-3','succeeded':4}}", IDLE, JOB(""));
}

static void what_was_kept_before_a_restart_is_void(void **state) {
    (void)state;
    gives("{}", KEPT, WORKLOAD("1", "0", "0", "0"), JOB(""));
    gives("{'status':{'completedIndexes':'0','succeeded':1}}",
          "{'status':{'completedIndexes':'0','succeeded':1},'restarts':1}", WORKLOAD("1", "0", "0", "0"), JOB(""));
}

static void what_was_kept_before_a_restart_of_the_job_is_void(void **state) {
    (void)state;
    static const char workload[] = "{'status':{'replicatedJobsStatus':[{'name':'w','jobRestarts':[1,0]}]}}";
    static const char first[] = "{'status':{'completedIndexes':'0','succeeded':1},'jobRestarts':1}";
    gives("{}", KEPT, workload, JOB(""));
    gives("{'status':{'completedIndexes':'0','succeeded':1}}", first, workload, JOB(""));
    gives("{'status':{'completedIndexes':'0-2','succeeded':3}}", KEPT, workload,
          "{" LABELS("w", "1", "0") "," INDEXED "}");
}

static void the_status_tells_which_jobs_are_complete(void **state) {
    (void)state;
    gives("{'status':{'completedIndexes':'0-3','succeeded':4,'startTime':'" NOW "'}}", "{}",
          WORKLOAD("0", "2", "0", "0"), JOB(""));
    gives("{'status':{'completedIndexes':'0-3','succeeded':4}}", KEPT, WORKLOAD("0", "2", "0", "0"),
          JOB("'startTime':'2026-03-01T11:00:00Z'"));
    gives("{}", KEPT, WORKLOAD("0", "2", "0", "0"), JOB("'succeeded':4,'completedIndexes':'0-3'"));
    gives("{}", "{}", WORKLOAD("0", "1", "0", "0"), JOB("")); // one of two: which one?
    gives("{}", "{}", WORKLOAD("0", "0", "1", "0"), JOB(""));
    gives("{}", "{}", WORKLOAD("1", "2", "1", "1"), JOB("")); // the Jobs before the restart
    gives("{'status':{'succeeded':3,'startTime':'" NOW "'}}", "{}", WORKLOAD("0", "2", "0", "0"),
          "{" LABELS("w", "1", "0") ",'spec':{'completions':3}}");
    gives("{'status':{'succeeded':1}}", "{}", WORKLOAD("0", "2", "0", "0"),
          "{" LABELS("w", "1", "0") ",'spec':{'parallelism':3}}");
    gives("{}", "{}", WORKLOAD("0", "2", "0", "0"),
          "{" LABELS("w", "1", "0") ",'spec':{'completionMode':'Indexed','completions':4,'successPolicy':{}}}");
}

static bool is_owed(const char *kept, const char *workload) {
    AUTO_JSON former = parsed(kept);
    assert_true(json_set(former, "workload", parsed(workload)));
    AUTO_TEXT text = progress(former, NULL);
    return strcmp(text, "{}") != 0;
}

static void a_new_mirror_is_owed_what_there_is(void **state) {
    (void)state;
    assert_true(is_owed(KEPT, IDLE));
    assert_true(is_owed("{}", WORKLOAD("0", "2", "0", "0")));
    assert_true(is_owed("{}", WORKLOAD("0", "0", "1", "0")));
    assert_false(is_owed("{}", IDLE));
    assert_false(is_owed("{}", WORKLOAD("0", "1", "0", "0")));
    assert_false(is_owed(KEPT, WORKLOAD("1", "0", "0", "0")));
    assert_false(is_owed("{}", WORKLOAD("1", "2", "0", "1")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_jobs_have_done_is_kept),
        cmocka_unit_test(jobs_that_are_replaced_are_not_kept),
        cmocka_unit_test(restarts_of_earlier_attempts_count),
        cmocka_unit_test(complete_jobs_are_shown_before_they_have_their_condition_again),
        cmocka_unit_test(jobs_get_what_they_lack),
        cmocka_unit_test(what_was_kept_before_a_restart_is_void),
        cmocka_unit_test(what_was_kept_before_a_restart_of_the_job_is_void),
        cmocka_unit_test(the_status_tells_which_jobs_are_complete),
        cmocka_unit_test(a_new_mirror_is_owed_what_there_is),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
