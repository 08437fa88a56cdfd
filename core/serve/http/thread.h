// SPDX-License-Identifier: Apache-2.0
// Threads of the server: small stacks, and no signals, which are for the main thread.
#ifndef WHARF_SERVE_THREAD_H
#define WHARF_SERVE_THREAD_H

#include <pthread.h>
#include <stddef.h>

// Returns an error number, 0 on success. `name` has at most 15 characters; `thread` NULL: the thread is detached.
int thread_start(const char *name, size_t stack, void *(*run)(void *arg), void *arg, pthread_t *thread);

#endif
