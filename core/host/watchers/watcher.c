// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/watcher.h"

#include "core/base/memory.h"
#include "core/host/host_internal.h"

#include <stdlib.h>

struct arrival {
    struct cluster_thread *thread;
    struct host_guest guest;
};

static void let_in(void *arg) {
    struct arrival *arrival = arg;
    struct cluster_thread *thread = arrival->thread;
    struct host_guest *guest = array_next(&thread->guests, thread->n_guests, sizeof *guest);
    if (guest) {
        *guest = arrival->guest;
        thread->n_guests++;
    } else {
        arrival->guest.stop(arrival->guest.ctx);
    }
    free(arrival);
}

bool host_attach(struct host *host, const struct host_guest *guest) {
    struct arrival *arrival = malloc(sizeof *arrival);
    if (!arrival)
        return false;
    *arrival = (struct arrival){.thread = host->management, .guest = *guest};
    if (arrival->thread->loop && loop_post(arrival->thread->loop, let_in, arrival))
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

int64_t guests_tick(struct cluster_thread *thread, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    for (size_t i = 0; i < thread->n_guests; i++) {
        const struct host_guest *guest = &thread->guests[i];
        next_ns = clock_earlier(next_ns, guest->tick(guest->ctx, &thread->connection, now));
    }
    return next_ns;
}

void guests_stop(struct cluster_thread *thread) {
    for (size_t i = 0; i < thread->n_guests; i++)
        thread->guests[i].stop(thread->guests[i].ctx);
    free(thread->guests);
    thread->guests = NULL;
    thread->n_guests = 0;
}
