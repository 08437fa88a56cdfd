// SPDX-License-Identifier: Apache-2.0
// What a process of this machine uses, by the kernel's count. The process may have ended meanwhile.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int64_t usage_cpu_ns(pid_t pid); // processor time so far; -1: unknown
size_t usage_memory(pid_t pid);  // resident bytes; 0: unknown
// Of the main thread: 'R' runs, or would if there were a core, 'S' and 'D' wait (proc_pid_stat(5)); '\0': unknown.
char usage_state(pid_t pid);
