// SPDX-License-Identifier: Apache-2.0
// Does what its settings say: {"refuse": "why"}, {"refuse": true} (no reason), {"version": "..."}.
#include <wharf/adapter.h>

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    (void)object;
    (void)out;
    return WHARF_OK;
}

static const char *const versions[] = {"v1", NULL};
static const wharf_kind kind = {.size = sizeof(wharf_kind),
                                .group = "",
                                .versions = versions,
                                .kind = "Widget",
                                .plural = "widgets",
                                .managed_by = "/spec/managedBy",
                                .phase = phase};
static const wharf_kind *const kinds[] = {&kind, NULL};
static wharf_module module = {.size = sizeof(wharf_module),
                              .abi_major = 1,
                              .name = "by-settings",
                              .version = "0",
                              .kinds = kinds,
                              .settings = (const char *const[]){"refuse", "version", NULL}};

WHARF_EXPORT const wharf_module *wharf_adapters_v1(const wharf_host *host, const wharf_value *settings,
                                                   const char **problem) {
    const wharf_value *refuse = host->find(settings, "/refuse");
    if (host->string(refuse))
        *problem = host->format(NULL, "settings say: %s", host->string(refuse));
    if (refuse)
        return NULL;
    const char *version = host->string(host->find(settings, "/version"));
    if (version)
        module.version = version;
    return &module;
}
