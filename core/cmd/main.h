// SPDX-License-Identifier: Apache-2.0
// The commands of the program. Each returns the exit code: 0, 1 for what it found wrong, 2 for how it was called.
#ifndef WHARF_CMD_MAIN_H
#define WHARF_CMD_MAIN_H

#include "core/base/error.h"
#include "core/base/problems.h"

#include <stdbool.h>
#include <stdio.h>

#define EXIT_USAGE 2

struct arguments {
    const char *config; // path of the configuration file
    bool online;
    const char *topic; // of help; NULL: all
    // of plan; NULL: not given
    const char *file, *status, *cluster;
    // of adapter, which reads them itself: what follows the command
    int argc;
    char **argv;
};

int main_check(const struct arguments *arguments);
int main_adapter(const struct arguments *arguments);
int main_adapters(const struct arguments *arguments);
int main_plan(const struct arguments *arguments);
int main_version(const struct arguments *arguments);

// Writes each on a line of its own to stderr; the number of all of them.
size_t main_print_problems(const struct problems *problems);

// "error: ..." to stderr; takes the error. Returns 1.
int main_fail(struct error *error);

#endif
