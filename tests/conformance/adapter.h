// SPDX-License-Identifier: Apache-2.0
// The second part of template.h: the kind and the module.
#include "tests/conformance/template.h"

#ifndef PHASE
#define PHASE NULL
#endif
#ifndef ACCEPT
#define ACCEPT NULL
#endif
#ifndef MIRROR
#define MIRROR NULL
#endif
#ifndef UPDATE
#define UPDATE NULL
#endif
#ifndef STATUS
#define STATUS NULL
#endif
#ifndef POD_SETS
#define POD_SETS NULL
#endif
#ifndef DEPENDENCIES
#define DEPENDENCIES NULL
#endif
#ifndef PROGRESS
#define PROGRESS NULL
#endif
#ifdef CHILD_PROGRESS
static const wharf_child children[] = {
    {.group = "batch", .version = "v1", .plural = "jobs", .label = "example.com/thing"}, {.plural = NULL}};
#define CHILDREN WHARF_CHILDREN(children), .child_progress = CHILD_PROGRESS,
#else
#define CHILDREN
#endif
#ifndef SCORE
#define SCORE NULL
#endif
#ifndef GAVE_UP
#define GAVE_UP NULL
#endif
#ifndef PLURAL
#define PLURAL "things"
#endif
#ifndef STATUS_REMOVED
#define STATUS_REMOVED NULL
#endif
#ifndef PHASES
#define PHASES phases
#endif
#ifndef CONSTANT
#define CONSTANT const
#endif

static const char *const versions[] = {"v1", NULL};
static const char *const status_removed[] = {STATUS_REMOVED, NULL};
static const char *const removed[] = {"/spec/ttl", NULL};
static const wharf_carried carried[] = {{.pointer = "/spec/replicas"}, {.pointer = "/spec/suspend"}, {.pointer = NULL}};
static const wharf_pods pods[] = {
    {.templates = "/spec/template", .counts = (const char *const[]){"/spec/replicas", NULL}},
    {.templates = NULL},
};
UNUSED static const wharf_phase_rule phases[] = {
    {"/status/conditions", "Complete", .phase = WHARF_SUCCEEDED},
    {"/status/conditions", "Failed", .phase = WHARF_FAILED},
    {.pointer = NULL},
};

static CONSTANT wharf_kind kind = {WHARF_KIND_SIZES,
                                   .group = "example.com",
                                   .versions = versions,
                                   .kind = "Thing",
                                   .plural = PLURAL,
                                   .managed_by = "/spec/managedBy",
                                   .suspend = "/spec/suspend",
                                   .carried = carried,
                                   .removed = removed,
                                   .pods = pods,
                                   .status_removed = status_removed,
                                   .observed_generation = "/status/observedGeneration",
                                   .phases = PHASES,
                                   .phase = PHASE,
                                   .accept = ACCEPT,
                                   .mirror = MIRROR,
                                   .update = UPDATE,
                                   .status = STATUS,
                                   .pod_sets = POD_SETS,
                                   .gave_up_status = GAVE_UP,
                                   .dependencies = DEPENDENCIES,
                                   .progress = PROGRESS,
                                   CHILDREN};

#ifdef START_CODE
static const char *start(UNUSED const wharf_host *services, UNUSED const wharf_value *settings,
                         UNUSED const wharf_kind *const **kinds) {
    START_CODE
    return NULL;
}
#define START start
#else
#define START NULL
#endif

WHARF_MODULE(.name = "thing", .version = "1.0.0", .kinds = WHARF_KINDS(&kind), .host = &host, .start = START,
             .score = SCORE);
