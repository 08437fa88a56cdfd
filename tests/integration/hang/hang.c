// SPDX-License-Identifier: Apache-2.0
// An adapter that does what none may do: with /spec/does of "hang" it never answers, with "abort" it ends the process.
#include <wharf/adapter.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const wharf_host *host;

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    const char *does = host->string(host->find(object, "/spec/does"));
    if (does && strcmp(does, "abort") == 0) {
        host->log(call, WHARF_LOG_INFO, "the last words of an adapter");
        abort();
    }
    while (does && strcmp(does, "hang") == 0)
        pause();
    out->phase = WHARF_PENDING;
    return WHARF_OK;
}

static const wharf_kind thing = {
    .size = sizeof thing,
    .group = "example.com",
    .versions = (const char *const[]){"v1", NULL},
    .kind = "Thing",
    .plural = "things",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "example.com/controller",
    .phase = phase,
};

WHARF_MODULE(host, "hang", "1.0.0", &thing)
