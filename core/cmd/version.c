// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/main.h"

#include <wharf/adapter.h>

#include <stdlib.h>

static int run(const struct arguments *arguments) {
    const char *operand = NULL;
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_version, arguments, &operand, &code))
        return code;
    printf("wharf %s (adapter ABI %d.%d)\n", WHARF_VERSION, WHARF_ABI_MAJOR, WHARF_ABI_MINOR);
    return EXIT_SUCCESS;
}

const struct subcommand subcommand_version = {
    .name = "version",
    .run = run,
    .summary = "print the version",
    .text = "Prints the version of the host and of its adapter ABI.\n",
};
