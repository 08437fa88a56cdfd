// SPDX-License-Identifier: Apache-2.0
// An adapter that violates the ABI: with /spec/does of "hang" it never returns, with "abort" it ends the process.
#include <wharf/adapter.h>

#include <stdlib.h>
#include <unistd.h>

static const wharf_host *host;

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    if (host->is(object, "/spec/does", "abort")) {
        host->log(call, WHARF_LOG_INFO, "the last message of an adapter");
        abort();
    }
    while (host->is(object, "/spec/does", "hang"))
        pause();
    out->phase = WHARF_PENDING;
    return WHARF_OK;
}

static const wharf_kind thing = {
    WHARF_KIND_SIZES,
    .group = "example.com",
    .versions = (const char *const[]){"v1", NULL},
    .kind = "Thing",
    .plural = "things",
    .managed_by = "/spec/managedBy",
    .managed_by_builtin = "example.com/controller",
    .phase = phase,
};

WHARF_MODULE(.name = "hang", .version = "1.0.0", .kinds = WHARF_KINDS(&thing), .host = &host);
