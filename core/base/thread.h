// SPDX-License-Identifier: Apache-2.0
// The one way to start a thread, and threads with less urgent work than others.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

// Starts a thread that runs run(arg). All signals are blocked in the new thread, because the signal thread handles
// them, except SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT: a crash in any thread reaches the handler that flushes the
// log. `name` is cut to 15 bytes; `stack` is in bytes, 0: the default; without `thread` the new thread is detached.
// Returns 0 or an error number.
int thread_start(const char *name, size_t stack, void *(*run)(void *arg), void *arg, pthread_t *thread);

// Holds the mutex until the end of the block.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define AUTO_LOCK(mutex) pthread_mutex_t *locked_ __attribute__((cleanup(thread_unlock), unused)) = thread_lock(mutex)
pthread_mutex_t *thread_lock(pthread_mutex_t *mutex);
void thread_unlock(pthread_mutex_t **locked);

// Puts the calling thread in the background, or takes the thread out of the background. Where more threads have work
// than there are cores, the kernel runs other threads first as soon as they have work. A background thread keeps its
// share of the cores, so a thread that waits for one, for a lock for example, does not wait long. Needs no privilege.
// No effect where the kernel does not support or permit this, or where the process has another scheduling policy.
void thread_set_background(bool background);
