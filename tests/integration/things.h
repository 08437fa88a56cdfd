// SPDX-License-Identifier: Apache-2.0
// Things, of the adapter in tests/integration/hang, which is not isolated.
#pragma once

#include "tests/integration/stage.h"

// Setup and teardown: one worker, and the adapter of Things in addition to that of Jobs. wharf does not run yet.
int things_open(void **state);
int things_drop(void **state);

// Creates the Thing (201) or updates it (200); `does`: see hang.c.
int things_apply(struct scene *scene, const char *name, const char *does);
