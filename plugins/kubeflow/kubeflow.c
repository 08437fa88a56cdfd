// SPDX-License-Identifier: Apache-2.0
// The kinds of the Kubeflow Training Operator: PyTorchJob, TFJob, XGBoostJob, JAXJob and PaddleJob. They share a
// RunPolicy and a JobStatus, and differ in what their replicas are called.
#include <wharf/adapter.h>

#include <stdlib.h>

static const wharf_host *host;

#define CONDITIONS "/status/conditions"
#define DEADLINE "/spec/runPolicy/activeDeadlineSeconds"
#define SUSPEND "/spec/runPolicy/suspend"
#define START "/status/startTime"
#define EARLIER "/metadata/annotations/kubeflow.wharf.dev~1earlier-seconds"

// What is left of activeDeadlineSeconds for a further attempt: the operator counts it from startTime.
// As long as it is not suspended, that is the one of its first attempt, and a mirror has the rest. What had passed when
// it was made is in its annotation.
static int64_t seconds_passed(const wharf_value *mirror) {
    const char *text = host->string(host->find(mirror, EARLIER));
    int64_t seconds = text ? strtol(text, NULL, 10) : 0;
    return seconds < 0 ? 0 : seconds < INT32_MAX ? seconds : INT32_MAX;
}

static void lower_deadline(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    int64_t whole = host->integer(host->find(workload, DEADLINE), 0), passed = seconds_passed(mirror);
    if (whole > 0 && passed > 0)
        host->set_integer(call, mirror, DEADLINE, whole > passed ? whole - passed : 1);
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    int64_t start_ns = 0;
    host->remove(call, mirror, EARLIER);
    if (host->is(workload, SUSPEND, "true") || host->integer(host->find(workload, DEADLINE), 0) <= 0 ||
        !host->parse_time(host->string(host->find(workload, START)), &start_ns) || call->now_ns < start_ns)
        return WHARF_OK;
    int64_t seconds = (call->now_ns - start_ns) / 1000000000;
    host->set_string(call, mirror, EARLIER, host->format(call, "%lld", (long long)seconds));
    lower_deadline(call, workload, mirror);
    return WHARF_OK;
}

// All of it again once it is resumed.
static void keep_deadline(const wharf_call *call, const wharf_value *workload, wharf_value *desired) {
    if (host->is(workload, SUSPEND, "true"))
        host->remove(call, desired, EARLIER);
    lower_deadline(call, workload, desired);
}

static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object) {
    if (host->find(mirror, EARLIER) && host->find(workload, START) && host->find(object, START))
        host->take(call, object, workload, START);
    return WHARF_OK;
}

// From metrics the operator creates a HorizontalPodAutoscaler that scales the mirror's workers: it keeps them.
static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    static const char workers[] = "/spec/pytorchReplicaSpecs/Worker/replicas";
    if (host->find(mirror, workers) && host->find(desired, "/spec/elasticPolicy/metrics"))
        host->take(call, desired, mirror, workers);
    keep_deadline(call, workload, desired);
    return WHARF_OK;
}

static const wharf_status_change suspended[] = {
    {WHARF_SET_CONDITION, WHARF_IF_ABSENT, "Created", "True", "{kind}Created", "{kind} {name} is created."},
    {WHARF_SET_CONDITION, WHARF_IF_TRUE, "Running", "False", "{kind}Suspended", "{kind} {name} is suspended."},
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Suspended", "True", "{kind}Suspended", "{kind} {name} is suspended."},
    {WHARF_REMOVE, .name = "/status/replicaStatuses/*/active"},
    {.name = NULL},
};

static const wharf_status_change resumed[] = {
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Suspended", "False", "{kind}Resumed", "{kind} {name} is resumed."},
    {.name = NULL},
};

// It fails before anything of it ran.
static const wharf_status_change gave_up[] = {
    {WHARF_SET_CONDITION, WHARF_IF_TRUE, "Running", "False", "NoClusterAccepts", "{message}"},
    {WHARF_SET_TEXT, WHARF_IF_ABSENT, "/status/completionTime", "{now}", NULL, NULL},
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Failed", "True", "NoClusterAccepts", "{message}"},
    {.name = NULL},
};

static const wharf_phase_rule phases[] = {
    {CONDITIONS, "Succeeded", .phase = WHARF_SUCCEEDED},
    {CONDITIONS, "Failed", .phase = WHARF_FAILED},
    {CONDITIONS, "Suspended", .phase = WHARF_SUSPENDED},
    {CONDITIONS, "Restarting", .phase = WHARF_ACTIVE},
    {CONDITIONS, "Running", .phase = WHARF_ACTIVE},
    {CONDITIONS, "Created", .phase = WHARF_PENDING},
    {.pointer = NULL},
};

#define RUN_POLICY "/spec/runPolicy"
#define STRINGS(...)                                                                                                   \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

// The API forbids no other changes, but they would not reach running pods. A resumed job gets new ones.
#define CARRIED(replicas)                                                                                              \
    (const wharf_carried[]) {                                                                                          \
        {.pointer = RUN_POLICY "/suspend"}, {.pointer = RUN_POLICY "/activeDeadlineSeconds"},                          \
            {.pointer = RUN_POLICY "/backoffLimit"}, {.pointer = RUN_POLICY "/cleanPodPolicy"},                        \
            {.pointer = "/spec/elasticPolicy"}, {.pointer = replicas "/replicas"},                                     \
            WHARF_CARRIED_POD_TEMPLATE(replicas "/template", NULL), {.pointer = NULL},                                 \
    }

#define KIND(kind_name, plural_name, replicas)                                                                         \
    &(const wharf_kind) {                                                                                              \
        WHARF_KIND_SIZES,                                                                                              \
            .group = "kubeflow.org", .versions = STRINGS("v1"), .kind = (kind_name), .plural = (plural_name),          \
            .managed_by = RUN_POLICY "/managedBy", .managed_by_builtin = "kubeflow.org/training-operator",             \
            .managed_by_allowed = STRINGS("kueue.x-k8s.io/multikueue"), .suspend = RUN_POLICY "/suspend",              \
            .carried = CARRIED(replicas), .removed = STRINGS(RUN_POLICY "/ttlSecondsAfterFinished"),                   \
            .pods = (const wharf_pods[]){{replicas "/template", STRINGS(replicas "/replicas")}, {.templates = NULL}},  \
            .status_removed =                                                                                          \
                STRINGS("/status/replicaStatuses/*/selector", "/status/replicaStatuses/*/labelSelector"),              \
            .condition_time = "lastUpdateTime", .suspended_status = suspended, .gave_up_status = gave_up,              \
            .resumed_status = resumed, .phases = phases, .finished_at = "/status/completionTime", .mirror = mirror,    \
            .update = update, .status = status,                                                                        \
    }

WHARF_MODULE(.name = "kubeflow", .version = "0.1.0", .host = &host,
             .kinds = WHARF_KINDS(KIND("PyTorchJob", "pytorchjobs", "/spec/pytorchReplicaSpecs/*"),
                                  KIND("TFJob", "tfjobs", "/spec/tfReplicaSpecs/*"),
                                  KIND("XGBoostJob", "xgboostjobs", "/spec/xgbReplicaSpecs/*"),
                                  KIND("JAXJob", "jaxjobs", "/spec/jaxReplicaSpecs/*"),
                                  KIND("PaddleJob", "paddlejobs", "/spec/paddleReplicaSpecs/*")));
