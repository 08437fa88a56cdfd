// SPDX-License-Identifier: Apache-2.0
// Threads for answers that have to wait: for the engine, for an API server. They are started when there is work for
// them and end when there is none, so that a host that nobody asks anything has none.
#ifndef WHARF_SERVE_TASKS_H
#define WHARF_SERVE_TASKS_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct tasks;
struct error *tasks_new(size_t max_threads, size_t max_queued, struct tasks **out);

// Runs `run(arg)` on one of the threads. From any thread. False: too many are queued, no thread can be started, or
// tasks_stop was called; it will not run.
bool tasks_submit(struct tasks *tasks, void (*run)(void *arg), void *arg);

// Takes no more. Those that were taken still run.
void tasks_stop(struct tasks *tasks);

// After tasks_stop; waits until they have run.
void tasks_drain(struct tasks *tasks);
void tasks_free(struct tasks *tasks); // after tasks_drain; NULL is fine

#endif
