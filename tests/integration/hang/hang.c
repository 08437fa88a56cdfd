// SPDX-License-Identifier: Apache-2.0
// An adapter that violates the ABI in the way of /spec/does: "hang" and "spin" never return, the others end the
// process.
#include <wharf/adapter.h>

#include <stdlib.h>
#include <unistd.h>

static const wharf_host *host;
static volatile char *volatile nowhere;

static void recurse(void) {
    volatile char page[4096];
    page[0] = 1;
    if (page[0] == 1)
        recurse();
    page[1] = page[0]; // not the last call of the function
}

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    if (host->is(object, "/spec/does", "abort")) {
        host->log(call, WHARF_LOG_INFO, "the last message of an adapter");
        abort();
    }
    if (host->is(object, "/spec/does", "crash"))
        *nowhere = 1;
    if (host->is(object, "/spec/does", "recurse"))
        recurse();
    for (int fd = 3; host->is(object, "/spec/does", "close") && fd <= 40; fd++)
        close(fd);
    if (host->is(object, "/spec/does", "exit"))
        exit(0);
    while (host->is(object, "/spec/does", "spin"))
        continue;
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
