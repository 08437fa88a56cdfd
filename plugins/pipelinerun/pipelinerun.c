// SPDX-License-Identifier: Apache-2.0
// tekton.dev PipelineRun and TaskRun. Tekton's webhooks define the fields that may change (pipelinerun_validation.go,
// taskrun_validation.go): spec.status until the end of the run, and a TaskRun's statusMessage.
#include <wharf/adapter.h>

static const wharf_host *host;

#define SPEC_STATUS "/spec/status"
#define SPEC_MESSAGE "/spec/statusMessage"
#define START_TIME "/status/startTime"
#define CONDITIONS "/status/conditions"

static int is_done(const wharf_value *run) {
    return host->condition(run, "Succeeded", "True") || host->condition(run, "Succeeded", "False");
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    (void)workload;
    if (is_done(mirror)) {
        host->take(call, desired, mirror, SPEC_STATUS);
        host->take(call, desired, mirror, SPEC_MESSAGE);
    } else if (host->is(desired, SPEC_STATUS, call->kind->suspend_value) && host->find(mirror, START_TIME)) {
        call->answer->reason = "AlreadyStarted";
        call->answer->message =
            host->format(call, "spec.status: a %s that has started cannot be made pending any more", call->kind->kind);
        return WHARF_REFUSED;
    }
    return WHARF_OK;
}

// The webhook rejects a status with a start time while the run is pending ("cannot be Pending after it is started"),
// also after the end of the run.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object) {
    (void)mirror;
    if (host->is(workload, SPEC_STATUS, call->kind->suspend_value) &&
        !(is_done(workload) && host->find(workload, START_TIME)))
        host->remove(call, object, START_TIME);
    return WHARF_OK;
}

// Tekton's pruner deletes a run after this time, or beyond this number; Chains and Results record their work on the run
// of one cluster.
#define ANNOTATION(name) "/metadata/annotations/" name
static const char *const removed[] = {
    ANNOTATION("pruner.tekton.dev~1ttlSecondsAfterFinished"),
    ANNOTATION("pruner.tekton.dev~1successfulHistoryLimit"),
    ANNOTATION("pruner.tekton.dev~1failedHistoryLimit"),
    ANNOTATION("pruner.tekton.dev~1historyLimitCheckProcessed"),
    ANNOTATION("chains.tekton.dev~1signed"),
    ANNOTATION("results.tekton.dev~1record"),
    ANNOTATION("results.tekton.dev~1result"),
    ANNOTATION("results.tekton.dev~1log"),
    NULL,
};

// A pending run has the condition with the value of spec.status as the reason.
#define PENDING(value)                                                                                                 \
    WHARF_SET_CONDITION, WHARF_ALWAYS, "Succeeded", "Unknown", (value), "{kind} \"{name}\" is pending"
// The workload failed before any pod ran (MarkFailed, MarkResourceFailed). A finished run has both times
// (InitializeConditions).
#define GAVE_UP                                                                                                        \
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Succeeded", "False", "NoClusterAccepts", "{message}"),                       \
        WHARF_CHANGE_TEXT(WHARF_IF_ABSENT, START_TIME, "{now}"), {                                                     \
        WHARF_SET_TEXT, WHARF_IF_ABSENT, "/status/completionTime", "{now}", NULL, NULL                                 \
    }
#define POD_NAME                                                                                                       \
    { WHARF_SET_TEXT, WHARF_IF_ABSENT, "/status/podName", "", NULL, NULL } // empty until there is a pod
#define PHASES(pending)                                                                                                \
    (const wharf_phase_rule[]) {                                                                                       \
        {CONDITIONS, "Succeeded", "True", .phase = WHARF_SUCCEEDED},                                                   \
            {CONDITIONS, "Succeeded", "False", .phase = WHARF_FAILED},                                                 \
            {CONDITIONS, "Succeeded", "Unknown", (pending), WHARF_SUSPENDED, .flags = WHARF_RULE_WHILE_SUSPENDED},     \
            {CONDITIONS, "Succeeded", "Unknown", (pending), .phase = WHARF_PENDING},                                   \
            {CONDITIONS, "Succeeded", "Unknown", .phase = WHARF_ACTIVE}, {.pointer = NULL},                            \
    }

// What a run refers to, and what a Pipeline, a Task and a StepAction refer to in turn. A reference with a resolver has
// no name. Tekton reads the credentials for Git and registries from the `secrets` of a run's ServiceAccount, which are
// no references: the host copies no such list.
#define TEKTON .group = "tekton.dev", .version = "v1"
#define TASK TEKTON, .resource = "tasks", .kind = "Task"
#define PIPELINE TEKTON, .resource = "pipelines", .kind = "Pipeline"
#define STEP_ACTION .group = "tekton.dev", .version = "v1beta1", .resource = "stepactions", .kind = "StepAction"
#define ACCOUNT .group = "", .version = "v1", .resource = "serviceaccounts", .kind = "ServiceAccount"
#define STORAGE_CLASS                                                                                                  \
    .group = "storage.k8s.io", .version = "v1", .resource = "storageclasses", .kind = "StorageClass",                  \
    .flags = WHARF_REFERENCE_CLUSTER_SCOPED

#define CONTAINER(object, path)                                                                                        \
    { .of = (object), .name = (path), .flags = WHARF_REFERENCE_CONTAINERS }
#define TASK_SPEC(object, spec)                                                                                        \
    CONTAINER(object, spec "/steps/*"), CONTAINER(object, spec "/sidecars/*"),                                         \
        CONTAINER(object, spec "/stepTemplate"),                                                                       \
        {.of = (object), .name = spec "/volumes/*", .flags = WHARF_REFERENCE_VOLUMES}, {                               \
        .of = (object), .name = spec "/steps/*/ref/name", STEP_ACTION                                                  \
    }
// A custom task has another kind.
#define TASK_REF(object, path)                                                                                         \
    { .of = (object), .name = path "/name", .kind_at = path "/kind", TASK, .flags = WHARF_REFERENCE_KIND_DEFAULT }
#define PIPELINE_TASKS(object, tasks)                                                                                  \
    TASK_SPEC(object, tasks "/taskSpec"), TASK_REF(object, tasks "/taskRef"), {                                        \
        .of = (object), .name = tasks "/pipelineRef/name", PIPELINE                                                    \
    }
#define PIPELINE_SPEC(object, spec) PIPELINE_TASKS(object, spec "/tasks/*"), PIPELINE_TASKS(object, spec "/finally/*")
#define POD_TEMPLATE(path)                                                                                             \
    {.name = (path), .flags = WHARF_REFERENCE_POD_SPECS}, {                                                            \
        .name = (path), .flags = WHARF_REFERENCE_CONTAINERS                                                            \
    }
#define RUN_AND_TASK                                                                                                   \
    {.name = "/spec/workspaces/*", .flags = WHARF_REFERENCE_VOLUMES},                                                  \
        {.name = "/spec/workspaces/*/volumeClaimTemplate/spec/storageClassName", STORAGE_CLASS},                       \
        {.name = "/spec/serviceAccountName", ACCOUNT}, POD_TEMPLATE("/spec/podTemplate"),                              \
        TASK_SPEC("tasks.tekton.dev", "/spec"), CONTAINER("stepactions.tekton.dev", "/spec")

static const wharf_reference pipelinerun_references[] = {
    {.name = "/spec/pipelineRef/name", PIPELINE},
    PIPELINE_SPEC(NULL, "/spec/pipelineSpec"),
    PIPELINE_SPEC("pipelines.tekton.dev", "/spec"),
    {.name = "/spec/taskRunTemplate/serviceAccountName", ACCOUNT},
    POD_TEMPLATE("/spec/taskRunTemplate/podTemplate"),
    {.name = "/spec/taskRunSpecs/*/serviceAccountName", ACCOUNT},
    POD_TEMPLATE("/spec/taskRunSpecs/*/podTemplate"),
    {.name = "/spec/taskRunSpecs/*/taskServiceAccountName", ACCOUNT}, // v1beta1, also the next one
    POD_TEMPLATE("/spec/taskRunSpecs/*/taskPodTemplate"),
    RUN_AND_TASK, // of a PipelineRun, the account and the template are those of v1beta1
    {.name = NULL},
};

static const wharf_reference taskrun_references[] = {
    TASK_REF(NULL, "/spec/taskRef"),
    TASK_SPEC(NULL, "/spec/taskSpec"),
    RUN_AND_TASK,
    {.name = NULL},
};

#define RUN                                                                                                            \
    .group = "tekton.dev", .versions = (const char *const[]){"v1", "v1beta1", NULL}, .managed_by = "/spec/managedBy",  \
    .managed_by_builtin = "tekton.dev/pipeline", .suspend = SPEC_STATUS, .removed = removed,                           \
    .observed_generation = "/status/observedGeneration", .finished_at = "/status/completionTime", .update = update,    \
    .status = status

static const wharf_kind pipelinerun = {
    WHARF_KIND_SIZES,
    RUN,
    .kind = "PipelineRun",
    .plural = "pipelineruns",
    .suspend_value = "PipelineRunPending",
    .carried = (const wharf_carried[]){{.pointer = SPEC_STATUS}, {.pointer = NULL}},
    .suspended_status = (const wharf_status_change[]){{PENDING("PipelineRunPending")}, {.name = NULL}},
    .gave_up_status = (const wharf_status_change[]){GAVE_UP, {.name = NULL}},
    .phases = PHASES("PipelineRunPending"),
    WHARF_REFERENCES(pipelinerun_references),
};

static const wharf_kind taskrun = {
    WHARF_KIND_SIZES,
    RUN,
    .kind = "TaskRun",
    .plural = "taskruns",
    .suspend_value = "TaskRunPending", // rejected by older versions of Tekton
    .carried = (const wharf_carried[]){{.pointer = SPEC_STATUS}, {.pointer = SPEC_MESSAGE}, {.pointer = NULL}},
    .suspended_status = (const wharf_status_change[]){{PENDING("TaskRunPending")}, POD_NAME, {.name = NULL}},
    .gave_up_status = (const wharf_status_change[]){GAVE_UP, POD_NAME, {.name = NULL}},
    .phases = PHASES("TaskRunPending"),
    WHARF_REFERENCES(taskrun_references),
};

WHARF_MODULE(.name = "pipelinerun", .version = "0.1.0", .kinds = WHARF_KINDS(&pipelinerun, &taskrun), .host = &host);
