// SPDX-License-Identifier: Apache-2.0
// Random numbers (text.h).
#include "core/base/clock.h"
#include "core/base/text.h"

#include <sys/random.h>
#include <unistd.h>

uint64_t random_next(struct random *random) {
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

// Values below `surplus` are skipped to avoid bias.
uint64_t random_below(struct random *random, uint64_t bound) {
    uint64_t surplus = (0 - bound) % bound;
    uint64_t value;
    do
        value = random_next(random);
    while (value < surplus);
    return value % bound;
}

uint64_t random_system(void) {
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) == (ssize_t)sizeof value)
        return value;
    struct random mixed = {(uint64_t)clock_ticks() ^ (uint64_t)getpid()};
    return random_next(&mixed);
}
