// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/thread.h"

#include <signal.h>

// All signals are blocked, except synchronous ones (crashes).
static void block_signals(sigset_t *before) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

int thread_start(const char *name, size_t stack, void *(*run)(void *arg), void *arg, pthread_t *thread) {
    pthread_attr_t attributes;
    pthread_t started;
    sigset_t before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    if (!thread)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    block_signals(&before);
    int code = pthread_create(thread ? thread : &started, &attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (code == 0 && thread)
        (void)pthread_setname_np(*thread, name);
    return code;
}
