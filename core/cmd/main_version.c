// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/main.h"

#include <wharf/adapter.h>

#include <stdlib.h>

int main_version(const struct arguments *arguments) {
    (void)arguments;
    printf("wharf %s (adapter ABI %d.%d)\n", WHARF_VERSION, WHARF_ABI_MAJOR, WHARF_ABI_MINOR);
    return EXIT_SUCCESS;
}
