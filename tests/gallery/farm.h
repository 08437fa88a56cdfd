// SPDX-License-Identifier: Apache-2.0
// An adapter for the kind Farm of the group FARM.farm.example.com. The adapter behaves well, except for an object whose
// annotation example.com/harm names a function: in that function the adapter calls harm(). A file of this folder
// defines FARM before it includes this header, and harm() after it; or HARMLESS_CALLS, where the harm is done earlier:
// by START, the code of the function start, or while the file is loaded.
#include <wharf/adapter.h>

#include <stdint.h>

static const wharf_host *host;

// Of an address that is kept here the compiler knows nothing, so that it removes no access and warns about none.
static void *volatile farm_wild;

// What the adapter does in a call for an object with the annotation. `out` is the answer of the function, a wharf_phase
// or a value, or NULL.
static void harm(const wharf_call *call, const wharf_value *object, void *out);

#ifdef HARMLESS_CALLS
static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
}
#endif

static void look(const char *function, const wharf_call *call, const wharf_value *object, void *out) {
    if (host->is(object, "/metadata/annotations/example.com~1harm", function))
        harm(call, object, out);
}

static wharf_result farm_phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    look("phase", call, object, out);
    return WHARF_OK;
}

static wharf_result farm_accept(const wharf_call *call, const wharf_value *workload) {
    look("accept", call, workload, NULL);
    return WHARF_OK;
}

static wharf_result farm_mirror(const wharf_call *call, const wharf_value *workload, wharf_value *out) {
    look("mirror", call, workload, out);
    host->set_string(call, out, "/spec/preparedBy", FARM);
    return WHARF_OK;
}

static wharf_result farm_status(const wharf_call *call, const wharf_value *workload, const wharf_value *from,
                                wharf_value *out) {
    (void)workload;
    look("status", call, from ? from : workload, out);
    if (from)
        host->set_string(call, out, "/status/cluster", call->cluster);
    return WHARF_OK;
}

static const wharf_phase_rule phases[] = {
    {"/status/state", "done", .phase = WHARF_SUCCEEDED},
    {"/status/state", "running", .phase = WHARF_ACTIVE},
    {.pointer = NULL},
};

static const wharf_kind farm = {
    WHARF_KIND_SIZES,
    .group = FARM ".farm.example.com",
    .versions = (const char *const[]){"v1", NULL},
    .kind = "Farm",
    .plural = "farms",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "example.com/farm-controller",
    .observed_generation = "/status/observedGeneration",
    .phases = phases,
    .phase = farm_phase,
    .accept = farm_accept,
    .mirror = farm_mirror,
    .status = farm_status,
};

#ifdef START
static const char *start(const wharf_host *services, const wharf_value *settings, const wharf_kind *const **kinds) {
    (void)services;
    (void)settings;
    (void)kinds;
    START;
    return NULL;
}
#endif

#ifdef SETTINGS
static const char *const names[] = {SETTINGS};
#endif

WHARF_MODULE(.name = FARM, .version = "1.0.0", .kinds = WHARF_KINDS(&farm), .host = &host,
#ifdef SETTINGS
             .settings = names,
#endif
#ifdef START
             .start = start,
#endif
);
