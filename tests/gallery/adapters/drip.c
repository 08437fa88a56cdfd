// SPDX-License-Identifier: Apache-2.0
// Sends a frame on the channel byte by byte, one each millisecond.
#define FARM "drip"
#include "tests/gallery/farm.h"

#include <sys/socket.h>
#include <time.h>

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    const uint32_t length = 4 << 20;
    send(3, &length, sizeof length, 0);
    for (;;) {
        int64_t until_ns = now_ns() + 1000000;
        while (now_ns() < until_ns)
            farm_wild = NULL;
        send(3, "", 1, 0);
    }
}
