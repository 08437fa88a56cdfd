// SPDX-License-Identifier: Apache-2.0
// Who brings tokens that are not valid: each costs the management cluster two reviews with the host's own credentials,
// so an address that has brought many waits before more of its tokens are reviewed. An IPv6 address counts as its /64.
#ifndef WHARF_SERVE_STRANGERS_H
#define WHARF_SERVE_STRANGERS_H

#include "core/base/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define STRANGERS_KNOWN 64
#define STRANGERS_BURST 20
#define STRANGERS_NS CLOCK_SECOND // for each one more

struct strangers {
    pthread_mutex_t lock;
    struct stranger {
        uint8_t address[16];
        int64_t full_ns; // when all is forgotten
    } list[STRANGERS_KNOWN];
};
void strangers_init(struct strangers *strangers);
void strangers_destroy(struct strangers *strangers);

// From any thread. `address`: IPv6, or IPv4 mapped into it.
bool strangers_admit(struct strangers *strangers, const uint8_t address[16], int64_t now_ns);
void strangers_blame(struct strangers *strangers, const uint8_t address[16], int64_t now_ns);

#endif
