// SPDX-License-Identifier: Apache-2.0
// An adapter that is controlled by its objects: /spec/refuse, /spec/wait, /spec/remark and /spec/added for the mirror,
// /status/refuse and /status/note for the status. Things have a closed set of managers.
#include <wharf/adapter.h>

static const wharf_host *host;

static wharf_result refuse(const wharf_call *call, const wharf_value *why) {
    call->answer->reason = "Unwilling";
    call->answer->message = host->string(why);
    return WHARF_REFUSED;
}

static wharf_result accept(const wharf_call *call, const wharf_value *workload) {
    const wharf_value *why = host->find(workload, "/spec/refuse");
    return why ? refuse(call, why) : WHARF_OK;
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *out) {
    if (host->find(workload, "/spec/wait"))
        return WHARF_RETRY;
    call->answer->message = host->string(host->find(workload, "/spec/remark"));
    const wharf_value *added = host->find(workload, "/spec/added");
    if (added)
        host->set(call, out, "/spec/addedByAdapter", added);
    return WHARF_OK;
}

static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *from,
                           wharf_value *out) {
    (void)workload;
    const wharf_value *why = host->find(from, "/status/refuse");
    if (why)
        return refuse(call, why);
    if (from)
        host->set_string(call, out, "/status/cluster", call->cluster);
    host->remove(call, out, "/status/note");
    return WHARF_OK;
}

static const char *const versions[] = {"v1", "v1beta1", NULL};
static const wharf_carried carried[] = {{.pointer = "/spec/suspend"}, {.pointer = NULL}};
static const char *const removed[] = {"/spec/ttl", "/spec/parts/*/owner", "/metadata/labels/local", NULL};
static const char *const status_removed[] = {"/status/podName", NULL};
static const char *const allowed[] = {"kueue.x-k8s.io/multikueue", NULL};
static const wharf_phase_rule phases[] = {
    {"/status/conditions", "Done", .phase = WHARF_SUCCEEDED},
    {"/status/state", "running", .phase = WHARF_ACTIVE},
    {.pointer = NULL},
};
static const wharf_pods pods[] = {
    {.templates = "/spec/parts/*/template", .counts = (const char *const[]){"/spec/parts/*/replicas", NULL}},
    {.templates = NULL},
};

static const wharf_kind thing = {
    WHARF_KIND_SIZES,
    .group = "example.com",
    .versions = versions,
    .kind = "Thing",
    .plural = "things",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "example.com/thing-controller",
    .managed_by_allowed = allowed,
    .suspend = "/spec/suspend",
    .carried = carried,
    .removed = removed,
    .pods = pods,
    .status_removed = status_removed,
    .observed_generation = "/status/observedGeneration",
    .phases = phases,
    .accept = accept,
    .mirror = mirror,
    .status = status,
};

WHARF_MODULE(.name = "thing", .version = "1.2.3", .kinds = WHARF_KINDS(&thing), .host = &host);
