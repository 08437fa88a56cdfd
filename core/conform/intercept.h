// SPDX-License-Identifier: Apache-2.0
// Calls of an adapter into libc by which it does I/O, starts threads or processes, or reads a clock. Symbols of the
// program itself come before those of libc, so such a call arrives here first: it is reported with the function of the
// adapter that was called, and then carried out, except that no process is started.
#ifndef WHARF_CONFORM_INTERCEPT_H
#define WHARF_CONFORM_INTERCEPT_H

#include "core/conform/child.h"

// Before the adapter is loaded: calls from what is loaded already are not reported.
void intercept_start(struct run *run);

#endif
