// SPDX-License-Identifier: Apache-2.0
// An adapter whose objects say what it shall do with them: /spec/refuse, /spec/wait, /spec/remark and /spec/added for
// the mirror, /status/refuse and /status/note for the status. Things have a closed set of managers.
#include <wharf/adapter.h>

static const wharf_host *host;

static wharf_result refuse(const wharf_call *call, const wharf_value *why) {
    call->answer->reason = "Unwilling";
    call->answer->message = host->string(why);
    return WHARF_REFUSED;
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *out) {
    const wharf_value *why = host->find(workload, "/spec/refuse");
    if (why)
        return refuse(call, why);
    if (host->find(workload, "/spec/wait"))
        return WHARF_RETRY;
    call->answer->message = host->string(host->find(workload, "/spec/remark"));
    const wharf_value *added = host->find(workload, "/spec/added");
    return !added || host->set(out, "/spec/addedByAdapter", added) ? WHARF_OK : WHARF_RETRY;
}

static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *from,
                           wharf_value *out) {
    (void)workload;
    const wharf_value *why = host->find(from, "/status/refuse");
    if (why)
        return refuse(call, why);
    if (from)
        host->set_string(out, "/cluster", call->cluster);
    host->remove(out, "/note");
    return WHARF_OK;
}

static const char *const versions[] = {"v1", "v1beta1", NULL};
static const char *const removed[] = {"/spec/ttl", "/spec/parts/*/owner", "/metadata/labels/local", NULL};
static const char *const status_removed[] = {"/status/podName", NULL};
static const char *const allowed[] = {"kueue.x-k8s.io/multikueue", NULL};
static const wharf_phase_rule phases[] = {
    {"/status/conditions", "Done", NULL, WHARF_SUCCEEDED},
    {"/status/state", "running", NULL, WHARF_ACTIVE},
    {NULL, NULL, NULL, WHARF_PENDING},
};
static const wharf_pods pods[] = {
    {"/spec/parts/*/template", {"/spec/parts/*/replicas", NULL, NULL}},
    {NULL, {NULL, NULL, NULL}},
};

static const wharf_kind thing = {
    .size = sizeof thing,
    .group = "example.com",
    .versions = versions,
    .kind = "Thing",
    .plural = "things",
    .flags = WHARF_KIND_MAY_REFUSE,
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "example.com/thing-controller",
    .managed_by_allowed = allowed,
    .suspend = "/spec/suspend",
    .removed = removed,
    .pods = pods,
    .status_removed = status_removed,
    .observed_generation = "/status/observedGeneration",
    .phases = phases,
    .mirror = mirror,
    .status = status,
};

static const wharf_kind *const kinds[] = {&thing, NULL};
static const wharf_module module = {
    .size = sizeof module, .abi_major = WHARF_ABI_MAJOR, .name = "thing", .version = "1.2.3", .kinds = kinds};

WHARF_EXPORT const wharf_module *wharf_adapters_v1(const wharf_host *given, const wharf_value *settings,
                                                   const char **problem) {
    (void)settings;
    (void)problem;
    host = given;
    return &module;
}
