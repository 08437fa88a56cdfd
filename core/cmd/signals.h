// SPDX-License-Identifier: Apache-2.0
// The signals of a host that runs. SIGTERM and SIGINT ask it to stop, once; a second one, or the end of the time that
// stopping may take, ends the process, whatever its threads are doing. SIGHUP, SIGUSR1 and SIGUSR2 are told in the log
// and do nothing else.
#ifndef WHARF_CMD_SIGNALS_H
#define WHARF_CMD_SIGNALS_H

#include "core/base/clock.h"
#include "core/base/error.h"

#include <stdint.h>

#define SIGNALS_STOP_NS (10 * CLOCK_SECOND) // from the first signal to the end of the process

struct signals;

// Starts a thread for them. Before any other thread, so that every one inherits what is blocked.
struct error *signals_start(struct signals **out);

// `stop(ctx)` is called once it is asked for, at once if that was before; on that thread or this one, until
// signals_forget.
void signals_on_stop(struct signals *signals, void (*stop)(void *ctx), void *ctx);
void signals_forget(struct signals *signals);

// Ends the thread. NULL is fine.
void signals_end(struct signals *signals);

#endif
