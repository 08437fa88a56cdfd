// SPDX-License-Identifier: Apache-2.0
// The parts of `wharf run` around the host: notifications of the service manager, reloads of the
// configuration, and signals.
#pragma once

#include "core/base/buffer.h"
#include "core/base/problems.h"
#include "core/config/config.h"
#include "core/host/host.h"

// notify.c
// Reports the state of the service to systemd (sd_notify(3)): ready once the engine runs, the reason until then,
// stopping, and the watchdog's keep-alive as long as the engine makes progress. Nothing is done where NOTIFY_SOCKET is
// not set.
struct notify;

// The state to report. Called from the thread of notify.c only.
struct notify_source {
    bool (*running)(void *ctx, struct buffer *waits_for); // false: `waits_for` may be filled with the reason
    int64_t (*stalled_ns)(void *ctx);                     // since when the engine has made no progress; 0: progress
    void *ctx;
};

// *out is NULL without NOTIFY_SOCKET. The variables of the protocol are removed from the environment, so that child
// processes do not speak for the service. An address that cannot be used is an error.
struct error *notify_open(struct notify **out);

// Starts the thread that reports `source` until notify_close.
struct error *notify_start(struct notify *notify, const struct notify_source *source);

// Sends assignments, one a line, such as "STOPPING=1". From any thread; a failed send is lost. NULL: does
// nothing.
void notify_send(struct notify *notify, const char *assignments);

// A reload begins; notify_reloaded must follow, with the state afterwards. Nothing is sent before the service is ready.
// From any thread.
void notify_reloading(struct notify *notify);
void notify_reloaded(struct notify *notify, const char *status);

void notify_close(struct notify *notify); // waits for the thread

// reload.c
// A changed configuration: whether it may replace the one in use, and which keys take effect only after a restart. The
// workers of all sources, which change while the host runs. docs/workers.md has the rules.

// The whole file, free(); NULL if unreadable.
char *reload_text(const char *path);

// Appends the keys that differ between the two texts, in YAML, and that take effect only after a restart: "seal,
// serve". Nothing where one cannot be read. Of `adapters` it says nothing: see adapters_extend.
void reload_compare(const char *path, const char *former, const char *text, struct buffer *out);

struct reload_options {
    struct host *host;
    const struct config *config;   // in use; outlives it
    const char *adapter_directory; // --adapters, or NULL; outlives it
    const char *text;              // reload_text() from before the configuration was read; copied; may be NULL
    struct notify *notify;         // gets each reload; NULL: nobody
};

struct reload;
// Before host_run.
struct error *reload_start(const struct reload_options *options, struct reload **out);
// Reads the configuration and the directory of workers again, soon. From any thread.
void reload_now(struct reload *reload);
// Nothing is called afterwards. After host_run, before host_free. NULL is allowed.
void reload_stop(struct reload *reload);

// signals.c
// Signals of a running host. SIGTERM and SIGINT request a graceful stop; a second one, or the timeout, ends the process
// unconditionally. SIGHUP asks for the configuration to be read again. SIGUSR1 and SIGUSR2 are logged and ignored.

// From the first signal to the end of the process: systemd kills it after 15 s (TimeoutStopSec in
// etc/wharf.service.in).
#define SIGNALS_STOP_NS (12 * CLOCK_SECOND)

struct signals;

// Starts a thread for signals. Call before any other thread starts, so that all inherit the signal mask.
struct error *signals_start(struct signals **out);

// Calls `stop(ctx)` on a request to stop, immediately after an earlier request, and `reload(ctx)` on SIGHUP; on the
// signal thread or this one, until the next call. NULL: calls nothing.
void signals_handle(struct signals *signals, void (*stop)(void *ctx), void (*reload)(void *ctx), void *ctx);

// Ends the thread. NULL is allowed.
void signals_end(struct signals *signals);
