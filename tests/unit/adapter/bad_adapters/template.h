// SPDX-License-Identifier: Apache-2.0
// A good adapter for the loader's tests, in which each file of this folder changes one thing by a macro that it defines
// before it includes this.
#include <wharf/adapter.h>

#ifndef ENTRY
#define ENTRY wharf_module_v1
#endif
#ifndef MODULE_NAME
#define MODULE_NAME "thing"
#endif
#ifndef MODULE_SIZE
#define MODULE_SIZE sizeof(wharf_module)
#endif
#ifndef MAJOR
#define MAJOR WHARF_ABI_MAJOR
#endif
#ifndef MINOR
#define MINOR WHARF_ABI_MINOR
#endif
#ifndef KIND_SIZE
#define KIND_SIZE sizeof(wharf_kind)
#endif
#ifndef KIND_NAME
#define KIND_NAME "Thing"
#endif
#ifndef KIND_PLURAL
#define KIND_PLURAL "things"
#endif
#ifndef KIND_FLAGS
#define KIND_FLAGS 0
#endif
#ifndef KIND_PHASE
#define KIND_PHASE phase
#endif
#ifndef KIND_ALLOWED
#define KIND_ALLOWED NULL
#endif
#ifndef KINDS
#define KINDS &kind, NULL
#endif
#ifndef KIND_MANAGED_BY
#define KIND_MANAGED_BY "/spec/managedBy"
#endif
#ifndef KIND_CARRIED
#define KIND_CARRIED NULL
#endif
#ifndef CARRIED_SIZE
#define CARRIED_SIZE sizeof(wharf_carried)
#endif
#ifndef SETTINGS
#define SETTINGS NULL
#endif
#ifdef HOST
static const wharf_host *host;
#undef HOST
#define HOST &host
#else
#define HOST NULL
#endif
#ifdef START_CODE
static const char *start(const wharf_host *services, const wharf_value *settings, const wharf_kind *const **list) {
    (void)services;
    (void)settings;
    (void)list;
    START_CODE
    return NULL;
}
#define START start
#else
#define START NULL
#endif

#ifdef SCORES
wharf_result score(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                   const wharf_value *workers, wharf_value *scores);

wharf_result score(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                   const wharf_value *workers, wharf_value *scores) {
    (void)call;
    (void)workload;
    (void)pod_sets;
    (void)workers;
    (void)scores;
    return WHARF_OK;
}
#define SCORE score
#else
#define SCORE NULL
#endif

wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out);

wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    (void)object;
    out->phase = WHARF_PENDING;
    return WHARF_OK;
}

static const char *const versions[] = {"v1", "v1beta1", NULL};

static const wharf_kind kind = {
    .size = KIND_SIZE,
    .carried_size = CARRIED_SIZE,
    .pods_size = sizeof(wharf_pods),
    .phase_rule_size = sizeof(wharf_phase_rule),
    .status_change_size = sizeof(wharf_status_change),
    .group = "example.com",
    .versions = versions,
    .kind = KIND_NAME,
    .plural = KIND_PLURAL,
    .flags = KIND_FLAGS,
    .managed_by = KIND_MANAGED_BY,
    .carried = KIND_CARRIED,
    .managed_by_builtin = "example.com/builtin",
    .managed_by_allowed = KIND_ALLOWED,
    .phase = KIND_PHASE,
};

extern const wharf_module ENTRY;

WHARF_EXPORT const wharf_module ENTRY = {
    .size = MODULE_SIZE,
    .abi_major = MAJOR,
    .abi_minor = MINOR,
    .name = MODULE_NAME,
    .version = "1.2.3",
    .kinds = (const wharf_kind *const[]){KINDS},
    .host = HOST,
    .settings = SETTINGS,
    .start = START,
    .score = SCORE,
};
