// SPDX-License-Identifier: Apache-2.0
// Threads whose work can wait for that of others: where there are fewer cores than threads at work, the kernel runs the
// others first as soon as they have something to do. Their share of the cores is the same, so that nobody who waits for
// them, for a lock for example, waits for long.
#ifndef WHARF_BASE_BACKGROUND_H
#define WHARF_BASE_BACKGROUND_H

#include <stdbool.h>

// The calling thread is one of those, or not any longer. Needs no privilege. Where the kernel does not know it or it is
// not permitted, and in a process that was given another scheduling policy, nothing changes.
void background_set(bool background);

#endif
