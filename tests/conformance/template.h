// SPDX-License-Identifier: Apache-2.0
// An adapter that keeps every rule, in which each file of bad/ breaks one: by a function of its own, named by a macro
// that it defines before it includes the second part (PHASE, ACCEPT, MIRROR, UPDATE, STATUS, POD_SETS, DEPENDENCIES,
// PROGRESS, CHILD_PROGRESS, SCORE), or START_CODE.
#pragma once

#include <wharf/adapter.h>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const wharf_host *host;

#define UNUSED __attribute__((unused))

// What a function of a bad adapter takes, by name.
#define PHASE_FUNCTION(name)                                                                                           \
    static wharf_result name(UNUSED const wharf_call *call, UNUSED const wharf_value *object, UNUSED wharf_phase *out)
#define ACCEPT_FUNCTION(name)                                                                                          \
    static wharf_result name(UNUSED const wharf_call *call, UNUSED const wharf_value *workload)
#define MIRROR_FUNCTION(name)                                                                                          \
    static wharf_result name(UNUSED const wharf_call *call, UNUSED const wharf_value *workload,                        \
                             UNUSED wharf_value *mirror)
#define UPDATE_FUNCTION(name)                                                                                          \
    static wharf_result name(UNUSED const wharf_call *call, UNUSED const wharf_value *workload,                        \
                             UNUSED const wharf_value *mirror, UNUSED wharf_value *desired)
#define STATUS_FUNCTION(name)                                                                                          \
    static wharf_result name(UNUSED const wharf_call *call, UNUSED const wharf_value *workload,                        \
                             UNUSED const wharf_value *mirror, UNUSED wharf_value *object)
#define POD_SETS_FUNCTION(name)                                                                                        \
    static wharf_result name(UNUSED const wharf_call *call, UNUSED const wharf_value *workload,                        \
                             UNUSED wharf_value *sets)
#define DEPENDENCIES_FUNCTION(name)                                                                                    \
    static wharf_result name(UNUSED const wharf_call *call, UNUSED const wharf_value *workload,                        \
                             UNUSED wharf_value *list)
#define PROGRESS_FUNCTION(name)                                                                                        \
    static wharf_result name(UNUSED const wharf_call *call, UNUSED const wharf_value *workload,                        \
                             UNUSED const wharf_value *mirror, UNUSED wharf_value *object)
#define SCORE_FUNCTION(name)                                                                                           \
    static wharf_result name(UNUSED const wharf_call *call, UNUSED const wharf_value *workload,                        \
                             UNUSED const wharf_value *pod_sets, UNUSED const wharf_value *workers,                    \
                             UNUSED wharf_value *scores)

static inline long processor_ms(void) {
    struct timespec at = {.tv_sec = 0};
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &at); // the kit would find a call of clock_gettime
    return at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

// Takes so much processor time, however fast the machine is.
static inline void work_for(long ms) {
    for (long end = processor_ms() + ms; processor_ms() <= end;)
        continue;
}
