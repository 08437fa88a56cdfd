// SPDX-License-Identifier: Apache-2.0
// The objects that workloads of each shipped kind refer to, and what these refer to in turn.
#include "tests/unit/adapter/references_stage.h"
#include "tests/unit/plugins/one_kind.h"

#define META "'metadata':{'namespace':'team'}"
#define ENV(kind, name) "'env':[{'name':'X','valueFrom':{'" kind "KeyRef':{'name':'" name "','key':'k'}}}]"
#define PULLS(name) "'spec':{'imagePullSecrets':[{'name':'" name "'}]}"

static void a_job_and_a_jobset_refer_to_what_their_pods_need(void **state) {
    (void)state;
    assert_references(find_kind("job", "Job"), "{" META ",'spec':{'template':{" PULLS("a") "}}}",
                      "secrets team/a at /spec/template/spec/imagePullSecrets/0/name\n");
    assert_references(find_kind("jobset", "JobSet"),
                      "{" META ",'spec':{'replicatedJobs':[{'template':{'spec':{'template':{" PULLS(
                          "a") "}}}}],"
                               "'volumeClaimPolicies':[{'templates':[{'spec':{'storageClassName':'fast'}}]}]}}",
                      "secrets team/a at /spec/replicatedJobs/0/template/spec/template/spec/imagePullSecrets/0/name\n"
                      "storageclasses.storage.k8s.io fast of the cluster at "
                      "/spec/volumeClaimPolicies/0/templates/0/spec/storageClassName\n");
}

static void a_trainjob_refers_to_its_runtime_which_has_the_pods(void **state) {
    (void)state;
    const wharf_kind *kind = find_kind("trainjob", "TrainJob");
    assert_references(kind, "{" META ",'spec':{'runtimeRef':{'name':'torch'}}}",
                      "clustertrainingruntimes.trainer.kubeflow.org torch of the cluster at /spec/runtimeRef/name\n");
    assert_references(kind, "{" META ",'spec':{'runtimeRef':{'name':'torch','kind':'TrainingRuntime'}}}",
                      "trainingruntimes.trainer.kubeflow.org team/torch at /spec/runtimeRef/name\n");
    assert_references(
        kind,
        "{" META ",'spec':{'initializer':{'dataset':{'secretRef':{'name':'s'}," ENV(
            "configMap", "c") "},'model':{"
                              "'secretRef':{'name':'m'}}},'trainer':{" ENV(
                                  "secret",
                                  "t") "},'runtimePatches':[{'trainingRuntimeSpec':{"
                                       "'template':{'spec':{'replicatedJobs':[{'template':{'spec':{'template':{" PULLS(
                                           "p") "}}}}]}}}}]}}",
        "configmaps team/c at /spec/initializer/dataset/env/0/valueFrom/configMapKeyRef/name\n"
        "secrets team/m at /spec/initializer/model/secretRef/name\n"
        "secrets team/p at /spec/runtimePatches/0/trainingRuntimeSpec/template/spec/replicatedJobs/0/template/spec/"
        "template/spec/imagePullSecrets/0/name\n"
        "secrets team/s at /spec/initializer/dataset/secretRef/name\n"
        "secrets team/t at /spec/trainer/env/0/valueFrom/secretKeyRef/name\n");
    static const char *const runtimes[] = {"clustertrainingruntimes.trainer.kubeflow.org",
                                           "trainingruntimes.trainer.kubeflow.org"};
    for (size_t i = 0; i < 2; i++)
        assert_references_of_object(
            kind, runtimes[i],
            "{'metadata':{},'spec':{'template':{'spec':{'replicatedJobs':[{'template':{'spec':{'template':{" PULLS(
                "a") "}}}}]}}}}",
            "secrets /a at /spec/template/spec/replicatedJobs/0/template/spec/template/spec/imagePullSecrets/0/name\n");
}

static void a_pipelinerun_refers_to_pipelines_and_tasks(void **state) {
    (void)state;
    const wharf_kind *kind = find_kind("pipelinerun", "PipelineRun");
    assert_references(
        kind,
        "{" META ",'spec':{'pipelineRef':{'name':'p'},'taskRunTemplate':{'serviceAccountName':'a','podTemplate':{"
        "'imagePullSecrets':[{'name':'s'}]," ENV("configMap",
                                                 "c") "}},'taskRunSpecs':[{'serviceAccountName':'b',"
                                                      "'podTemplate':{'priorityClassName':'high'}}],'workspaces':[{'"
                                                      "name':'w','persistentVolumeClaim':{'claimName':'d'}},{"
                                                      "'name':'x','configMap':{'name':'e'}},{'name':'y','"
                                                      "volumeClaimTemplate':{'spec':{'storageClassName':'fast'}}},{"
                                                      "'name':'z','secret':{'secretName':'t','optional':true}}]}}",
        "configmaps team/c at /spec/taskRunTemplate/podTemplate/env/0/valueFrom/configMapKeyRef/name\n"
        "configmaps team/e at /spec/workspaces/1/configMap/name\n"
        "persistentvolumeclaims team/d at /spec/workspaces/0/persistentVolumeClaim/claimName\n"
        "pipelines.tekton.dev team/p at /spec/pipelineRef/name\n"
        "priorityclasses.scheduling.k8s.io high of the cluster at /spec/taskRunSpecs/0/podTemplate/priorityClassName\n"
        "secrets team/s at /spec/taskRunTemplate/podTemplate/imagePullSecrets/0/name\n"
        "secrets team/t optional at /spec/workspaces/3/secret/secretName\n"
        "serviceaccounts team/a at /spec/taskRunTemplate/serviceAccountName\n"
        "serviceaccounts team/b at /spec/taskRunSpecs/0/serviceAccountName\n"
        "storageclasses.storage.k8s.io fast of the cluster at "
        "/spec/workspaces/2/volumeClaimTemplate/spec/storageClassName\n");
    // Of a version before v1.
    assert_references(kind,
                      "{" META ",'spec':{'serviceAccountName':'a','podTemplate':{'imagePullSecrets':[{'name':'s'}]},"
                      "'taskRunSpecs':[{'taskServiceAccountName':'b'}]}}",
                      "secrets team/s at /spec/podTemplate/imagePullSecrets/0/name\n"
                      "serviceaccounts team/a at /spec/serviceAccountName\n"
                      "serviceaccounts team/b at /spec/taskRunSpecs/0/taskServiceAccountName\n");
    // Not those of a resolver, a custom task, or a variable.
    assert_references(
        kind,
        "{" META ",'spec':{'pipelineRef':{'resolver':'git','params':[{'name':'url'}]},'pipelineSpec':{'tasks':["
        "{'name':'a','taskRef':{'resolver':'hub'}},{'name':'b','taskRef':{'apiVersion':'example.com/v1',"
        "'kind':'Wait','name':'w'}},{'name':'c','taskRef':{'name':'$(params.task)'}},{'name':'d','taskRef':{"
        "'kind':'Task','name':'build'}}],'finally':[{'name':'e','taskSpec':{'steps':[{" ENV(
            "secret",
            "s") "},{'ref':{'name':'clone'}}],'sidecars':[{" ENV("configMap",
                                                                 "c") "}],'stepTemplate':{" ENV("secret",
                                                                                                "t") "},'volumes':[{'"
                                                                                                     "configMap':{'"
                                                                                                     "name':'v'}}]}}]}}"
                                                                                                     "}",
        "configmaps team/c at /spec/pipelineSpec/finally/0/taskSpec/sidecars/0/env/0/valueFrom/"
        "configMapKeyRef/name\n"
        "configmaps team/v at /spec/pipelineSpec/finally/0/taskSpec/volumes/0/configMap/name\n"
        "secrets team/s at /spec/pipelineSpec/finally/0/taskSpec/steps/0/env/0/valueFrom/secretKeyRef/name\n"
        "secrets team/t at /spec/pipelineSpec/finally/0/taskSpec/stepTemplate/env/0/valueFrom/secretKeyRef/"
        "name\n"
        "stepactions.tekton.dev team/clone at /spec/pipelineSpec/finally/0/taskSpec/steps/1/ref/name\n"
        "tasks.tekton.dev team/build at /spec/pipelineSpec/tasks/3/taskRef/name\n");
    assert_references_of_object(kind, "pipelines.tekton.dev",
                                "{" META
                                ",'spec':{'tasks':[{'taskRef':{'name':'a'}},{'pipelineRef':{'name':'p'}}],'finally':[{"
                                "'taskRef':{'name':'b','kind':'Task'}}]}}",
                                "pipelines.tekton.dev team/p at /spec/tasks/1/pipelineRef/name\n"
                                "tasks.tekton.dev team/a at /spec/tasks/0/taskRef/name\n"
                                "tasks.tekton.dev team/b at /spec/finally/0/taskRef/name\n");
}

static void a_taskrun_refers_to_its_task(void **state) {
    (void)state;
    const wharf_kind *kind = find_kind("pipelinerun", "TaskRun");
    assert_references(kind,
                      "{" META ",'spec':{'taskRef':{'name':'a'},'serviceAccountName':'r','taskSpec':{'steps':[{" ENV(
                          "secret", "s") "}]},'podTemplate':{'runtimeClassName':'gvisor'}}}",
                      "runtimeclasses.node.k8s.io gvisor of the cluster at /spec/podTemplate/runtimeClassName\n"
                      "secrets team/s at /spec/taskSpec/steps/0/env/0/valueFrom/secretKeyRef/name\n"
                      "serviceaccounts team/r at /spec/serviceAccountName\n"
                      "tasks.tekton.dev team/a at /spec/taskRef/name\n");
    assert_references_of_object(kind, "tasks.tekton.dev",
                                "{" META ",'spec':{'steps':[{'ref':{'name':'clone'}},{" ENV(
                                    "configMap", "c") "}],'volumes':[{'secret':{'secretName':'s'}}]}}",
                                "configmaps team/c at /spec/steps/1/env/0/valueFrom/configMapKeyRef/name\n"
                                "secrets team/s at /spec/volumes/0/secret/secretName\n"
                                "stepactions.tekton.dev team/clone at /spec/steps/0/ref/name\n");
    assert_references_of_object(kind, "stepactions.tekton.dev", "{" META ",'spec':{" ENV("secret", "s") "}}",
                                "secrets team/s at /spec/env/0/valueFrom/secretKeyRef/name\n");
}

static void ray_kinds_refer_to_what_their_cluster_needs(void **state) {
    (void)state;
    static const struct {
        const char *kind, *spec, *at;
    } cases[] = {{"RayCluster", "", "/spec"},
                 {"RayJob", "'rayClusterSpec':{", "/spec/rayClusterSpec"},
                 {"RayService", "'rayClusterConfig':{", "/spec/rayClusterConfig"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i].at;
        AUTO_TEXT object = text_format(
            "{" META ",'spec':{%s'headGroupSpec':{'template':{" PULLS("h") "}},'workerGroupSpecs':[{'template':{" PULLS(
                "w") "}}],'authOptions':{'mode':'token','secretName':'a'},'gcsFaultToleranceOptions':{'redisAddress':'"
                     "r:6379',"
                     "'redisPassword':{'valueFrom':{'secretKeyRef':{'name':'p','key':'k'}}},'storage':{'claimName':'d',"
                     "'storageClassName':'fast'}},'autoscalerOptions':{" ENV("configMap", "c") "}%s}}",
            cases[i].spec, cases[i].spec[0] ? "}" : "");
        AUTO_TEXT expected =
            text_format("configmaps team/c at %s/autoscalerOptions/env/0/valueFrom/configMapKeyRef/name\n"
                        "persistentvolumeclaims team/d at %s/gcsFaultToleranceOptions/storage/claimName\n"
                        "secrets team/a at %s/authOptions/secretName\n"
                        "secrets team/h at %s/headGroupSpec/template/spec/imagePullSecrets/0/name\n"
                        "secrets team/p at %s/gcsFaultToleranceOptions/redisPassword/valueFrom/secretKeyRef/name\n"
                        "secrets team/w at %s/workerGroupSpecs/0/template/spec/imagePullSecrets/0/name\n"
                        "storageclasses.storage.k8s.io fast of the cluster at "
                        "%s/gcsFaultToleranceOptions/storage/storageClassName\n",
                        at, at, at, at, at, at, at);
        assert_references(find_kind("rayjob", cases[i].kind), object, expected);
    }
    assert_references(find_kind("rayjob", "RayJob"), "{" META ",'spec':{'submitterPodTemplate':{" PULLS("s") "}}}",
                      "secrets team/s at /spec/submitterPodTemplate/spec/imagePullSecrets/0/name\n");
}

static void kubeflow_kinds_refer_to_the_priority_class_of_their_gang(void **state) {
    (void)state;
    static const char *const kinds[][3] = {
        {"kubeflow", "PyTorchJob", "pytorchReplicaSpecs"}, {"kubeflow", "TFJob", "tfReplicaSpecs"},
        {"kubeflow", "XGBoostJob", "xgbReplicaSpecs"},     {"kubeflow", "JAXJob", "jaxReplicaSpecs"},
        {"kubeflow", "PaddleJob", "paddleReplicaSpecs"},   {"mpijob", "MPIJob", "mpiReplicaSpecs"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        AUTO_TEXT object =
            text_format("{" META ",'spec':{'runPolicy':{'schedulingPolicy':{'priorityClass':'high'}},'%s':{"
                        "'Worker':{'template':{" PULLS("a") "}}}}}",
                        kinds[i][2]);
        AUTO_TEXT expected = text_format("priorityclasses.scheduling.k8s.io high of the cluster at "
                                         "/spec/runPolicy/schedulingPolicy/priorityClass\n"
                                         "secrets team/a at /spec/%s/Worker/template/spec/imagePullSecrets/0/name\n",
                                         kinds[i][2]);
        assert_references(find_kind(kinds[i][0], kinds[i][1]), object, expected);
    }
}

static void an_appwrapper_refers_to_what_wrapped_pods_need_and_makes_what_it_wraps(void **state) {
    (void)state;
    const wharf_kind *kind = find_kind("appwrapper", "AppWrapper");
#define COMPONENT(at) "/spec/components/" at "/template/spec/"
    assert_references(
        kind,
        "{" META ",'spec':{'components':[{'template':{'kind':'Pod'," PULLS(
            "a") "}},{'template':{'kind':'Job','spec':{"
                 "'template':{" PULLS(
                     "b") "}}}},{'template':{'kind':'PyTorchJob','spec':{'pytorchReplicaSpecs':{'Master':{"
                          "'template':{" PULLS(
                              "c") "}}}}}},{'template':{'kind':'RayJob','spec':{'rayClusterSpec':{'headGroupSpec':{"
                                   "'template':{" PULLS("d") "}},'workerGroupSpecs':[{'template':{" PULLS(
                                       "e") "}}]}}}},{'template':{'kind':'RayCluster',"
                                            "'spec':{'headGroupSpec':{'template':{" PULLS(
                                                "f") "}}}}},{'template':{'kind':'JobSet','spec':{'replicatedJobs':[{"
                                                     "'template':{'spec':{'template':{" PULLS(
                                                         "g") "}}}}]}}},{'template':{'apiVersion':'v1','kind':'Secret',"
                                                              "'metadata':{"
                                                              "'name':'b'}}},{'template':{'apiVersion':'v1','kind':'"
                                                              "ConfigMap','metadata':{'name':'a'}}}]}}",
        "secrets team/a at " COMPONENT(
            "0") "imagePullSecrets/0/name\n"
                 "secrets team/b made at " COMPONENT(
                     "1") "template/spec/imagePullSecrets/0/name\n"
                          "secrets team/c at " COMPONENT(
                              "2") "pytorchReplicaSpecs/Master/template/spec/imagePullSecrets/0/name\n"
                                   "secrets team/d at " COMPONENT(
                                       "3") "rayClusterSpec/headGroupSpec/template/spec/imagePullSecrets/0/name\n"
                                            "secrets team/e at " COMPONENT(
                                                "3") "rayClusterSpec/workerGroupSpecs/0/template/spec/imagePullSecrets/"
                                                     "0/name\n"
                                                     "secrets team/f at " COMPONENT(
                                                         "4") "headGroupSpec/template/spec/imagePullSecrets/0/name\n"
                                                              "secrets team/g at " COMPONENT(
                                                                  "5") "replicatedJobs/0/template/spec/template/spec/"
                                                                       "imagePullSecrets/0/name\n");
    // A kind that only its declared pods tell.
    assert_references(kind,
                      "{" META
                      ",'spec':{'components':[{'podSets':[{'path':'template.spec.workers'}],'template':{'spec':{"
                      "'workers':{" PULLS("a") "}}}}]}}",
                      "secrets team/a at pods/0/template/spec/imagePullSecrets/0/name\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_and_a_jobset_refer_to_what_their_pods_need),
        cmocka_unit_test(a_trainjob_refers_to_its_runtime_which_has_the_pods),
        cmocka_unit_test(a_pipelinerun_refers_to_pipelines_and_tasks),
        cmocka_unit_test(a_taskrun_refers_to_its_task),
        cmocka_unit_test(ray_kinds_refer_to_what_their_cluster_needs),
        cmocka_unit_test(kubeflow_kinds_refer_to_the_priority_class_of_their_gang),
        cmocka_unit_test(an_appwrapper_refers_to_what_wrapped_pods_need_and_makes_what_it_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
