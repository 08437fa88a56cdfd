// SPDX-License-Identifier: Apache-2.0
// `wharf run`: everything put together, from reading the configuration to the exit code.
#ifndef WHARF_CMD_HOST_MAIN_H
#define WHARF_CMD_HOST_MAIN_H

// Runs until SIGTERM or SIGINT; a second one exits at once with 1. Returns the exit code.
int host_main(const char *config_path);

#endif
