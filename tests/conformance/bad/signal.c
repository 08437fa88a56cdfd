// SPDX-License-Identifier: Apache-2.0
// Installs a signal handler.
// finds: threads start
#include "tests/conformance/template.h"

#include <signal.h>

#define START_CODE signal(SIGUSR1, SIG_IGN);

#include "tests/conformance/adapter.h"
