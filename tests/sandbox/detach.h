// SPDX-License-Identifier: Apache-2.0
// Daemonises once everything is ready.
#pragma once

#include <stdbool.h>

struct detach {
    int status_fd; // -1: in the foreground
};

// Forks; before there are threads. True in the parent, once the child is ready (*code 0) or has ended: what it prints
// until then was printed.
bool detach_begin(struct detach *detach, int *code);
// In the child: it is ready, and has nothing more to say.
void detach_ready(struct detach *detach);
