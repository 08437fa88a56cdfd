// SPDX-License-Identifier: Apache-2.0
// What workloads of each kind ask for: as many pods as their controllers create at a time.
#include "core/adapter/pods.h"
#include "tests/unit/plugins/one_kind.h"

#define POD "'template':{'spec':{'containers':[]}}"
#define JOB(fields) "{'template':{'spec':{" POD fields "}}}"
#define GROUP(fields) "{'groupName':'g'," POD fields "}"
#define RAY(groups) "'headGroupSpec':{" POD "},'workerGroupSpecs':[" groups "]"

struct row {
    const char *spec, *status;
    const char *counts; // of each set
};

static void expect_counts(const wharf_kind *kind, const struct row *row) {
    AUTO_TEXT text = text_format("{'spec':{%s},'status':{%s}}", row->spec, row->status ? row->status : "");
    AUTO_JSON object = parsed(text);
    AUTO_JSON sets = NULL;
    AUTO_BUFFER(found, 1024);
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = kind, .version = kind->versions[0]});
    assert_int_equal(pods_of(&call, object, &sets), WHARF_OK);
    buffer_text(&found, "");
    for (const struct json *set = json_first(sets); set; set = json_next(set))
        buffer_printf(&found, "%s%lld", found.len ? " " : "", (long long)json_int64(json_get(set, "count"), -1));
    if (strcmp(found.data, row->counts) != 0)
        fail_msg("%s: found %s, expected %s for %s", kind->kind, found.data, row->counts, text);
    adapter_call_end(&call);
}

#define EXPECT(adapter, kind_name, ...)                                                                                \
    do {                                                                                                               \
        static const struct row rows[] = {__VA_ARGS__};                                                                \
        const wharf_kind *kind = find_kind(adapter, kind_name);                                                        \
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)                                                        \
            expect_counts(kind, &rows[i]);                                                                             \
    } while (0)

static void a_job_asks_for_no_more_pods_than_are_left_to_complete(void **state) {
    (void)state;
    EXPECT(
        "job", "Job", {POD ",'parallelism':5,'completions':2", NULL, "2"},
        {POD ",'parallelism':2,'completions':5", NULL, "2"}, {POD ",'parallelism':5", NULL, "5"}, // a work queue
        {POD ",'completions':5", NULL, "1"}, {POD ",'parallelism':0,'completions':5", NULL, "0"},
        {POD ",'parallelism':5,'completions':0", NULL, "0"},
        {POD ",'parallelism':5,'completions':6", "'succeeded':4", "2"},
        {POD ",'parallelism':5,'completions':6", "'succeeded':7", "0"},
        {POD ",'parallelism':5,'completions':6,'completionMode':'Indexed'", "'succeeded':4", "5"}, // of which indexes?
        {POD ",'parallelism':5,'completions':6,'completionMode':'Indexed'", "'completedIndexes':'0-2'", "3"},
        {POD ",'parallelism':5,'completions':6,'completionMode':'Indexed'",
         "'completedIndexes':'0-2','failedIndexes':'4,9'", "2"},
        {POD ",'parallelism':5,'completions':6,'completionMode':'Indexed'", // failed indexes run again elsewhere
         "'completedIndexes':'0-2','failedIndexes':'4'},'metadata':{'annotations':{'wharf.dev/retried':'w1'}", "3"},
        {POD ",'parallelism':5,'completions':'2'", NULL, "5"}, {"", NULL, ""});
}

static void a_jobset_asks_for_the_pods_of_each_replica_of_its_jobs(void **state) {
    (void)state;
    EXPECT(
        "jobset", "JobSet",
        {"'replicatedJobs':[" JOB(",'parallelism':4,'completions':4") "," JOB(",'parallelism':4,'completions':3") "]",
         NULL, "4 3"},
        {"'replicatedJobs':[{'replicas':3," POD "},{'replicas':3,'template':{'spec':{" POD
         ",'parallelism':4,'completions':2}}}]",
         NULL, "6"},
        {"'replicatedJobs':[" JOB("") "," JOB(",'parallelism':2") "," JOB(",'completions':0") "]", NULL, "1 2 0"});
}

static void ray_groups_ask_for_the_workers_that_the_operator_starts(void **state) {
    (void)state;
    EXPECT("rayjob", "RayCluster", {RAY(GROUP(",'replicas':3,'numOfHosts':2")), NULL, "1 6"},
           {RAY(GROUP(",'minReplicas':2,'maxReplicas':5")), NULL, "1 2"}, {RAY(GROUP("")), NULL, "1 0"},
           {RAY(GROUP(",'replicas':1,'minReplicas':2,'maxReplicas':5")), NULL, "1 2"},
           {RAY(GROUP(",'replicas':9,'minReplicas':2,'maxReplicas':5")), NULL, "1 5"},
           {RAY(GROUP(",'replicas':9,'suspend':true") "," GROUP(",'replicas':4")), NULL, "1 0 4"});
    EXPECT("rayjob", "RayJob",
           {"'rayClusterSpec':{" RAY(GROUP(",'replicas':3")) "},'submitterPodTemplate':{'spec':{}}", NULL, "1 3 1"},
           {"'submissionMode':'HTTPMode','rayClusterSpec':{" RAY(
                GROUP(",'replicas':3")) "},"
                                        "'submitterPodTemplate':{'spec':{}}",
            NULL, "1 3"},
           {"'rayClusterSpec':{" RAY(GROUP(",'suspend':true,'replicas':3")) "}", NULL, "1 0 1"});
    EXPECT("rayjob", "RayService", {"'rayClusterConfig':{" RAY(GROUP(",'replicas':3")) "}", NULL, "1 3"});
}

static void the_other_kinds_ask_for_their_replicas(void **state) {
    (void)state;
    EXPECT("kubeflow", "PyTorchJob",
           {"'pytorchReplicaSpecs':{'Master':{" POD "},'Worker':{'replicas':3," POD "}}", NULL, "1 3"});
    EXPECT("mpijob", "MPIJob",
           {"'mpiReplicaSpecs':{'Launcher':{" POD "},'Worker':{'replicas':3," POD "}}", NULL, "1 3"});
    EXPECT("trainjob", "TrainJob", {"'trainer':{'numNodes':4}", NULL, "4"}, {"", NULL, "1"});
    EXPECT("appwrapper", "AppWrapper",
           {"'components':[{'template':{'spec':{" POD "}},'podSets':[{'path':'template.spec.template','replicas':3}]}]",
            NULL, "3"},
           {"'components':[{'template':{'spec':{" POD "}}}]",
            "'componentStatus':[{'podSets':[{'path':'template.spec.template'}]}]", "1"});
    EXPECT("pipelinerun", "PipelineRun", {"'pipelineRef':{'name':'p'}", NULL, ""});
    EXPECT("pipelinerun", "TaskRun", {"'taskRef':{'name':'t'}", NULL, ""});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_asks_for_no_more_pods_than_are_left_to_complete),
        cmocka_unit_test(a_jobset_asks_for_the_pods_of_each_replica_of_its_jobs),
        cmocka_unit_test(ray_groups_ask_for_the_workers_that_the_operator_starts),
        cmocka_unit_test(the_other_kinds_ask_for_their_replicas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
