// SPDX-License-Identifier: Apache-2.0
// Signals of a running host. SIGTERM and SIGINT request a graceful stop; a second one, or the timeout, ends the process
// unconditionally. SIGHUP asks for the configuration to be read again. SIGUSR1 and SIGUSR2 are logged and ignored.
#pragma once

#include "core/base/clock.h"
#include "core/base/error.h"

// From the first signal to the end of the process: systemd kills it after 15 s (TimeoutStopSec in
// etc/wharf.service.in).
#define SIGNALS_STOP_NS (12 * CLOCK_SECOND)

struct signals;

// Starts a thread for signals. Call before any other thread starts, so that all inherit the signal mask.
struct error *signals_start(struct signals **out);

// Calls `stop(ctx)` on a request to stop, immediately after an earlier request; on the signal thread or this one, until
// signals_forget.
void signals_on_stop(struct signals *signals, void (*stop)(void *ctx), void *ctx);
void signals_forget(struct signals *signals);

// The same for SIGHUP; NULL: ignored.
void signals_on_reload(struct signals *signals, void (*reload)(void *ctx), void *ctx);

// Ends the thread. NULL is allowed.
void signals_end(struct signals *signals);
