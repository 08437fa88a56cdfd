// SPDX-License-Identifier: Apache-2.0
// Reports the state of the service to systemd (sd_notify(3)): ready once the engine runs, the reason until then,
// stopping, and the watchdog's keep-alive as long as the engine makes progress. Nothing is done where NOTIFY_SOCKET is
// not set.
#pragma once

#include "core/base/buffer.h"
#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

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
