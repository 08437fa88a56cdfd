// SPDX-License-Identifier: Apache-2.0
// The RunPolicy and the JobStatus that MPIJob and the kinds of the Training Operator share. Included once by each of
// the two adapters, after ADAPTER, the prefix of the adapter's annotation.
#pragma once

#include <wharf/adapter.h>

#include <stdlib.h>

static const wharf_host *host;

#define RUN_POLICY "/spec/runPolicy"
#define CONDITIONS "/status/conditions"
#define DEADLINE RUN_POLICY "/activeDeadlineSeconds"
#define SUSPEND RUN_POLICY "/suspend"
#define START "/status/startTime"
#define COMPLETION "/status/completionTime"
#define EARLIER "/metadata/annotations/" ADAPTER ".wharf.dev~1earlier-seconds"

// activeDeadlineSeconds across attempts: the operator (for MPIJob v2beta1 the launcher's Job) counts from the start of
// the mirror. Until the user suspends the workload, the time of earlier attempts counts as well: a further mirror gets
// the remaining seconds, and an annotation of that mirror records the seconds until its creation.
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

// For `update`. A resumed workload has the whole deadline again.
static wharf_result carry_deadline(const wharf_call *call, const wharf_value *workload, wharf_value *desired) {
    if (host->is(workload, SUSPEND, "true"))
        host->remove(call, desired, EARLIER);
    lower_deadline(call, workload, desired);
    return WHARF_OK;
}

// The workload keeps the start of its first attempt.
static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object) {
    if (host->find(mirror, EARLIER) && host->find(workload, START) && host->find(object, START))
        host->take(call, object, workload, START);
    return WHARF_OK;
}

// The workload failed before any of its pods ran.
static const wharf_status_change gave_up[] = {
    WHARF_CHANGE_CONDITION(WHARF_IF_TRUE, "Running", "False", "NoClusterAccepts", "{message}"),
    WHARF_CHANGE_TEXT(WHARF_IF_ABSENT, COMPLETION, "{now}"),
    WHARF_CHANGE_CONDITION(WHARF_ALWAYS, "Failed", "True", "NoClusterAccepts", "{message}"),
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

// Of the PodGroup that a gang scheduler needs.
static const wharf_reference references[] = {
    {.name = RUN_POLICY "/schedulingPolicy/priorityClass",
     .group = "scheduling.k8s.io",
     .version = "v1",
     .resource = "priorityclasses",
     .kind = "PriorityClass",
     .flags = WHARF_REFERENCE_CLUSTER_SCOPED},
    {.name = NULL},
};

#define STRINGS(...)                                                                                                   \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

// The fields that a user may change, of a kind with its replicas at this pattern. The API permits changes of other
// fields too, but such a change would not reach running pods; a resumed workload gets new pods.
#define CARRIED(replicas)                                                                                              \
    {.pointer = SUSPEND}, {.pointer = DEADLINE}, {.pointer = RUN_POLICY "/backoffLimit"},                              \
        {.pointer = RUN_POLICY "/cleanPodPolicy"}, {.pointer = replicas "/replicas"},                                  \
        WHARF_CARRIED_POD_TEMPLATE(replicas "/template", NULL)

// The fields of a wharf_kind common to all kinds of both adapters.
#define RUN_POLICY_KIND(replicas)                                                                                      \
    .group = "kubeflow.org", .managed_by = RUN_POLICY "/managedBy",                                                    \
    .managed_by_allowed = STRINGS("kueue.x-k8s.io/multikueue"), .suspend = SUSPEND,                                    \
    .removed = STRINGS(RUN_POLICY "/ttlSecondsAfterFinished"),                                                         \
    .pods = (const wharf_pods[]){{.templates = replicas "/template", .counts = STRINGS(replicas "/replicas")},         \
                                 {.templates = NULL}},                                                                 \
    .status_removed = STRINGS("/status/replicaStatuses/*/selector", "/status/replicaStatuses/*/labelSelector"),        \
    .condition_time = "lastUpdateTime", .gave_up_status = gave_up, .phases = phases, .finished_at = COMPLETION,        \
    .mirror = mirror, .update = update, .status = status, WHARF_REFERENCES(references)
