// SPDX-License-Identifier: Apache-2.0
// What a process that runs somebody else's adapter can no longer do. The order: sandbox_limits, sandbox_for_load,
// dlopen and `start` of the adapter, sandbox_for_calls, calls. The process has one thread. Nothing can be undone.
//
// What the kernel or a container does not support or permit is appended to `missing`, a sentence each ("Landlock: not
// supported by this kernel"); the rest applies all the same. An error means that nothing may be run.
#pragma once

#include "core/base/problems.h"

struct sandbox_limits {
    size_t memory;  // bytes, on top of what is mapped at the time of the call
    unsigned cpu_s; // of the whole process: a backstop that the parent moves on with prlimit(2); 0: none
};

// Empties the environment but for TZ, so that the time functions need no file later; no new privileges; limits: memory,
// processor time, descriptors, no files, core dumps or processes.
struct error *sandbox_limits(const struct sandbox_limits *limits, struct problems *missing);

// Loads the shared libraries that the adapter names, from the directories of the system; `file` has the adapter.
// From here on no file can be opened, except for `path`, which becomes a duplicate of `file` and need not exist
// ("/proc/self/fd/4"). No sockets, processes, threads, signal handlers, or executable memory other than a mapped
// file's. `channel` can be read and written.
struct error *sandbox_for_load(int file, const char *path, int channel, struct problems *missing);

// From here on the process can use memory without execute permission and the clock, read and write the channel (read,
// write, readv, writev, recvfrom, sendto without an address), abort and exit. Descriptors 0
// to 2 look closed, changes of the signal mask are ignored, and a wait (for a lock, a time or another descriptor) is
// forbidden like every other system call. All code of the process can write to the channel: the parent has to check
// what comes.
struct error *sandbox_for_calls(void);

// Called at a forbidden system call, in a signal handler; the process then ends with SIGSYS. The name is "connect", or
// "system call 4711". `report` may write to the channel. Before sandbox_for_load.
void sandbox_on_forbidden(void (*report)(const char *name));
