// SPDX-License-Identifier: Apache-2.0
// What comes after the demo: its clusters by hand.
#ifndef WHARF_DEMO_KEEP_H
#define WHARF_DEMO_KEEP_H

#include "tests/support/scene.h"

// Prints what can be done with the clusters, and serves them until SIGINT, SIGTERM or SIGHUP (which are blocked).
struct error *keep(struct scene *scene);
// Says how to get there.
void keep_hint(void);

#endif
