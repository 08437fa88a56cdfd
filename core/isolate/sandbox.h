// SPDX-License-Identifier: Apache-2.0
// The sandbox of a process that runs the adapter of a third party: limits, and system calls that the process gives up
// for good. The order: sandbox_limits, sandbox_for_load, dlopen and `start` of the adapter, sandbox_for_calls, calls.
// The process has one thread.
//
// A layer that the kernel or a container refuses is appended to `missing`, as a sentence ("Landlock: not supported by
// this kernel or container"); the other layers apply. After an error no code of an adapter may run.
#pragma once

#include "core/base/problems.h"

struct sandbox_limits {
    size_t memory;  // bytes, on top of what is mapped at the time of the call
    unsigned cpu_s; // of the whole process: a backstop that the parent moves on with prlimit(2); 0: none
};

// Empties the environment except for TZ, with which the time functions need no file later; gives up new privileges and
// capabilities; limits memory, processor time and descriptors; forbids new processes, core dumps and writing to files.
struct error *sandbox_limits(const struct sandbox_limits *limits, struct problems *missing);

// `file` is the adapter. Loads the shared libraries that the adapter names, from the directories of the system. After
// that the process can open no file except `path`, which becomes a duplicate of `file` and need not exist
// ("/proc/self/fd/4"). No sockets, processes, threads, signal handlers, or executable memory other than that of a
// mapped file. `channel` can be read and written.
struct error *sandbox_for_load(int file, const char *path, int channel, struct problems *missing);

// After that the process can use the clock and memory without execute permission, read and write the channel (read,
// write, readv, writev, recvfrom, sendto without an address), abort and exit. Descriptors 0 to 2 look closed, and
// changes of the signal mask are ignored. All other system calls are forbidden, also waits for a lock, a time or a
// descriptor. Code of the adapter can write to the channel too: the parent has to check all content.
struct error *sandbox_for_calls(void);

// Called at a forbidden system call, in a signal handler; the process then ends with SIGSYS. The name is "connect", or
// "system call 4711". `report` may write to the channel. Before sandbox_for_load.
void sandbox_on_forbidden(void (*report)(const char *name));
