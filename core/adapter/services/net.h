// SPDX-License-Identifier: Apache-2.0
// A net for adapters in this process: which call of an adapter each thread makes, so that a crash in it names adapter,
// function and object and leaves a mark, a file in a folder that outlives the process. The next process reads the marks
// and makes no call for these objects.
#pragma once

#include "core/adapter/services.h"

#include <pthread.h>

// A thread that calls adapters. Zero-initialised; the members after `joined` are net.c's.
struct net_thread {
    const struct adapter_call *_Atomic call; // NULL: none
    const char *loading;                     // the adapter that is being loaded, or NULL
    _Atomic uint64_t count;                  // of calls
    bool joined;
    struct net_thread *next, *former;
    pthread_t self;
    void *stack;                // for signal handlers, or NULL
    uint64_t seen_count;        // at the last net_look
    unsigned looks;             // that saw this call
    int64_t since_ns, spent_ns; // the time, and the thread's processor time, at the first of these
};
extern _Thread_local struct net_thread net_thread;

// For the thread that calls adapters: net_look sees its calls from now on, and a handler of signals has a stack.
// Threads that load adapters join too. In a process that does not start the net, such as that of an isolated adapter,
// calls are noted and nothing else.
void net_start(void);

// Around each call, on its thread.
static inline void net_enter(const struct adapter_call *call) {
    atomic_store_explicit(&net_thread.count, atomic_load_explicit(&net_thread.count, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&net_thread.call, call, memory_order_release);
}

static inline void net_leave(void) {
    atomic_store_explicit(&net_thread.call, NULL, memory_order_release);
}

// While an adapter is loaded on this thread; NULL: over.
void net_loading(const char *adapter);

// -- the end of the process; allowed in signal handlers --

// Whether the calling thread is in an adapter. Then logs the line that names the call, with the reason ("signal 11
// (Segmentation fault)"), and leaves the mark.
bool net_report(const char *reason);

// -- calls that do not return --

#define NET_LOOK_NS (5 * CLOCK_SECOND)
#define NET_SPENT_NS (10 * CLOCK_SECOND) // processor time of one call
#define NET_WAIT_NS (60 * CLOCK_SECOND)  // of a call without processor time, such as a deadlock

// To be called every now and then, at least every NET_LOOK_NS, from one thread. True: a call has taken so long that the
// process has to end, by net_end_stuck.
bool net_look(int64_t now_ns);

// Ends the process with status 1, on a thread with a call that was seen for at least `waited_ns`: this thread reports
// the call. Returns if there is none, or if the thread does not react.
void net_end_stuck(int64_t now_ns, int64_t waited_ns);
// Whether a SIGABRT is from net_end_stuck, and then the reason; else NULL.
const char *net_verdict(void);

// -- marks.c --

// The call of a report; a text is empty if unknown.
struct net_note {
    char adapter[64], function[16], kind[320], object[320], uid[64];
    const char *reason;
};

#define MARKS_MAX 64
#define MARKS_AGE_S (7L * 24 * 3600)

struct mark {                                                      // in one block with its texts
    const char *file;                                              // name in the folder
    const char *adapter, *function, *kind, *object, *uid, *reason; // kind: "jobs.batch"; object: "namespace/name"
};

struct marks {
    struct mark **list;
    size_t count;
};

// The folder for the marks of this process, which must exist. Reads the marks of former processes there; removes the
// ones that are older than MARKS_AGE_S, that cannot be read, and more than MARKS_MAX. An error: no marks can be left.
struct error *marks_open(const char *folder, struct marks *out);
void mark_remove(const struct mark *mark); // the file
void marks_free(struct marks *marks);
// Leaves a mark, if there is a folder. Allowed in a signal handler. A later mark of the same object replaces the first.
void mark_leave(const struct net_note *note);
