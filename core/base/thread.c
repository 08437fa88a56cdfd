// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread.h"

#include "core/base/text.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_MAX_BYTES 16 // see pthread_setname_np(3)

// The longest time slice that Linux accepts (6.12 and later; earlier versions ignore the request). A thread that asks
// for long slices is interrupted by those that ask for ordinary ones; among equals the running one goes on for
// milliseconds.
#define SLICE_NS UINT64_C(100000000)

struct start {
    void *(*run)(void *arg);
    void *arg;
    char name[NAME_MAX_BYTES];
};

static void *begin(void *arg) {
    struct start start = *(struct start *)arg;
    free(arg);
    (void)pthread_setname_np(pthread_self(), start.name);
    return start.run(start.arg);
}

static void block_signals(sigset_t *before) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&blocked, faults[i]);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, before);
}

int thread_start(const char *name, size_t stack, void *(*run)(void *arg), void *arg, pthread_t *thread) {
    struct start *start = malloc(sizeof *start);
    if (!start)
        return ENOMEM;
    *start = (struct start){.run = run, .arg = arg};
    text_copy(start->name, sizeof start->name, name);
    pthread_attr_t attributes;
    pthread_t started;
    sigset_t before;
    pthread_attr_init(&attributes);
    if (stack > 0)
        pthread_attr_setstacksize(&attributes, stack);
    if (!thread)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    block_signals(&before);
    int code = pthread_create(thread ? thread : &started, &attributes, begin, start);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (code != 0)
        free(start);
    return code;
}

// struct sched_attr in its first version, see sched_setattr(2); not every libc has it.
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

void thread_set_background(bool background) {
    struct attributes attributes = {0};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
        attributes.policy != (background ? SCHED_OTHER : SCHED_BATCH))
        return;
    attributes.policy = background ? SCHED_BATCH : SCHED_OTHER;
    attributes.runtime_ns = background ? SLICE_NS : 0; // 0: the kernel's own
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

pthread_mutex_t *thread_lock(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    return mutex;
}

void thread_unlock(pthread_mutex_t **locked) {
    pthread_mutex_unlock(*locked);
}
