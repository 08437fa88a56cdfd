// SPDX-License-Identifier: Apache-2.0
#include "core/serve/strangers.h"

#include <string.h>

void strangers_init(struct strangers *strangers) {
    *strangers = (struct strangers){.list = {{.full_ns = 0}}};
    pthread_mutex_init(&strangers->lock, NULL);
}

void strangers_destroy(struct strangers *strangers) {
    pthread_mutex_destroy(&strangers->lock);
}

static bool is_mapped(const uint8_t address[16]) {
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(address, prefix, sizeof prefix) == 0;
}

static struct stranger *find(struct strangers *strangers, const uint8_t address[16]) {
    size_t len = is_mapped(address) ? 16 : 8;
    for (size_t i = 0; i < STRANGERS_KNOWN; i++)
        if (strangers->list[i].full_ns > 0 && memcmp(strangers->list[i].address, address, len) == 0)
            return &strangers->list[i];
    return NULL;
}

bool strangers_admit(struct strangers *strangers, const uint8_t address[16], int64_t now_ns) {
    pthread_mutex_lock(&strangers->lock);
    const struct stranger *known = find(strangers, address);
    bool admitted = !known || known->full_ns - now_ns < STRANGERS_BURST * STRANGERS_NS;
    pthread_mutex_unlock(&strangers->lock);
    return admitted;
}

void strangers_blame(struct strangers *strangers, const uint8_t address[16], int64_t now_ns) {
    pthread_mutex_lock(&strangers->lock);
    struct stranger *known = find(strangers, address);
    struct stranger *least = &strangers->list[0];
    for (size_t i = 1; i < STRANGERS_KNOWN; i++)
        if (strangers->list[i].full_ns < least->full_ns)
            least = &strangers->list[i];
    if (!known) {
        known = least;
        memcpy(known->address, address, sizeof known->address);
        known->full_ns = 0;
    }
    known->full_ns = clock_later(known->full_ns, now_ns) + STRANGERS_NS;
    pthread_mutex_unlock(&strangers->lock);
}
