// SPDX-License-Identifier: Apache-2.0
// Manual use of the clusters after the demo.
#pragma once

#include "tests/support/scene.h"

// Prints how to use the clusters, and serves them until SIGINT, SIGTERM or SIGHUP (which are blocked).
struct error *keep(struct scene *scene);
// Prints how to do that.
void keep_hint(void);
