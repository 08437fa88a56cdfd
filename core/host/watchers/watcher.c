// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/watcher.h"

#include "core/base/memory.h"
#include "core/host/host_internal.h"

#include <stdlib.h>

struct arrival {
    struct wire *wire;
    struct host_guest guest;
};

static void let_in(void *arg) {
    struct arrival *arrival = arg;
    struct wire *wire = arrival->wire;
    struct host_guest *guest = array_next(&wire->guests, wire->n_guests, sizeof *guest);
    if (guest) {
        *guest = arrival->guest;
        wire->n_guests++;
    } else {
        arrival->guest.stop(arrival->guest.ctx);
    }
    free(arrival);
}

bool host_attach(struct host *host, const struct host_guest *guest) {
    struct arrival *arrival = malloc(sizeof *arrival);
    if (!arrival)
        return false;
    *arrival = (struct arrival){.wire = host->management, .guest = *guest};
    if (arrival->wire->loop && loop_post(arrival->wire->loop, let_in, arrival))
        return true;
    free(arrival);
    return false;
}

static void wake(void *arg) {
    (void)arg; // a tick follows
}

void host_call_guests(struct host *host) {
    if (host->management->loop)
        (void)loop_post(host->management->loop, wake, NULL);
}

int64_t guests_tick(struct wire *wire, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    for (size_t i = 0; i < wire->n_guests; i++) {
        const struct host_guest *guest = &wire->guests[i];
        next_ns = clock_earlier(next_ns, guest->tick(guest->ctx, &wire->connection, now));
    }
    return next_ns;
}

void guests_stop(struct wire *wire) {
    for (size_t i = 0; i < wire->n_guests; i++)
        wire->guests[i].stop(wire->guests[i].ctx);
    free(wire->guests);
    wire->guests = NULL;
    wire->n_guests = 0;
}
