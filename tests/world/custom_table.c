// SPDX-License-Identifier: Apache-2.0
// Validation rules of the kinds' CRDs and webhooks.
#include "tests/world/custom.h"

#include <string.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define POD_TEMPLATE "/spec/replicatedJobs/*/template/spec/template"
#define KUBEFLOW(plural_, kind_)                                                                                       \
    {                                                                                                                  \
        .kind = {.group = "kubeflow.org", .versions = {"v1"}, .plural = (plural_), .kind = (kind_)},                   \
        .managed_by = "/spec/runPolicy/managedBy", .builtin = "kubeflow.org/training-operator", .closed = true,        \
        .managed_by_change = CUSTOM_IMMUTABLE, .suspend = "/spec/runPolicy/suspend",                                   \
        .set_once = LIST("/spec/runPolicy/schedulingPolicy/queue"),                                                    \
        .ttl_succeeded = "/spec/runPolicy/ttlSecondsAfterFinished",                                                    \
        .ttl_failed = "/spec/runPolicy/ttlSecondsAfterFinished",                                                       \
    }
#define RAY(plural_, kind_)                                                                                            \
    {                                                                                                                  \
        .kind = {.group = "ray.io", .versions = {"v1", "v1alpha1"}, .plural = (plural_), .kind = (kind_)},             \
        .managed_by = "/spec/managedBy", .builtin = "ray.io/kuberay-operator", .closed = true,                         \
        .managed_by_change = CUSTOM_SET_ONCE, .suspend = "/spec/suspend",                                              \
    }
// A run that has started accepts a new `status` (and its message) only, one that is pending anything.
#define TEKTON(plural_, kind_, pending)                                                                                \
    {                                                                                                                  \
        .kind = {.group = "tekton.dev", .versions = {"v1", "v1beta1"}, .plural = (plural_), .kind = (kind_)},          \
        .managed_by = "/spec/managedBy", .builtin = "tekton.dev/pipeline", .managed_by_change = CUSTOM_IMMUTABLE,      \
        .suspend = "/spec/status", .suspend_value = (pending), .frozen = "/spec",                                      \
        .loose = LIST("/status", "/statusMessage"), .loose_suspended = LIST(""), .done_is_done = true,                 \
    }

static const struct custom table[] = {
    {
        .kind = {.group = "jobset.x-k8s.io", .versions = {"v1alpha2"}, .plural = "jobsets", .kind = "JobSet"},
        .managed_by = "/spec/managedBy",
        .builtin = "jobset.sigs.k8s.io/jobset-controller",
        .domain_prefixed = true,
        .managed_by_change = CUSTOM_IMMUTABLE,
        .suspend = "/spec/suspend",
        .set_once = LIST("/spec/failurePolicy", "/spec/network", "/spec/startupPolicy", "/spec/successPolicy",
                         "/spec/volumeClaimPolicies"),
        .frozen = "/spec/replicatedJobs",
        .loose = LIST("/*/template/spec/parallelism", "/*/template/spec/completions"),
        .loose_suspended =
            LIST("/*/template/spec/template/metadata/labels", "/*/template/spec/template/metadata/annotations",
                 "/*/template/spec/template/spec/nodeSelector", "/*/template/spec/template/spec/tolerations",
                 "/*/template/spec/template/spec/schedulingGates"),
        .ttl_succeeded = "/spec/ttlSecondsAfterFinished",
        .ttl_failed = "/spec/ttlSecondsAfterFinished",
    },
    {
        .kind = {.group = "trainer.kubeflow.org", .versions = {"v1alpha1"}, .plural = "trainjobs", .kind = "TrainJob"},
        .managed_by = "/spec/managedBy",
        .builtin = "trainer.kubeflow.org/trainjob-controller",
        .closed = true,
        .defaulted = true,
        .managed_by_change = CUSTOM_SET_ONCE,
        .suspend = "/spec/suspend",
        .set_once = LIST("/spec/activeDeadlineSeconds", "/spec/initializer", "/spec/runtimeRef", "/spec/trainer"),
        .frozen = "/spec/runtimePatches",
        .loose_suspended = LIST(""),
        .active = "/status/jobsStatus/*/active",
    },
    KUBEFLOW("pytorchjobs", "PyTorchJob"),
    KUBEFLOW("tfjobs", "TFJob"),
    KUBEFLOW("xgboostjobs", "XGBoostJob"),
    KUBEFLOW("jaxjobs", "JAXJob"),
    KUBEFLOW("paddlejobs", "PaddleJob"),
    {
        .kind = {.group = "kubeflow.org", .versions = {"v2beta1"}, .plural = "mpijobs", .kind = "MPIJob"},
        .managed_by = "/spec/runPolicy/managedBy",
        .builtin = "kubeflow.org/mpi-operator",
        .closed = true,
        .suspend = "/spec/runPolicy/suspend",
        .ttl_succeeded = "/spec/runPolicy/ttlSecondsAfterFinished",
        .ttl_failed = "/spec/runPolicy/ttlSecondsAfterFinished",
    },
    RAY("rayjobs", "RayJob"),
    RAY("rayclusters", "RayCluster"),
    RAY("rayservices", "RayService"),
    {
        .kind =
            {.group = "workload.codeflare.dev", .versions = {"v1beta2"}, .plural = "appwrappers", .kind = "AppWrapper"},
        .managed_by = "/spec/managedBy",
        .builtin = "workload.codeflare.dev/appwrapper-controller",
        .managed_by_change = CUSTOM_IMMUTABLE,
        .suspend = "/spec/suspend",
        .frozen = "/spec/components",
        .loose_suspended = LIST("/*/podSetInfos"),
    },
    TEKTON("pipelineruns", "PipelineRun", "PipelineRunPending"),
    TEKTON("taskruns", "TaskRun", "TaskRunPending"),
    {
        .kind = {.group = "argoproj.io",
                 .versions = {"v1alpha1"},
                 .plural = "workflows",
                 .kind = "Workflow",
                 .no_status = true},
        .managed_by = "/metadata/labels/workflows.argoproj.io~1controller-instanceid",
        .suspend = "/spec/suspend",
        .ttl_succeeded = "/spec/ttlStrategy/secondsAfterCompletion",
        .ttl_failed = "/spec/ttlStrategy/secondsAfterCompletion",
    },
    {
        .kind = {.group = "sparkoperator.k8s.io",
                 .versions = {"v1beta2"},
                 .plural = "sparkapplications",
                 .kind = "SparkApplication"},
        .managed_by = "/metadata/annotations/example.com~1managed-by",
        .suspend = "/spec/suspend",
        .ttl_succeeded = "/spec/timeToLiveSeconds",
        .ttl_failed = "/spec/timeToLiveSeconds",
    },
};

const struct custom *custom_by_plural(const char *plural) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].kind.plural, plural) == 0)
            return &table[i];
    return NULL;
}

const struct custom *custom_find(const char *group, const char *plural) {
    const struct custom *found = custom_by_plural(plural);
    return found && strcmp(found->kind.group, group) == 0 ? found : NULL;
}
