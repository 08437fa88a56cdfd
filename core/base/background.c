// SPDX-License-Identifier: Apache-2.0
#include "core/base/background.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// The longest that Linux takes (6.12 and later; before, it is ignored). A thread that asks for long slices is
// interrupted by those that ask for ordinary ones, whereas among equals the one that runs goes on for milliseconds.
#define SLICE_NS UINT64_C(100000000)

// struct sched_attr in its first version, see sched_setattr(2); not every libc has it.
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

void background_set(bool background) {
    struct attributes attributes = {0};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
        attributes.policy != (background ? SCHED_OTHER : SCHED_BATCH))
        return;
    attributes.policy = background ? SCHED_BATCH : SCHED_OTHER;
    attributes.runtime_ns = background ? SLICE_NS : 0; // 0: the kernel's own
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}
