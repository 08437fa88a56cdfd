// SPDX-License-Identifier: Apache-2.0
// A thread that drives one curl transport and its users: runs posted functions, then `tick`, then polls until the time
// that tick returned.
#pragma once

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/kube/transport/transport.h"

struct loop;

// `transport` is from curl_transport_new and remains owned by the caller; `tick` returns the monotonic time of its next
// call.
struct error *loop_start(const char *name, struct transport *transport, int64_t (*tick)(void *ctx, struct moment now),
                         void *ctx, struct loop **out);

// Runs `run(arg)` on the loop's thread, in the order of posting. From any thread, the loop's own too. False: out of
// memory, or the loop is stopping; `run` will not be called.
bool loop_post(struct loop *loop, void (*run)(void *arg), void *arg);

// Runs the functions already posted, then ends and joins the thread. Later posts fail. Must not be called from the
// loop's own thread.
void loop_stop(struct loop *loop);
