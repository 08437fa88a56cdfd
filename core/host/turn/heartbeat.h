// SPDX-License-Identifier: Apache-2.0
// Progress of the engine's thread, from which other threads detect a stall.
#pragma once

#include "core/base/clock.h"

#include <stdatomic.h>

// Zero-initialised: not started, not stalled. Times are CLOCK_BOOTTIME.
struct heartbeat {
    _Atomic int64_t beat_ns; // when the thread last finished something
    _Atomic int64_t due_ns;  // the time of the next turn; 0 during a turn
};

// The thread waits until `due_ns`, or until the inbox has events.
static inline void heartbeat_wait(struct heartbeat *heart, int64_t now_ns, int64_t due_ns) {
    atomic_store(&heart->due_ns, due_ns);
    atomic_store(&heart->beat_ns, now_ns);
}

static inline void heartbeat_work(struct heartbeat *heart, int64_t now_ns) {
    atomic_store(&heart->beat_ns, now_ns);
    atomic_store(&heart->due_ns, 0);
}

// How long work has been pending without progress; 0: not stalled. `inbox_since_ns`: since when the inbox has had
// events; CLOCK_NEVER: empty inbox.
static inline int64_t heartbeat_stalled_ns(const struct heartbeat *heart, int64_t inbox_since_ns, int64_t now_ns) {
    int64_t beat_ns = atomic_load(&heart->beat_ns), since_ns = atomic_load(&heart->due_ns);
    if (beat_ns == 0)
        return 0;
    if (inbox_since_ns < since_ns)
        since_ns = inbox_since_ns;
    if (since_ns < beat_ns)
        since_ns = beat_ns;
    return since_ns < now_ns ? now_ns - since_ns : 0;
}
