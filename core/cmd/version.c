// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/main.h"

#include <wharf/adapter.h>

#include <stdlib.h>

#ifndef WHARF_COMMIT
#define WHARF_COMMIT "" // not known
#endif

static struct error *run_version(struct call *call) {
    (void)call;
    const char *commit = WHARF_COMMIT;
    printf("wharf %s (%s%s%sadapter ABI %d.%d)\n", WHARF_VERSION, *commit ? "commit " : "", commit, *commit ? ", " : "",
           WHARF_ABI_MAJOR, WHARF_ABI_MINOR);
    return NULL;
}

SUBCOMMAND(
    version, run_version, "print the version",
    "Prints the version of the host, the commit of its sources, if known, and the version of its adapter ABI.\n");
